import { Secret } from '@tokenctl/common/secret.ts';
import { kinds } from '@tokenctl/testing/runs.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { investigate } from '../../../../src/operations/investigation/investigate.ts';
import { openControllerApi } from '../../../../src/targets/controller-api/controller-api.ts';
import { openGatewayApiEvidence } from '../../../../src/targets/controller-api/gateway-evidence.ts';
import { openDatabaseEvidence } from '../../../../src/targets/database/evidence/evidence.ts';
import {
  describeEach,
  loadRealTables,
  type Peer,
  REAL_PEERS,
  type RealTables,
} from '../../../support/real-tables.ts';
import { RecordedGateway } from '../../../support/recorded-gateway.ts';

const GATEWAYS = REAL_PEERS.filter((peer: Peer) => peer.startsWith('gateway'));

describeEach(kinds(GATEWAYS))('an investigation over the REST API of %s', (peer) => {
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

  const record = (by: number, model: string, entry: { id: number; changed: object; operation?: string }) =>
    real.database.execute(
      `INSERT INTO dab_activitystream_entry (created, operation, changes, content_type_id, object_id, created_by_id)
       SELECT now(), $1, $2::jsonb, c.id, $3, $4 FROM django_content_type c WHERE c.model = $5`,
      [...[entry.operation ?? 'update', JSON.stringify(entry.changed), String(entry.id), by, model]],
    );
  const changed = (fields: object) => ({ added_fields: {}, changed_fields: fields, removed_fields: {} });
  const look = async (via: 'rest' | 'database') => {
    const token = new Secret(real.filling.tokens.find(({ user }) => user === 'admin')?.token ?? '');
    const options = {
      ...{ address: gateway.address, verifyTls: true },
      credential: { kind: 'token', token } as const,
    };
    const [target, evidence] =
      via === 'rest'
        ? [openControllerApi({ context: 'test', ...options }), openGatewayApiEvidence(options)]
        : [await real.open(), await openDatabaseEvidence({ connection: new Secret(real.url) })];
    const description = await target.describe();
    const found = await investigate({
      ...{ target, evidence, description, user: 'bob' },
      clock: { now: () => new Date(Date.now() + 60_000) },
    });
    await evidence.close();
    if (via === 'rest') await target.close();
    return found;
  };

  it('finds what one in its database finds, and names what it cannot list', async () => {
    const { bob = 0, erin = 0, admin = 0 } = real.filling.users;
    await real.database.execute('UPDATE aap_gateway_api_user SET is_superuser = true WHERE id = $1', [erin]);
    await record(bob, 'user', { id: erin, changed: changed({ is_superuser: ['False', 'True'] }) });
    await record(bob, 'user', { id: erin, changed: changed({ password: ['$encrypted$', '$encrypted$'] }) });
    await record(admin, 'user', { id: erin, changed: changed({ email: ['', 'e@example.org'] }) });
    const [setting] = await real.database.query<{ id: number }>(
      "UPDATE aap_gateway_api_preference SET raw_value = 'False' WHERE name = 'gateway_basic_auth_enabled' RETURNING id",
    );
    await record(bob, 'preference', {
      ...{ id: setting?.id ?? 0, changed: changed({ raw_value: ['True', 'False'] }) },
    });
    await real.database.execute(
      `INSERT INTO dab_rbac_roleuserassignment (created, role_definition_id, user_id, created_by_id)
       SELECT now(), d.id, $1, $2 FROM dab_rbac_roledefinition d WHERE d.name = 'Platform Auditor'`,
      [erin, bob],
    );
    await real.database.execute(
      'UPDATE dab_authentication_authenticator SET modified = now(), modified_by_id = $1 WHERE id = 2',
      [bob],
    );
    const over = await look('rest');
    const inside = await look('database');
    const told = ({ items }: typeof over) =>
      items
        .filter(({ object }) => object.kind !== 'session')
        .map(({ id, act, state, risk, changes, remedy }) => ({
          ...{ id, act, state, risk, remedy: remedy?.text },
          changes: changes.map(({ field, before, after, now, state: is }) => ({
            field,
            before,
            after,
            now,
            is,
          })),
        }))
        .toSorted((a, b) => a.id.localeCompare(b.id));
    const fields = ({ changes, ...item }: ReturnType<typeof told>[number]) => ({
      ...item,
      changes: changes.filter(({ field }) => field !== 'created' && field !== 'expires').length,
    });
    expect(told(over).map(({ id }) => id)).toEqual(told(inside).map(({ id }) => id));
    expect(told(over).map(fields)).toEqual(told(inside).map(fields));
    const basic = told(over).find(({ id }) => id === 'setting:gateway_basic_auth_enabled');
    expect(basic).toMatchObject({ state: 'there', risk: 'critical' });
    expect(basic?.changes).toMatchObject([{ before: true, after: false, now: false, is: 'as_left' }]);
    expect(over.chain.map(({ user, how }) => [user.username, how])).toEqual([
      ['bob', 'subject'],
      ['erin', 'password_set'],
    ]);
    expect(over.unattributed.length).toBeGreaterThan(5);
    expect(over.limits.map(({ text }) => text).join('\n')).toContain('Not checked: sessions, refresh tokens');
    // Each request of a token with the scope write adds an entry: reading has to end all the same.
    expect(gateway.requests.length).toBeLessThan(120);
  });
});
