import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DATABASES } from '../../support/service.ts';
import { API, Gateway, LOGIN, PASSWORD } from './world.ts';

const digest = (value: string) => createHash('sha256').update(value).digest('hex');

describe.each(DATABASES)('the tables of the gateway dialect on %s', (kind) => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await Gateway.start(kind);
  });
  afterAll(() => gateway.service.close());

  const rows = (sql: string, values: readonly unknown[] = []) => gateway.service.database.query(sql, values);

  it('hold the rows under the names of a gateway, tokens as digests', async () => {
    const { id, value } = await gateway.token({ scope: 'read', description: 'kept' });
    expect(
      await rows(
        'SELECT token, scope, description, user_id FROM dab_oauth2_provider_oauth2accesstoken WHERE id = $1',
        [id],
      ),
    ).toEqual([{ token: digest(value), scope: 'read', description: 'kept', user_id: 1 }]);
    await gateway.user('alice', { is_platform_auditor: true });
    const { id: application, clientId } = await gateway.application('robot');
    const { json } = await gateway.stranger().send('POST', '/o/token/', {
      form: { grant_type: 'password', username: 'alice', password: PASSWORD, client_id: clientId },
    });
    expect(
      await rows(
        `SELECT r.token, a.name, u.username FROM dab_oauth2_provider_oauth2refreshtoken r
         JOIN dab_oauth2_provider_oauth2application a ON a.id = r.application_id
         JOIN aap_gateway_api_user u ON u.id = r.user_id WHERE a.id = $1`,
        [application],
      ),
    ).toEqual([{ token: digest(String(json['refresh_token'])), name: 'robot', username: 'alice' }]);
    expect(
      await rows(
        `SELECT u.username FROM dab_rbac_roleuserassignment s
         JOIN dab_rbac_roledefinition d ON d.id = s.role_definition_id AND d.name = 'Platform Auditor'
         JOIN aap_gateway_api_user u ON u.id = s.user_id`,
      ),
    ).toEqual([{ username: 'alice' }]);
    await gateway.stranger().logIn('alice', PASSWORD, { path: LOGIN });
    expect(
      await rows(
        `SELECT u.username FROM aap_gateway_api_usersessionmembership m
         JOIN django_session s ON s.session_key = m.session_id JOIN aap_gateway_api_user u ON u.id = m.user_id`,
      ),
    ).toEqual([{ username: 'alice' }]);
  });

  it('show nothing under the names of a controller to anybody but the service', async () => {
    const names = await rows(
      `SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = 'public' AND c.relname ~ '^(main_|auth_|conf_|sso_|social_|oauth2_provider_(access|refresh))'
         AND c.relkind IN ('r', 'v')`,
    );
    expect(names).toEqual([]);
  });

  it('are believed: what is written there holds with the next request', async () => {
    const { database } = gateway.service;
    await database.execute(
      `INSERT INTO dab_oauth2_provider_oauth2accesstoken
         (token, user_id, scope, description, created, modified, expires)
       VALUES ($1, 1, 'read', 'by hand', now(), now(), now() + interval '1 day')`,
      [digest('value by hand')],
    );
    const caller = () =>
      gateway.stranger().get(`${API}me/`, { headers: { authorization: 'Bearer value by hand' } });
    expect((await caller()).status).toBe(401);
    const set = (raw: string) =>
      database.execute(
        "UPDATE aap_gateway_api_preference SET raw_value = $1 WHERE name = 'gateway_basic_auth_enabled'",
        [raw],
      );
    await set('False');
    expect((await gateway.admin.get(`${API}me/`)).status).toBe(401);
    await set('True');
    expect((await gateway.admin.get(`${API}settings/proxy/`)).json).toMatchObject({
      gateway_basic_auth_enabled: true,
    });
    await database.execute(
      "UPDATE aap_gateway_api_preference SET raw_value = 'x' WHERE name = 'SESSION_COOKIE_AGE'",
    );
    const browser = gateway.stranger();
    expect((await browser.logIn('admin', 'correct horse', { path: LOGIN })).status).toBe(302);
    await database.execute("UPDATE aap_gateway_api_user SET is_active = false WHERE username = 'alice'");
    const alice = gateway.stranger();
    expect((await alice.logIn('alice', PASSWORD, { path: LOGIN })).status).toBe(401);
  });

  it('keep the activity stream in the form of a gateway, also of what is gone', async () => {
    const { id } = await gateway.token({ scope: 'read', description: 'first' });
    await gateway.admin.patch(`${API}tokens/${id}/`, { description: 'second' });
    await gateway.admin.delete(`${API}tokens/${id}/`);
    const path = `${API}activitystream/?content_type__model=oauth2accesstoken&object_id__in=${id},0`;
    const { results } = (await gateway.admin.get(path)).json;
    expect(results).toMatchObject([
      {
        operation: 'create',
        object_id: String(id),
        created_by: 1,
        changes: {
          added_fields: { description: 'first', scope: 'read', token: '$encrypted$', id: String(id) },
          changed_fields: {},
        },
      },
      { operation: 'update', changes: { changed_fields: { description: ['first', 'second'] } } },
      { operation: 'delete', changes: { added_fields: {}, removed_fields: { description: 'second' } } },
    ]);
    const since = new Date(Date.now() - 3_600_000).toISOString();
    const mine = `${API}activitystream/?created_by__id__in=1&created__gte=${since}&order_by=-id&page_size=1`;
    expect((await gateway.admin.get(mine)).json.results).toMatchObject([{ operation: 'delete' }]);
  });

  it('note settings, users and roles there as well, without secrets', async () => {
    const { id } = await gateway.user('noted');
    await gateway.admin.put(`${API}settings/configuration/`, { SESSION_COOKIE_AGE: 901 });
    await gateway.admin.patch(`${API}users/${id}/`, { password: 'another password', first_name: 'N' });
    await gateway.admin.post(`${API}organizations/1/admins/associate/`, { instances: [id] });
    const entries = (await gateway.admin.get(`${API}activitystream/?order_by=-id&page_size=4`)).json.results;
    expect(entries).toMatchObject([
      {
        operation: 'associate',
        content_type_model: 'organization',
        object_id: '1',
        related_content_type_model: 'user',
        related_object_id: String(id),
        changes: null,
      },
      {
        operation: 'update',
        content_type_model: 'user',
        object_id: String(id),
        changes: {
          changed_fields: { password: ['$encrypted$', '$encrypted$'], first_name: ['', 'N'] },
        },
      },
      {
        content_type_model: 'preference',
        changes: { changed_fields: { raw_value: [expect.any(String), '901'] } },
      },
      { operation: 'create', changes: { added_fields: { is_superuser: 'False', password: '$encrypted$' } } },
    ]);
    const plain = (await gateway.user('plain')).client;
    expect((await plain.get(`${API}activitystream/`)).status).toBe(403);
    expect((await plain.get(`${API}activitystream/1/`)).status).toBe(403);
  });

  it('keep the entries of a user who is deleted, and delete the tokens', async () => {
    const { id, client } = await gateway.user('leaver', { is_superuser: true });
    const { json } = await client.post(`${API}tokens/`, { scope: 'read' });
    expect((await gateway.admin.delete(`${API}users/${id}/`)).status).toBe(204);
    const entries = await rows(
      `SELECT e.operation, e.created_by_id FROM dab_activitystream_entry e
       JOIN django_content_type c ON c.id = e.content_type_id AND c.model = 'oauth2accesstoken'
       WHERE e.object_id = $1 ORDER BY e.id`,
      [String(json.id)],
    );
    expect(entries).toEqual([
      { operation: 'create', created_by_id: null },
      { operation: 'delete', created_by_id: 1 },
    ]);
    expect((await gateway.admin.get(`${API}tokens/${json.id}/`)).status).toBe(404);
  });
});
