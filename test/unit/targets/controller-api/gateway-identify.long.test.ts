import { Secret } from '@tokenctl/common/secret.ts';
import { kinds } from '@tokenctl/testing/runs.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openControllerApi } from '../../../../src/targets/controller-api/controller-api.ts';
import {
  describeEach,
  loadRealTables,
  type Peer,
  REAL_PEERS,
  type RealTables,
} from '../../../support/real-tables.ts';
import { RecordedGateway } from '../../../support/recorded-gateway.ts';
import { all } from '../../../support/test-database.ts';

const GATEWAYS = REAL_PEERS.filter((peer: Peer) => peer.startsWith('gateway'));

describeEach(kinds(GATEWAYS))('leaked tokens over the REST API of %s', (peer) => {
  let real: RealTables;
  let gateway: RecordedGateway;
  beforeEach(async () => {
    real = await loadRealTables(peer);
    gateway = await RecordedGateway.start(real);
  });
  afterEach(async () => {
    await gateway[Symbol.asyncDispose]();
    await real.close();
  });

  const value = (user: string, scope: string) =>
    real.filling.tokens.find(
      (each) => each.user === user && each.scope === scope && each.application === null,
    );
  const open = (token: string) =>
    openControllerApi({
      ...{ context: 'test', address: gateway.address, verifyTls: true },
      credential: { kind: 'token', token: new Secret(token) },
    });

  it('are told apart, several of one owner that were all used just before', async () => {
    const leaked = [value('erin', 'read'), value('erin', 'write'), value('alice', 'read')];
    const applications = real.filling.tokens.filter(
      ({ user, application }) => user === 'erin' && application,
    );
    const values = [...leaked, ...applications].map((each) => new Secret(each?.token ?? ''));
    const used = await real.database.query<{ id: number; last_used: Date }>(
      'UPDATE dab_oauth2_provider_oauth2accesstoken SET last_used = now() RETURNING id, last_used',
    );
    const target = open(value('admin', 'write')?.token ?? '');
    const found = await all(target.identify([...values, new Secret('unknown-value-of-30-characters')]));
    expect(found.map(({ ids }) => ids)).toEqual([
      ...leaked.map((each) => [each?.id]),
      ...applications.map(() => [expect.any(Number)]),
    ]);
    expect(new Set(found.flatMap(({ ids }) => ids)).size).toBe(5);
    expect(found.map(({ user }) => user?.username)).toEqual(['erin', 'erin', 'alice', 'erin', 'erin']);
    const before = used.find(({ id }) => id === leaked[0]?.id)?.last_used.getTime() ?? 0;
    expect(found[0]?.lastUsed?.getTime()).toBe(before);
    await target.close();
  });

  it('are found among those of the caller, and beside one that is in use all the time', async () => {
    const busy = value('alice', 'write')?.token ?? '';
    const target = open(value('admin', 'write')?.token ?? '');
    let isDone = false;
    const traffic = (async () => {
      while (!isDone) {
        await fetch(`${gateway.address}/api/gateway/v1/ping/`);
        await fetch(`${gateway.address}/api/gateway/v1/me/`, {
          headers: { authorization: `Bearer ${busy}` },
        });
      }
    })();
    const others = real.filling.tokens.filter(({ user, id }) => user === 'admin' && id !== undefined);
    const values = [value('alice', 'read')?.token, others.at(-1)?.token].map(
      (each) => new Secret(each ?? ''),
    );
    const found = await all(target.identify(values)).finally(async () => {
      isDone = true;
      await traffic;
    });
    expect(found[1]?.ids).toEqual([others.at(-1)?.id]);
    // The busy one may be used each time that the other is: then both are named, and none is revoked.
    expect(found[0]?.ids).toContain(value('alice', 'read')?.id);
    await target.close();
  });
});
