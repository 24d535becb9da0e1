import { describe, expect, it } from 'vitest';
import { basic, bearer, Client, useService } from './support/service.ts';

describe('metrics', () => {
  const { service, admin } = useService();
  const nobody = () => new Client(service.url);
  const value = (text: string, line: string) =>
    Number(
      text
        .split('\n')
        .find((each) => each.startsWith(line))
        ?.slice(line.length) ?? Number.NaN,
    );

  it('count requests by their route’s pattern, never by their path', async () => {
    for (const id of [1, 99, 12_345]) await admin.get(`/api/v2/users/${id}/?format=json`);
    for (const path of ['/wp-login.php', '/api/v2/nothing/?secret=query']) await nobody().get(path);
    const answer = await admin.get('/metrics');
    expect(answer.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
    const { text } = answer;
    expect(text).not.toMatch(/12345|format|secret|wp-login|nothing/);
    const route = 'route="/api/v2/users/{id}/"';
    expect(value(text, `tokenctl_http_requests_total{method="GET",${route},status="200"} `)).toBe(1);
    expect(value(text, `tokenctl_http_requests_total{method="GET",${route},status="404"} `)).toBe(2);
    expect(value(text, 'tokenctl_http_requests_total{method="GET",route="none",status="404"} ')).toBe(2);
    expect(value(text, `tokenctl_http_request_duration_seconds_count{method="GET",${route}} `)).toBe(3);
    expect(value(text, 'process_resident_memory_bytes ')).toBeGreaterThan(1e7);
    expect(value(text, 'tokenctl_database_connections{state="idle"} ')).toBeGreaterThan(0);
  });

  it('count authentications by method and result', async () => {
    const { token } = (await admin.post('/api/v2/tokens/')).json;
    await new Client(service.url, bearer(token)).get('/api/v2/me/');
    await new Client(service.url, bearer('nonsense')).get('/api/v2/me/');
    await new Client(service.url, basic('nobody', 'wrong')).get('/api/v2/me/');
    const { text } = await admin.get('/metrics');
    const counted = (method: string, result: string) =>
      value(text, `tokenctl_authentications_total{method="${method}",result="${result}"} `);
    expect(counted('bearer', 'accepted')).toBe(1);
    expect(counted('bearer', 'refused')).toBe(1);
    expect(counted('password', 'refused')).toBe(1);
    expect(counted('password', 'accepted')).toBeGreaterThan(3);
  });

  it('are for superusers and auditors, or for anybody where the setting says so', async () => {
    await admin.post('/api/v2/users/', { username: 'plain', password: 'long enough' });
    await admin.post('/api/v2/users/', {
      username: 'auditor',
      password: 'long enough',
      is_system_auditor: true,
    });
    const statuses = async () => {
      const clients = [
        nobody(),
        new Client(service.url, basic('plain', 'long enough')),
        new Client(service.url, basic('auditor', 'long enough')),
        admin,
      ];
      const both = ['/metrics', '/api/v2/metrics/'].map((path) =>
        Promise.all(clients.map(async (client) => (await client.get(path)).status)),
      );
      return Promise.all(both);
    };
    expect(await statuses()).toEqual([
      [401, 403, 200, 200],
      [401, 403, 200, 200],
    ]);
    await admin.patch('/api/v2/settings/authentication/', { ALLOW_METRICS_FOR_ANONYMOUS_USERS: true });
    expect(await statuses()).toEqual([
      [200, 200, 200, 200],
      [200, 200, 200, 200],
    ]);
  });
});
