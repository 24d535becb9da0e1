import { beforeAll, describe, expect, it } from 'vitest';
import { basic, Client, useService } from './support/service.ts';

describe('named URLs', () => {
  const { service, admin } = useService();
  const ids: Record<string, number> = {};

  beforeAll(async () => {
    const make = async (collection: string, body: object) => {
      const { status, json, text } = await admin.post(`/api/v2/${collection}/`, body);
      expect([text, status]).toEqual([text, 201]);
      ids[collection] = json.id;
      return json.id;
    };
    const organization = await make('organizations', { name: 'A+B c/d' });
    const inventory = await make('inventories', { name: 'in++side', organization });
    await make('hosts', { name: 'web1', inventory });
    await make('credentials', { name: 'key?', organization });
    const [project] = (await admin.get('/api/v2/projects/')).json.results;
    await make('job_templates', {
      ...{ name: 'déploy 1', inventory, project: project?.id },
      playbook: 'hello_world.yml',
    });
  });

  it.each([
    ['inventories', 'in[+][+]side++A[+]B c%2Fd'],
    ['hosts', 'web1++in[+][+]side++A[+]B c%2Fd'],
    ['credentials', 'key%3F++Machine+ssh++A[+]B c%2Fd'],
    ['job_templates', 'déploy 1++Default'],
  ])('lead to one of the %s: %s', async (collection, names) => {
    const path = `/api/v2/${collection}/${ids[collection]}/`;
    const { related } = (await admin.get(path)).json as unknown as { related: { named_url: string } };
    expect(related.named_url).toBe(`/api/v2/${collection}/${names}/`);
    const named = `/api/v2/${collection}/${names.replaceAll(' ', '%20').replace('é', '%C3%A9')}/`;
    expect((await admin.get(named)).json).toMatchObject({ id: ids[collection], url: path });
    expect((await admin.patch(named, { description: 'by name' })).json.id).toBe(ids[collection]);
    expect((await admin.get(path)).json['description']).toBe('by name');
    for (const wrong of ['nothing', 'nothing++Default', `${names}++more`, 'a++b++c++d', '%00++x']) {
      expect(
        (await admin.get(`/api/v2/${collection}/${wrong.replaceAll(' ', '%20').replace('é', '%C3%A9')}/`))
          .status,
      ).toBe(404);
    }
  });

  it('lead to what belongs to them', async () => {
    const hosts = await admin.get('/api/v2/inventories/in[+][+]side++A[+]B%20c%2Fd/hosts/');
    expect(hosts.json.results.map(({ id }) => id)).toEqual([ids['hosts']]);
    expect((await admin.get('/api/v2/projects/Demo%20Project++Default/playbooks/')).status).toBe(200);
    expect((await admin.get('/api/v2/job_templates/d%C3%A9ploy%201++Default/launch/')).status).toBe(200);
    expect((await admin.get('/api/v2/job_templates/d%C3%A9ploy%201++Default/jobs/')).status).toBe(200);
    expect((await admin.get('/api/v2/credentials/key%3F++A[+]B%20c%2Fd/')).json.id).toBe(ids['credentials']);
  });

  it('of what the user may not see are refused as by id', async () => {
    await admin.post('/api/v2/users/', { username: 'stranger', password: 'secret' });
    const stranger = new Client(service.url, basic('stranger', 'secret'));
    expect((await stranger.get('/api/v2/projects/Demo%20Project++Default/')).status).toBe(403);
  });
});
