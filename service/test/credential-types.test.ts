import { beforeAll, describe, expect, it } from 'vitest';
import { basic, Client, useService } from './support/service.ts';

describe('what awx export asks for', () => {
  const { service, admin } = useService();
  let reader: Client;
  beforeAll(async () => {
    await admin.post('/api/v2/users/', { username: 'reader', password: 'a-password' });
    reader = new Client(service.url, basic('reader', 'a-password'));
  });

  it('has an address in the root for each exported resource', async () => {
    const root = (await admin.get('/api/v2/')).json as unknown as Record<string, string>;
    for (const name of [
      ...['users', 'organizations', 'teams', 'credential_types', 'credentials', 'notification_templates'],
      ...['projects', 'inventory', 'inventory_sources', 'job_templates', 'workflow_job_templates'],
      ...['execution_environments', 'applications', 'schedules', 'system_job_templates', 'labels'],
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
    // A client that does not find the type of a credential sends null.
    for (const other of [2, null]) {
      const answer = await admin.post('/api/v2/credentials/', {
        ...{ name: 'd', organization: 1, credential_type: other },
      });
      expect([answer.status, Object.keys(answer.json)]).toEqual([400, ['credential_type']]);
    }
  });

  it.each([
    ['organizations', 'galaxy_credentials', 'fetch collections'],
    ['organizations', 'notification_templates_approvals', 'send notifications'],
    ['organizations', 'execution_environments', 'have execution environments'],
    ['inventories', 'labels', 'have labels'],
    ['projects', 'notification_templates_error', 'send notifications'],
    ['job_templates', 'credentials', 'pass credentials to jobs'],
    ['job_templates', 'schedules', 'have schedules'],
    ['job_templates', 'instance_groups', 'have instance groups'],
  ])('has for %s the empty address %s', async (collection, name, does) => {
    const { related } = (await admin.get(`/api/v2/${collection}/1/`)).json as unknown as {
      related: Record<string, string>;
    };
    const path = `/api/v2/${collection}/1/${name}/`;
    expect(related[name]).toBe(path);
    expect((await admin.get(path)).json).toEqual({ count: 0, next: null, previous: null, results: [] });
    // Without a POST to describe, awx import fails.
    expect((await admin.send('OPTIONS', path)).json['actions']).toMatchObject({ POST: { id: {}, name: {} } });
    const refused = await admin.post(path, { id: 1 });
    expect([refused.status, refused.json]).toEqual([400, { detail: `This service does not ${does}.` }]);
    expect((await admin.get(`/api/v2/${collection}/9999/${name}/`)).status).toBe(404);
    expect((await reader.post(path, { id: 1 })).status).toBe(403);
    expect((await reader.get(path)).status).toBe(403);
  });

  it('has no surveys', async () => {
    const path = '/api/v2/job_templates/1/survey_spec/';
    expect((await admin.get(path)).json).toEqual({});
    const refused = await admin.post(path, { name: '', spec: [{ variable: 'x' }] });
    expect([refused.status, refused.json]).toEqual([400, { detail: 'This service does not run surveys.' }]);
  });

  it('describes the ids of roles, and the scm_type of a project', async () => {
    const post = async (path: string) => (await admin.send('OPTIONS', `/api/v2/${path}`)).json['actions'];
    expect(await post('users/1/roles/')).toMatchObject({ POST: { id: {} } });
    expect(await post('projects/')).toMatchObject({ POST: { scm_type: {} } });
  });
});
