import { describe, expect, it } from 'vitest';
import { ADMIN, basic, bearer, Client, useService } from './support/service.ts';

// What the controller does wrong and this service does not, as far as there are endpoints for it.
describe('a fault of the controller is not repeated:', () => {
  const { service, admin } = useService();
  const SETTINGS = '/api/v2/settings/authentication/';

  it('a bearer token of a deactivated user is refused', async () => {
    const { json } = await admin.post('/api/v2/users/', { username: 'gone', password: 'gone' });
    const { token } = (await new Client(service.url, basic('gone', 'gone')).post('/api/v2/tokens/')).json;
    expect((await new Client(service.url, bearer(token)).get('/api/v2/me/')).status).toBe(200);
    await admin.patch(`/api/v2/users/${json.id}/`, { is_active: false });
    expect((await new Client(service.url, bearer(token)).get('/api/v2/me/')).status).toBe(401);
  });

  it('JSON null as a body is 400', async () => {
    for (const [method, path] of [
      ['POST', '/api/v2/tokens/'],
      ['POST', '/api/v2/users/'],
      ['PATCH', '/api/v2/users/1/'],
      ['PATCH', SETTINGS],
      ['POST', '/api/v2/organizations/'],
    ] as const) {
      expect([path, (await admin.send(method, path, { json: null })).status]).toEqual([path, 400]);
    }
  });

  it('a partial OAUTH2_PROVIDER keeps the other lifetimes, and an empty one all', async () => {
    await admin.patch(SETTINGS, { OAUTH2_PROVIDER: { ACCESS_TOKEN_EXPIRE_SECONDS: 7200 } });
    await admin.patch(SETTINGS, { OAUTH2_PROVIDER: {} });
    expect((await admin.get(SETTINGS)).json['OAUTH2_PROVIDER']).toEqual({
      ACCESS_TOKEN_EXPIRE_SECONDS: 7200,
      AUTHORIZATION_CODE_EXPIRE_SECONDS: 600,
      REFRESH_TOKEN_EXPIRE_SECONDS: 2_628_000,
    });
    expect((await admin.post('/api/v2/tokens/')).status).toBe(201);
    await admin.delete(SETTINGS);
  });

  it('a partial OAUTH2_PROVIDER in the database of a controller is completed', async () => {
    await service.database.execute(
      `INSERT INTO conf_setting (key, value) VALUES ('OAUTH2_PROVIDER', '{"ACCESS_TOKEN_EXPIRE_SECONDS": 60}')`,
    );
    expect((await admin.get(SETTINGS)).json['OAUTH2_PROVIDER']).toMatchObject({
      REFRESH_TOKEN_EXPIRE_SECONDS: 2_628_000,
    });
    await admin.delete(SETTINGS);
  });

  it('a lifetime that no date can hold is refused, and the longest that is accepted works', async () => {
    const refused = await admin.patch(SETTINGS, { OAUTH2_PROVIDER: { ACCESS_TOKEN_EXPIRE_SECONDS: 1e15 } });
    expect(refused.status).toBe(400);
    await admin.patch(SETTINGS, { OAUTH2_PROVIDER: { ACCESS_TOKEN_EXPIRE_SECONDS: 250_000_000_000 } });
    const made = await admin.post('/api/v2/tokens/');
    expect([made.status, made.json['expires']]).toEqual([201, expect.stringMatching(/^99\d\d-/)]);
    expect((await new Client(service.url, bearer(made.json.token)).get('/api/v2/me/')).status).toBe(200);
    await admin.delete(SETTINGS);
  });

  it('a changed lifetime holds for the next token, in another process as well', async () => {
    await service.database.execute(
      `INSERT INTO conf_setting (key, value) VALUES ('OAUTH2_PROVIDER', '{"ACCESS_TOKEN_EXPIRE_SECONDS": 60}')`,
    );
    const { json } = await admin.post('/api/v2/tokens/');
    expect(Date.parse(String(json['expires'])) - Date.parse(String(json['created']))).toBe(60_000);
    await admin.delete(SETTINGS);
  });

  it('tokens and refresh tokens are stored as digests', async () => {
    await service.database.script(`
      INSERT INTO main_oauth2application (id, client_id, client_type, authorization_grant_type, client_secret, name, organization_id)
      VALUES (7, 'seven', 'confidential', 'password', 'x', 'Seven', 1);`);
    const { json } = await admin.post('/api/v2/tokens/', { application: 7 });
    const dump = JSON.stringify([
      await service.database.query('SELECT * FROM main_oauth2accesstoken'),
      await service.database.query('SELECT * FROM oauth2_provider_refreshtoken'),
      await service.database.query('SELECT * FROM main_activitystream'),
    ]);
    expect(dump).not.toContain(json.token);
    expect(dump).not.toContain(json['refresh_token']);
  });

  it("the service's own pages log out by POST with the CSRF token", async () => {
    const browser = new Client(service.url);
    await browser.logIn(ADMIN.username, ADMIN.password);
    const page = (await browser.get('/accounts/profile/')).text;
    expect(page).toMatch(
      /<form method="post" action="\/api\/logout\/">\s*<input type="hidden" name="csrfmiddlewaretoken"/,
    );
    expect(page).not.toMatch(/href="\/api\/logout/);
  });
});
