import { Secret } from '@tokenctl/common/secret.ts';
import { kinds } from '@tokenctl/testing/runs.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { investigate } from '../../../../src/operations/investigation/investigate.ts';
import type { SubjectRequest } from '../../../../src/operations/investigation/resolve-subject.ts';
import { openDatabaseEvidence } from '../../../../src/targets/database/evidence/evidence.ts';
import {
  describeEach,
  loadRealTables,
  type Peer,
  REAL_PEERS,
  type RealTables,
} from '../../../support/real-tables.ts';

const GATEWAYS = REAL_PEERS.filter((peer: Peer) => peer.startsWith('gateway'));
const DAY_MS = 86_400_000;

describeEach(kinds(GATEWAYS))('an investigation in the database of %s', (peer) => {
  let real: RealTables;
  beforeEach(async () => {
    real = await loadRealTables(peer);
  });
  afterEach(() => real.close());

  const user = (name: string) => real.filling.users[name] ?? 0;
  /** What a gateway writes when a user changes an object over REST, as recorded: values of the table as text. */
  const record = (
    by: number | null,
    entry: {
      readonly model: string;
      readonly id: number;
      readonly operation?: string;
      readonly added?: object;
      readonly changed?: object;
      readonly removed?: object;
    },
  ) =>
    real.database.execute(
      `INSERT INTO dab_activitystream_entry (created, operation, changes, content_type_id, object_id, created_by_id)
       SELECT now(), $1, $2::jsonb, c.id, $3, $4::bigint FROM django_content_type c WHERE c.model = $5`,
      [
        entry.operation ?? 'update',
        JSON.stringify({
          added_fields: entry.added ?? {},
          changed_fields: entry.changed ?? {},
          removed_fields: entry.removed ?? {},
        }),
        String(entry.id),
        by,
        entry.model,
      ],
    );
  const one = async <Row extends object>(sql: string, values: readonly unknown[] = []): Promise<Row> => {
    const [row] = await real.database.query<Row>(sql, values);
    if (row === undefined) throw new Error(`no row: ${sql}`);
    return row;
  };
  const look = async (subject: SubjectRequest) => {
    const target = await real.open();
    const evidence = await openDatabaseEvidence({ connection: new Secret(real.url) });
    try {
      return await investigate({
        ...{ target, evidence, description: await target.describe(), ...subject },
        // Entries of this test are newer than the clock of this machine can be.
        clock: { now: () => new Date(Date.now() + 60_000) },
        since: new Date(Date.now() - 30 * DAY_MS),
      });
    } finally {
      await evidence.close();
    }
  };

  it('finds an application, a superuser, a setting, a role, an authenticator and a token', async () => {
    const bob = user('bob');
    const erin = user('erin');
    const app = await one<{ id: number }>(
      `INSERT INTO dab_oauth2_provider_oauth2application (created, modified, name, client_id, description, client_secret,
         client_type, skip_authorization, authorization_grant_type, created_by_id, modified_by_id, algorithm,
         post_logout_redirect_uris, redirect_uris ${peer === 'gateway-newest' ? ', pkce_required' : ''})
       VALUES (now(), now(), 'Backdoor', 'c', '', 's', 'confidential', false, 'password', $1, $1, '', '', ''
         ${peer === 'gateway-newest' ? ', true' : ''}) RETURNING id`,
      [bob],
    );
    const made = { id: String(app.id), name: 'Backdoor', skip_authorization: 'False', organization: '1' };
    await record(bob, { model: 'oauth2application', id: app.id, operation: 'create', added: made });
    await real.database.execute('UPDATE aap_gateway_api_user SET is_superuser = true WHERE id = $1', [erin]);
    await record(bob, { model: 'user', id: erin, changed: { is_superuser: ['False', 'True'] } });
    const setting = await one<{ id: number }>(
      "UPDATE aap_gateway_api_preference SET raw_value = 'True' WHERE name = 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS' RETURNING id",
    );
    await record(bob, { model: 'preference', id: setting.id, changed: { raw_value: ['False', 'True'] } });
    const role = await one<{ id: number }>(
      `INSERT INTO dab_rbac_roleuserassignment (created, role_definition_id, user_id, created_by_id, content_type_id, object_id)
       SELECT now(), d.id, $1, $2, d.content_type_id, '1' FROM dab_rbac_roledefinition d WHERE d.name = 'Organization Admin'
       RETURNING id`,
      [erin, bob],
    );
    await real.database.execute(
      "UPDATE dab_authentication_authenticator SET enabled = true, modified = now(), modified_by_id = $1 WHERE name = 'Corp LDAP'",
      [bob],
    );
    const { items, limits, stream, target } = await look({ user: 'bob' });
    const told = items.map(({ id, act, state, risk }) => ({ id, act, state, risk }));
    expect(target.dialect).toBe('gateway');
    expect(told).toEqual(
      expect.arrayContaining([
        { id: `o_auth2_application:${app.id}`, act: 'made', state: 'there', risk: 'high' },
        { id: `user:${erin}`, act: 'changed', state: 'there', risk: 'critical' },
        { id: 'setting:ALLOW_OAUTH2_FOR_EXTERNAL_USERS', act: 'changed', state: 'there', risk: 'critical' },
        { id: `role_user_assignment:${role.id}`, act: 'made', state: 'there', risk: 'critical' },
        { id: 'authenticator:2', act: 'changed', state: 'there', risk: 'critical' },
        { id: 'o_auth2_access_token:6', act: 'made', state: 'there', risk: 'high' },
      ]),
    );
    expect(items.find(({ id }) => id === `user:${erin}`)?.summary).toBe(`changed the user erin (${erin})`);
    const remedies = new Map(items.map(({ id, remedy }) => [id, remedy?.text]));
    expect(remedies.get(`user:${erin}`)).toBe(`PATCH /api/gateway/v1/users/${erin}/ {"is_superuser":false}`);
    expect(remedies.get('setting:ALLOW_OAUTH2_FOR_EXTERNAL_USERS')).toBe(
      'PUT /api/gateway/v1/settings/all/ {"ALLOW_OAUTH2_FOR_EXTERNAL_USERS":false}',
    );
    expect(remedies.get(`role_user_assignment:${role.id}`)).toBe(
      `DELETE /api/gateway/v1/role_user_assignments/${role.id}/`,
    );
    expect(JSON.stringify([items, limits])).not.toContain('/api/v2/');
    expect(stream.read).toBeGreaterThan(3);
    const limited = limits.map(({ text }) => text).join('\n');
    expect(limited).toContain('does not record: logins, role assignments and removals');
    expect(limited).toContain('as _system');
    expect(limited).toContain('the controller behind the gateway');
  });

  it('says when a change is taken back, or changed again by another user', async () => {
    const bob = user('bob');
    const admin = user('admin');
    const setting = await one<{ id: number }>(
      "UPDATE aap_gateway_api_preference SET raw_value = '900' WHERE name = 'SESSION_COOKIE_AGE' RETURNING id",
    );
    await record(bob, { model: 'preference', id: setting.id, changed: { raw_value: ['900', '90000'] } });
    await record(admin, { model: 'preference', id: setting.id, changed: { raw_value: ['90000', '900'] } });
    await record(bob, { model: 'user', id: user('erin'), changed: { is_superuser: ['False', 'True'] } });
    const { items } = await look({ user: 'bob' });
    const age = items.find(({ id }) => id === 'setting:SESSION_COOKIE_AGE');
    expect(age).toMatchObject({ state: 'undone', remedy: null });
    expect(age?.changes[0]).toMatchObject({ before: 900, after: 90_000, now: 900 });
    expect(age?.changedSince).toMatchObject([{ by: { username: 'admin' } }]);
    expect(items.find(({ id }) => id === `user:${user('erin')}`)?.state).toBe('undone');
  });

  it('takes uses of tokens for no deeds, and names a change of an application of which nothing is recorded', async () => {
    const bob = user('bob');
    const { AppPwConf, AppPwPub } = real.filling.applications;
    for (let use = 0; use < 30; use += 1) {
      await record(bob, { model: 'oauth2accesstoken', id: 6, changed: { scope: ['write', 'write read'] } });
    }
    const before = (await look({ user: 'bob' })).items.map(({ id }) => id);
    // A new client secret: the row is saved, the entry names the first save by another user only.
    for (const id of [AppPwConf?.id, AppPwPub?.id]) {
      await real.database.execute(
        'UPDATE dab_oauth2_provider_oauth2application SET modified = now(), modified_by_id = $1 WHERE id = $2',
        [bob, id],
      );
    }
    await record(bob, {
      ...{ model: 'oauth2application', id: AppPwConf?.id ?? 0 },
      changed: { modified_by: ['2', String(bob)] },
    });
    const { items } = await look({ user: 'bob' });
    const added = items.filter(({ id }) => !before.includes(id));
    const named = { act: 'changed', state: 'there', risk: 'high' };
    expect(added.map(({ id, act, state, risk }) => ({ id, act, state, risk }))).toEqual(
      expect.arrayContaining([
        { id: `o_auth2_application:${AppPwConf?.id}`, ...named },
        { id: `o_auth2_application:${AppPwPub?.id}`, ...named },
      ]),
    );
    expect(added).toHaveLength(2);
    const secret = expect.stringContaining('it may be the client secret');
    expect(added.map(({ remedy }) => remedy?.text)).toEqual([secret, secret]);
  });

  it('follows users that were made and deleted, and says what their entries have lost', async () => {
    const bob = user('bob');
    await record(bob, {
      ...{ model: 'user', id: 900, operation: 'create' },
      added: { id: '900', username: 'mallory', is_superuser: 'True', created_by: String(bob) },
    });
    await record(null, {
      ...{ model: 'oauth2application', id: 901, operation: 'create' },
      added: { id: '901', name: 'Theirs', created_by: '900' },
    });
    await record(null, { model: 'oauth2application', id: 902, changed: { name: ['a', 'b'] } });
    await record(user('admin'), {
      ...{ model: 'user', id: 900, operation: 'delete' },
      removed: { id: '900', username: 'mallory' },
    });
    for (const subject of [{ user: 'bob' }, { user: 'mallory' }]) {
      const { items, chain, limits } = await look(subject);
      expect(chain.at(-1)).toMatchObject({ user: { username: 'mallory' }, exists: false });
      expect(items.find(({ id }) => id === 'o_auth2_application:901')).toMatchObject({ state: 'gone' });
      expect(items.map(({ id }) => id)).not.toContain('o_auth2_application:902');
      expect(limits.map(({ text }) => text).join('\n')).toContain(
        'mallory was deleted, so the gateway removed the actor from its entries.',
      );
    }
  });

  it('finds the owner of a deleted token that the token endpoint issued', async () => {
    const { owner, id } = await one<{ owner: number; id: number }>(
      `DELETE FROM dab_oauth2_provider_oauth2refreshtoken r USING dab_oauth2_provider_oauth2accesstoken t
       WHERE t.id = r.access_token_id AND t.user_id = $1 RETURNING t.user_id AS owner, t.id`,
      [user('erin')],
    );
    await real.database.execute('DELETE FROM dab_oauth2_provider_oauth2accesstoken WHERE id = $1', [id]);
    const { subject } = await look({ token: id });
    expect(owner).toBe(user('erin'));
    expect(subject).toEqual({ kind: 'token', id, user: 'erin' });
  });
});
