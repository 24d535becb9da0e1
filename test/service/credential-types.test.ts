import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../../src/service/server.ts';
import { ADMIN, basic, Client, DATABASES, startTestService } from '../support/service.ts';

describe.each(DATABASES)('what awx export asks for on %s', (kind) => {
  let service: RunningService;
  let admin: Client;
  beforeAll(async () => {
    service = await startTestService(kind);
    admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
  });
  afterAll(() => service.close());

  it('has an address in the root for each exported resource', async () => {
    const root = (await admin.get('/api/v2/')).json as unknown as Record<string, string>;
    for (const name of [
      ...['users', 'organizations', 'teams', 'credential_types', 'credentials', 'notification_templates'],
      ...['projects', 'inventory', 'inventory_sources', 'job_templates', 'workflow_job_templates'],
      ...['execution_environments', 'applications', 'schedules', 'system_job_templates'],
    ]) {
      expect([name, (await admin.get(root[name] ?? '/')).status]).toEqual([name, 200]);
      expect((await admin.send('OPTIONS', root[name] ?? '/')).status).toBe(200);
    }
  });

  it('has the type of all credentials, which cannot be changed', async () => {
    const { results } = (await admin.get('/api/v2/credential_types/?kind=ssh')).json;
    expect(results).toMatchObject([{ name: 'Machine', kind: 'ssh', managed: true }]);
    const type = `/api/v2/credential_types/${results[0]?.id}/`;
    expect((await admin.get(type)).json).toEqual(results[0]);
    expect((await admin.get('/api/v2/credential_types/2/')).status).toBe(404);
    expect((await admin.post('/api/v2/credential_types/', { name: 'x', kind: 'cloud' })).status).toBe(405);
    const made = await admin.post('/api/v2/credentials/', { name: 'c', organization: 1, credential_type: 1 });
    expect([made.status, made.json]).toMatchObject([
      201,
      { credential_type: 1, related: { credential_type: type } },
    ]);
    const other = { name: 'd', organization: 1, credential_type: 2 };
    expect((await admin.post('/api/v2/credentials/', other)).status).toBe(400);
  });

  it('describes the ids of roles, and the scm_type of a project', async () => {
    const post = async (path: string) => (await admin.send('OPTIONS', `/api/v2/${path}`)).json['actions'];
    expect(await post('users/1/roles/')).toMatchObject({ POST: { id: {} } });
    expect(await post('projects/')).toMatchObject({ POST: { scm_type: {} } });
  });
});
