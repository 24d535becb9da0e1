import { Secret } from '@tokenctl/common/secret.ts';
import { ADMIN } from '@tokenctl/service/testing/service.ts';
import { openOn } from '@tokenctl/testing/databases.ts';
import { afterAll, beforeAll, describe } from 'vitest';
import type { Target, TargetDescription } from '../../../../src/operations/ports/target.ts';
import type { Credential } from '../../../../src/targets/controller-api/connection.ts';
import { openControllerApi } from '../../../../src/targets/controller-api/controller-api.ts';
import { openDatabaseTarget } from '../../../../src/targets/database/database-target.ts';
import { roleWith } from '../../../support/test-database.ts';
import { ContractService } from './contract-service.ts';
import { all, type Place, targetContract } from './target-contract.ts';

let service: ContractService;
let gateway: ContractService;
let places: Readonly<Record<'rest' | 'database' | 'gateway' | 'gatewayDatabase', Place>>;
const targets: Target[] = [];

beforeAll(async () => {
  service = await ContractService.startController();
  gateway = await ContractService.startGateway();
  places = {
    rest: overRest(service, { dialect: 'service' }),
    database: await byDatabase(service, 'service'),
    gateway: overRest(gateway, { dialect: 'gateway', components: ['gateway'] }),
    gatewayDatabase: await byDatabase(gateway, 'gateway'),
  };
});

afterAll(async () => {
  await Promise.all(targets.map((target) => target.close()));
  await Promise.all([service.close(), gateway.close()]);
});

function signedIn(address: string, credential: Credential): Target {
  const target = openControllerApi({ context: 'contract', address, credential, verifyTls: true });
  targets.push(target);
  return target;
}

async function opened(url: string): Promise<Target> {
  const target = await openDatabaseTarget({ context: 'contract', connection: new Secret(url) });
  targets.push(target);
  return target;
}

function overRest(at: ContractService, who: Pick<TargetDescription, 'dialect' | 'components'>): Place {
  const withPassword = (username: string, password: Secret) =>
    signedIn(at.url, { kind: 'password', username, password });
  const target = withPassword(ADMIN.username, new Secret(ADMIN.password));
  const stranger = withPassword(ADMIN.username, new Secret('secret-wrong'));
  return {
    service: at,
    target,
    limited: withPassword('alice', at.password),
    strangers: [() => stranger.describe(), () => all(stranger.revoke([1]))],
    expected: {
      ...who,
      version: '0.0.0',
      credential: 'password',
      transport: 'http',
      identity: { id: 1, username: ADMIN.username, isSuperuser: true, isSystemAuditor: false },
    },
    withToken: async () => {
      const { token, value } = await target.createToken({ scope: 'write', description: 'own' });
      return { target: signedIn(at.url, { kind: 'token', token: value }), tokenId: token.id };
    },
    cannot: {
      'create a token for another user': () =>
        target.createToken({ scope: 'read', description: '', user: 'alice' }),
    },
  };
}

async function byDatabase(at: ContractService, dialect: TargetDescription['dialect']): Promise<Place> {
  const { databaseUrl: url } = at;
  const target = await opened(url);
  const database = await openOn(url);
  const limited = await opened(await roleWith({ database, url }, () => []));
  await database.close();
  const wrong = new URL(url);
  wrong.password = 'secret-wrong';
  return {
    service: at,
    target,
    limited,
    strangers: [() => opened(wrong.href)],
    expected: {
      dialect,
      version: null,
      credential: 'database_role',
      transport: 'plain',
      identity: { id: null, username: wrong.username, isSuperuser: true, isSystemAuditor: false },
    },
    withToken: null,
    cannot: { 'create a token for nobody': () => target.createToken({ scope: 'read', description: '' }) },
  };
}

describe('a controller over its REST API', () => {
  targetContract(() => places.rest, {
    ...{
      refreshTokens: false,
      sessions: false,
      lastUsed: false,
      deactivateUsers: true,
      settingsHold: 'at_once',
    },
  });
});

describe('a platform gateway over its REST API', () => {
  targetContract(() => places.gateway, {
    ...{
      refreshTokens: false,
      sessions: false,
      lastUsed: true,
      deactivateUsers: false,
      settingsHold: 'at_once',
    },
  });
});

describe('a controller’s database', () => {
  targetContract(() => places.database, {
    ...{
      refreshTokens: true,
      sessions: true,
      lastUsed: true,
      deactivateUsers: true,
      settingsHold: 'at_once',
    },
  });
});

describe('a platform gateway’s database', () => {
  targetContract(() => places.gatewayDatabase, {
    ...{
      refreshTokens: true,
      sessions: true,
      lastUsed: true,
      deactivateUsers: true,
      settingsHold: 'within_five_minutes',
    },
  });
});
