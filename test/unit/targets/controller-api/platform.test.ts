import { Secret } from '@tokenctl/common/secret.ts';
import { ADMIN } from '@tokenctl/service/testing/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CreatedToken, Target } from '../../../../src/operations/ports/target.ts';
import { Platform } from '../../../support/platform.ts';
import { collected, openTestTarget } from '../../../support/test-target.ts';

const password = {
  kind: 'password',
  username: ADMIN.username,
  password: new Secret(ADMIN.password),
} as const;

describe('a platform with tokens at its gateway and on the controller behind it', () => {
  let platform: Platform;
  let gateway: Target;
  let controller: Target;
  let ofGateway: CreatedToken;
  let ofController: CreatedToken;
  const targets: Target[] = [];

  function signedIn(component: 'gateway' | 'controller' | undefined, credential: object = password): Target {
    const target = openTestTarget(platform.url, {
      ...(component && { component }),
      credential: credential as typeof password,
    });
    targets.push(target);
    return target;
  }

  beforeAll(async () => {
    platform = await Platform.start();
    gateway = signedIn(undefined);
    controller = signedIn('controller');
    // The controller's first: two numbers that differ keep the two apart in what follows.
    await controller.createToken({ scope: 'read', description: 'from before' });
    ofController = await controller.createToken({ scope: 'write', description: 'from before the upgrade' });
    ofGateway = await gateway.createToken({ scope: 'write', description: 'from after the upgrade' });
  });

  afterAll(async () => {
    await Promise.all(targets.map((target) => target.close()));
    await platform[Symbol.asyncDispose]();
  });

  test('lists its components, each with its address and dialect', async () => {
    const components = ['gateway', 'controller'];
    expect(await gateway.describe()).toMatchObject({ dialect: 'gateway', address: platform.url, components });
    expect(await controller.describe()).toMatchObject({
      dialect: 'controller',
      address: `${platform.url}/api/controller`,
      components,
    });
  });

  test('lists the tokens of each component separately', async () => {
    const texts = async (target: Target) =>
      (await collected(target.tokens({ all: true }))).map(({ description }) => description);
    expect(await texts(gateway)).toEqual(['from after the upgrade']);
    expect(await texts(controller)).toEqual(['from before', 'from before the upgrade']);
  });

  test('reads the activity and the settings of each', async () => {
    const created = async (target: Target, id: number) =>
      (await collected(target.activity.list({ tokenIds: [id] }))).map(({ operation, object }) => [
        operation,
        object,
      ]);
    const expected = [['create', 'o_auth2_access_token']];
    expect(await created(gateway, ofGateway.token.id)).toEqual(expected);
    expect(await created(controller, ofController.token.id)).toEqual(expected);
    expect((await gateway.settings.read()).OAUTH2_PROVIDER).toBeNull();
    expect((await controller.settings.read()).OAUTH2_PROVIDER).toMatchObject({
      AUTHORIZATION_CODE_EXPIRE_SECONDS: 600,
    });
  });

  test('finds a leaked token only in the component that stores it', async () => {
    const values = [ofGateway.value, ofController.value];
    const found = async (target: Target) =>
      (await collected(target.identify(values))).map(({ index, ids }) => [index, ids]);
    expect(await found(gateway)).toEqual([[0, [ofGateway.token.id]]]);
    expect(await found(controller)).toEqual([[1, [ofController.token.id]]]);
  });

  test('accepts a gateway’s token for both components', async () => {
    const credential = { kind: 'token', token: ofGateway.value };
    expect(await signedIn(undefined, credential).ownTokenIds()).toEqual([ofGateway.token.id]);
    const through = signedIn('controller', credential);
    expect(await through.describe()).toMatchObject({ credential: 'token', capabilities: { changes: true } });
    expect(await through.ownTokenIds()).toEqual([]);
  });

  test('accepts a controller’s token only on the controller', async () => {
    const credential = { kind: 'token', token: ofController.value };
    await expect(signedIn(undefined, credential).describe()).rejects.toMatchObject({
      code: 'credentials_refused',
    });
    expect(await signedIn('controller', credential).ownTokenIds()).toContain(ofController.token.id);
  });

  test('accepts it after basic authentication is turned off at both', async () => {
    const credential = { kind: 'token', token: ofGateway.value };
    const places = [signedIn('controller', credential), signedIn(undefined, credential)];
    for (const target of places) {
      expect(await target.settings.write({ AUTH_BASIC_ENABLED: false })).toMatchObject({
        AUTH_BASIC_ENABLED: false,
      });
    }
    await expect(controller.settings.read()).rejects.toMatchObject({ code: 'credentials_refused' });
    await expect(gateway.settings.read()).rejects.toMatchObject({ code: 'credentials_refused' });
    for (const target of places) await target.settings.write({ AUTH_BASIC_ENABLED: true });
    expect((await controller.settings.read()).AUTH_BASIC_ENABLED).toBe(true);
  });

  test('revokes at one component, and leaves the other unchanged', async () => {
    const { id } = ofController.token;
    expect(await collected(controller.revoke([id]))).toEqual([{ tokenId: id, result: 'revoked' }]);
    expect(await collected(controller.tokens({ ids: [id] }))).toEqual([]);
    expect(await collected(gateway.tokens({ all: true }))).toHaveLength(1);
    expect(await collected(gateway.revoke([id]))).toEqual([{ tokenId: id, result: 'unchanged' }]);
  });
});
