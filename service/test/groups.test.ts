import { beforeAll, describe, expect, it } from 'vitest';
import { type Body, basic, Client, useService } from './support/service.ts';

describe('groups', () => {
  const { service, admin } = useService();
  let reader: Client;
  let inventory: number;
  const ids: Record<string, number> = {};
  const made = async (path: string, json: unknown): Promise<Body> => {
    const answer = await admin.post(`/api/v2/${path}`, json);
    expect([path, answer.status, answer.text]).toEqual([path, 201, expect.any(String)]);
    return answer.json;
  };
  const get = async (path: string, client = admin) => (await client.get(`/api/v2/${path}`)).json;
  const names = async (path: string) => (await get(path)).results.map(({ name }) => name);
  const post = async (path: string, body: unknown) => (await admin.post(`/api/v2/${path}`, body)).status;

  beforeAll(async () => {
    inventory = (await made('inventories/', { name: 'Estate', organization: 1, variables: 'region: north' }))
      .id;
    for (const name of ['web1', 'web2', 'db1', 'lonely']) {
      ids[name] = (await made('hosts/', { name, inventory, variables: `port: 80\nurl: http://${name}` })).id;
    }
    for (const name of ['web', 'db', 'site']) ids[name] = (await made('groups/', { name, inventory })).id;
    for (const [group, member, relation] of [
      ['web', 'web1', 'hosts'],
      ['web', 'web2', 'hosts'],
      ['db', 'db1', 'hosts'],
      ['site', 'web', 'children'],
      ['site', 'db', 'children'],
    ] as const) {
      expect(await post(`groups/${ids[group]}/${relation}/`, { id: ids[member] })).toBe(204);
    }
    const { id } = await made('users/', { username: 'reader', password: 'a-password' });
    await admin.post('/api/v2/organizations/1/auditors/', { id });
    reader = new Client(service.url, basic('reader', 'a-password'));
  });

  it('hold hosts and other groups of their inventory', async () => {
    expect(await names(`groups/${ids['web']}/hosts/`)).toEqual(['web1', 'web2']);
    expect(await names(`groups/${ids['site']}/hosts/`)).toEqual([]);
    expect(await names(`groups/${ids['site']}/children/`)).toEqual(['db', 'web']);
    expect(await names(`groups/${ids['site']}/all_hosts/`)).toEqual(['db1', 'web1', 'web2']);
    expect(await names(`groups/${ids['db']}/potential_children/`)).toEqual(['web']);
    expect(await names(`inventories/${inventory}/groups/`)).toEqual(['db', 'site', 'web']);
    expect(await names(`inventories/${inventory}/root_groups/`)).toEqual(['site']);
    expect(await names(`hosts/${ids['web1']}/groups/`)).toEqual(['web']);
    expect(await names(`hosts/${ids['web1']}/all_groups/`)).toEqual(['site', 'web']);
    expect(await names(`groups/?inventory=${inventory}&name=web`)).toEqual(['web']);
    expect((await get(`hosts/${ids['web1']}/`))['summary_fields']).toMatchObject({
      groups: { count: 1, results: [{ id: ids['web'], name: 'web' }] },
    });
    expect(await get(`groups/web++Estate++Default/`)).toMatchObject({
      id: ids['web'],
      inventory,
      related: { hosts: `/api/v2/groups/${ids['web']}/hosts/` },
    });
    expect(await get(`inventories/${inventory}/`)).toMatchObject({ total_groups: 3, host_filter: null });
  });

  it('take and lose members, and are no circle', async () => {
    const circle = await admin.post(`/api/v2/groups/${ids['web']}/children/`, { id: ids['site'] });
    expect([circle.status, circle.json]).toEqual([400, { error: 'Cyclical Group association.' }]);
    expect(await post(`groups/${ids['web']}/children/`, { id: ids['web'] })).toBe(400);
    const foreign = (await get('hosts/?name=localhost')).results[0]?.id;
    expect(await post(`groups/${ids['web']}/hosts/`, { id: foreign })).toBe(400);
    expect(await post(`groups/${ids['web']}/hosts/`, { id: 99_999 })).toBe(400);
    expect(await post(`groups/${ids['web']}/hosts/`, { disassociate: true })).toBe(400);
    const host = await made(`groups/${ids['web']}/hosts/`, { name: 'web3', variables: 'a: 1' });
    expect(host['inventory']).toBe(inventory);
    expect(await names(`groups/${ids['web']}/hosts/`)).toEqual(['web1', 'web2', 'web3']);
    // A name alone adds the host that exists.
    expect(await post(`groups/${ids['db']}/hosts/`, { name: 'web3' })).toBe(204);
    expect(await names(`hosts/${host.id}/groups/`)).toEqual(['db', 'web']);
    for (const group of ['db', 'web']) {
      const leave = { id: ids[group], disassociate: true };
      expect(await post(`hosts/${host.id}/groups/`, leave)).toBe(204);
      expect(await post(`hosts/${host.id}/groups/`, leave)).toBe(204);
    }
    expect(await names(`hosts/${host.id}/groups/`)).toEqual([]);
    expect(await post(`inventories/${inventory}/hosts/`, { id: host.id, disassociate: true })).toBe(204);
    expect((await admin.get(`/api/v2/hosts/${host.id}/`)).status).toBe(404);
    const [entry] = (await get('activity_stream/?operation=associate&object1=group&order_by=-id')).results;
    expect(entry).toMatchObject({
      object_association: 'hosts',
      changes: { object1: 'group', object2: 'host', object2_pk: host.id, action: 'associate' },
    });
  });

  it('have names of their own', async () => {
    for (const name of ['all', '_meta', '{{ 1 }}', 'web', 'web1', '']) {
      expect([name, await post('groups/', { name, inventory })]).toEqual([name, 400]);
    }
    expect(await post('hosts/', { name: 'web', inventory })).toBe(400);
    const other = (await get('inventories/?name=Demo%20Inventory')).results[0]?.id;
    expect((await admin.patch(`/api/v2/groups/${ids['web']}/`, { inventory: other })).status).toBe(403);
    expect((await admin.patch(`/api/v2/groups/${ids['web']}/`, { description: 'x' })).status).toBe(200);
  });

  it('are read by who reads the inventory, and changed by who changes it', async () => {
    expect((await reader.get(`/api/v2/groups/${ids['web']}/`)).status).toBe(200);
    for (const [path, body] of [
      ['groups/', { name: 'x', inventory }],
      [`groups/${ids['web']}/hosts/`, { id: ids['lonely'] }],
      [`hosts/${ids['lonely']}/groups/`, { id: ids['web'] }],
      [`inventories/${inventory}/groups/`, { id: ids['web'], disassociate: true }],
    ] as const) {
      expect([path, (await reader.post(`/api/v2/${path}`, body)).status]).toEqual([path, 403]);
    }
    expect((await reader.put(`/api/v2/groups/${ids['web']}/variable_data/`, {})).status).toBe(403);
    const options = (await admin.send('OPTIONS', `/api/v2/groups/${ids['web']}/children/`)).json;
    expect(options['actions']).toMatchObject({ POST: { id: { type: 'integer' }, name: { required: true } } });
  });

  it('have variables, as inventories and hosts do', async () => {
    const path = `/api/v2/groups/${ids['web']}/variable_data/`;
    expect((await admin.put(path, { port: 8080, url: 'http://x', list: [1] })).json).toEqual({
      port: 8080,
      url: 'http://x',
      list: [1],
    });
    expect((await admin.patch(`${path}?format=json`, { url: 'http://x' })).json).toEqual({ url: 'http://x' });
    expect((await admin.get(`${path}?format=json`)).json).toEqual({ url: 'http://x' });
    expect((await get(`groups/${ids['web']}/`))['variables']).toBe('{"url": "http://x"}');
    expect(await get(`inventories/${inventory}/variable_data/`)).toEqual({ region: 'north' });
    expect(await get(`hosts/${ids['db1']}/variable_data/`)).toEqual({ port: 80, url: 'http://db1' });
    expect((await admin.put(path, [1] as never)).status).toBe(400);
  });

  it('are in the script of the inventory', async () => {
    await admin.patch(`/api/v2/hosts/${ids['web2']}/`, { enabled: false });
    const script = `inventories/${inventory}/script/`;
    expect(await get(script, reader)).toEqual({
      all: { vars: { region: 'north' }, hosts: ['lonely'], children: ['db', 'site', 'web'] },
      db: { hosts: ['db1'] },
      site: { children: ['db', 'web'] },
      web: { hosts: ['web1'], vars: { url: 'http://x' } },
    });
    const whole = await get(`${script}?all=1&hostvars=1&towervars=1`);
    expect(whole).toMatchObject({ web: { hosts: ['web1', 'web2'] } });
    expect((whole['_meta'] as { hostvars: Body }).hostvars['web2' as never]).toEqual({
      port: 80,
      url: 'http://web2',
      remote_host_enabled: 'false',
      remote_host_id: ids['web2'],
      remote_tower_enabled: 'false',
      remote_tower_id: ids['web2'],
    });
    expect(await get(`${script}?host=web1`)).toEqual({ port: 80, url: 'http://web1' });
    expect((await admin.get(`/api/v2/${script}?host=web2`)).status).toBe(404);
    expect((await admin.get(`/api/v2/${script}?subset=slice1of2`)).status).toBe(400);
  });

  it('have their entries of the activity stream, as hosts and inventories do', async () => {
    const entries = async (path: string) =>
      (await get(`${path}/activity_stream/?order_by=id`)).results.map((entry) => [
        entry['operation'],
        entry['object1'],
      ]);
    const other = (await made('inventories/', { name: 'Watched', organization: 1 })).id;
    const group = (await made('groups/', { name: 'watched', inventory: other })).id;
    const host = (await made('hosts/', { name: 'watched1', inventory: other })).id;
    await admin.patch(`/api/v2/hosts/${host}/`, { enabled: false });
    for (const change of [{ id: host }, { id: host, disassociate: true }]) {
      expect(await post(`groups/${group}/hosts/`, change)).toBe(204);
    }
    expect(await entries(`hosts/${host}`)).toEqual([
      ['create', 'host'],
      ['update', 'host'],
      ['associate', 'group'],
      ['disassociate', 'group'],
    ]);
    expect(await entries(`groups/${group}`)).toEqual([
      ['create', 'group'],
      ['associate', 'group'],
      ['disassociate', 'group'],
    ]);
    const [entry] = (await get(`groups/${group}/activity_stream/?operation=associate`)).results;
    expect(entry).toMatchObject({
      object2: 'host',
      summary_fields: { group: [{ name: 'watched' }], host: [{ name: 'watched1' }] },
      related: { group: [`/api/v2/groups/${group}/`], host: [`/api/v2/hosts/${host}/`] },
    });
    expect(await entries(`inventories/${other}`)).toEqual([['create', 'inventory']]);
    expect((await admin.delete(`/api/v2/inventories/${other}/`)).status).toBe(202);
    const [deleted] = (await get('activity_stream/?operation=delete&order_by=-id&page_size=1')).results;
    expect(deleted).toMatchObject({
      object1: 'inventory',
      changes: { coalesced_data: { hosts_deleted: 1, groups_deleted: 1 }, name: 'Watched', id: other },
    });
    expect((await get(`activity_stream/?object1=inventory`, reader)).count).toBeGreaterThan(0);
    const stranger = new Client(service.url, basic('stranger', 'a-password'));
    await made('users/', { username: 'stranger', password: 'a-password' });
    expect((await stranger.get(`/api/v2/groups/${ids['web']}/activity_stream/`)).status).toBe(403);
  });

  it('are deleted alone from the inventory, or with what only they hold', async () => {
    expect(await post(`groups/${ids['db']}/hosts/`, { id: ids['web1'] })).toBe(204);
    const alone = { id: ids['web'], disassociate: true };
    expect(await post(`inventories/${inventory}/groups/`, alone)).toBe(204);
    expect((await admin.get(`/api/v2/hosts/${ids['web2']}/`)).status).toBe(200);
    const kept = (await made('groups/', { name: 'kept', inventory })).id;
    expect(await post(`groups/${kept}/hosts/`, { id: ids['web1'] })).toBe(204);
    expect((await admin.delete(`/api/v2/groups/${ids['site']}/`)).status).toBe(204);
    expect(await names(`inventories/${inventory}/groups/`)).toEqual(['kept']);
    expect(await names(`inventories/${inventory}/hosts/`)).toEqual(['lonely', 'web1', 'web2']);
  });
});
