import { beforeAll, describe, expect, it } from 'vitest';
import { projectsForRights } from './rights-world.ts';
import { basic, bearer, Client, useService } from './support/service.ts';

describe('filters across relations', () => {
  const { service, admin } = useService(() => ({
    projects: projectsForRights(),
    searchPath: '/nonexistent',
  }));
  const ids: Record<string, number> = {};
  const people: Record<string, Client> = {};

  const make = async (collection: string, body: object): Promise<number> => {
    const { status, json, text } = await admin.post(`/api/v2/${collection}/`, body);
    expect([text, status]).toEqual([text, 201]);
    return json.id;
  };
  const person = async (name: string) => {
    ids[name] = await make('users', { username: name, password: 'secret' });
    const { json } = await new Client(service.url, basic(name, 'secret')).post('/api/v2/tokens/', {
      description: `of ${name}`,
    });
    people[name] = new Client(service.url, bearer(json.token));
  };

  beforeAll(async () => {
    for (const [name, folder] of [
      ['East', 'folder-a'],
      ['West', 'folder-b'],
    ] as const) {
      const organization = await make('organizations', { name });
      const inventory = await make('inventories', { name: `${name} hosts`, organization });
      const web = await make('hosts', { name: `${name}-web`, inventory });
      await make('hosts', { name: `${name}-db`, inventory, enabled: false });
      const front = await make('groups', { name: `${name}-front`, inventory });
      const site = await make('groups', { name: `${name}-site`, inventory });
      await admin.post(`/api/v2/groups/${front}/hosts/`, { id: web });
      await admin.post(`/api/v2/groups/${site}/children/`, { id: front });
      await make('credentials', { name: `${name} key`, organization });
      ids[`${name} front`] = front;
      const project = await make('projects', { name: `${name} books`, organization, local_path: folder });
      ids[name] = organization;
      ids[`${name} template`] = await make('job_templates', {
        ...{ name: `${name} site`, inventory, project, playbook: 'site.yml' },
      });
      for (const app of ['web', 'cli']) {
        await make('applications', {
          ...{ name: `${app} ${name}`, organization, client_type: app === 'web' ? 'confidential' : 'public' },
          authorization_grant_type: 'password',
        });
      }
    }
    for (const name of ['boss', 'member', 'runner', 'nobody']) await person(name);
    await admin.post(`/api/v2/organizations/${ids['East']}/admins/`, { id: ids['boss'] });
    await admin.post(`/api/v2/organizations/${ids['East']}/users/`, { id: ids['member'] });
    const { json } = await admin.get(`/api/v2/job_templates/${ids['East template']}/`);
    const roles = json['summary_fields'] as { object_roles: Record<string, { id: number }> };
    await admin.post(`/api/v2/users/${ids['runner']}/roles/`, { id: roles.object_roles['execute_role']?.id });
    await admin.post(`/api/v2/job_templates/${ids['East template']}/launch/`);
  });

  const found = async (path: string, client = admin) => {
    const { status, json } = await client.get(encodeURI(`/api/v2/${path}`));
    expect([path, status]).toEqual([path, 200]);
    return json.results.map(({ name, username }) => name ?? username);
  };

  it.each([
    ['hosts/?inventory__organization__name=East&order_by=name', ['East-db', 'East-web']],
    ['hosts/?inventory__organization__search=west&enabled=false', ['West-db']],
    ['hosts/?inventory__name__startswith=East&order_by=-name', ['East-web', 'East-db']],
    ['hosts/?order_by=-inventory__organization__name,name&page_size=1', ['West-db']],
    ['job_templates/?inventory__organization__name=West', ['West site']],
    ['job_templates/?project__organization__name__in=East&project__name=East books', ['East site']],
    ['job_templates/?inventory__description=&organization__name=East', ['East site']],
    ['jobs/?job_template__name=East site', ['East site']],
    ['jobs/?job_template__project__name=East books&job_template__organization__name=East', ['East site']],
    ['jobs/?job_template__inventory__name=West hosts', []],
    ['jobs/?inventory__organization__name=East&unified_job_template__name=East site', ['East site']],
    // Through relations to many: the same object has to meet all filters, but those with chain__ and not__.
    ['organizations/?applications__name=cli West', ['West']],
    ['organizations/?applications__name__startswith=cli&order_by=name', ['East', 'West']],
    ['organizations/?applications__name=cli West&applications__client_type=public', ['West']],
    ['organizations/?applications__name=cli West&applications__client_type=confidential', []],
    [
      'organizations/?chain__applications__name=cli West&chain__applications__client_type=confidential',
      ['West'],
    ],
    ['organizations/?not__applications__name=cli West&name__in=East,West', ['East']],
    ['organizations/?or__applications__name=cli West&or__teams__name=none', ['West']],
    ['organizations/?applications__isnull=true', ['Default']],
    ['organizations/?applications__isnull=false&order_by=-name', ['West', 'East']],
    ['organizations/?applications__search=cli,west', ['West']],
    ['organizations/?inventories__name=East hosts&projects__name=East books', ['East']],
    ['organizations/?created_by__username=admin&name=East', ['East']],
    ['inventories/?hosts__name=West-db', ['West hosts']],
    ['inventories/?groups__name=West-front&hosts__name=West-db', ['West hosts']],
    ['inventories/?groups__isnull=true', ['Demo Inventory']],
    ['hosts/?groups__name=East-front', ['East-web']],
    ['hosts/?groups__search=front&groups__isnull=false&order_by=-name', ['West-web', 'East-web']],
    ['hosts/?not__groups__name__startswith=East&inventory__name=East hosts', ['East-db']],
    ['groups/?hosts__name=West-web', ['West-front']],
    ['groups/?children__name__in=East-front,East-site', ['East-site']],
    ['groups/?parents__isnull=false&order_by=name', ['East-front', 'West-front']],
    ['credentials/?credential_type__kind=ssh&name__startswith=East', ['East key']],
    ['credentials/?credential_type__kind__in=vault,scm', []],
    [
      'credentials/?credential_type=1&credential_type__search=mach&order_by=credential_type__name,-name',
      ['West key', 'East key', 'Demo Credential', 'Ansible Galaxy'],
    ],
    ['users/?main_oauth2accesstoken__description=of boss', ['boss']],
    ['users/?main_oauth2accesstoken__isnull=true', ['admin']],
    ['users/?main_oauth2accesstoken__description__icontains=NOBODY', ['nobody']],
  ])('answer %s', async (path, expected) => {
    expect(await found(path)).toEqual(expected);
  });

  it('take the id of a related object', async () => {
    expect(await found(`hosts/?groups=${ids['West front']}`)).toEqual(['West-web']);
    expect(await found('hosts/?groups=0')).toEqual([]);
  });

  it.each([
    'organizations/?applications__client_secret=x',
    'users/?main_oauth2accesstoken__token=x',
    'organizations/?created_by__password=x',
  ])('refuse secrets: %s', async (path) => {
    expect((await admin.get(`/api/v2/${path}`)).status).toBe(403);
  });

  it.each([
    'organizations/?applications__name__regex=x',
    'organizations/?order_by=applications__name',
    'organizations/?applications=x',
    'hosts/?inventory__organization__nothing=1',
  ])('refuse %s', async (path) => {
    expect((await admin.get(`/api/v2/${path}`)).status).toBe(400);
  });

  it('reach what the caller sees, and nothing else', async () => {
    const { boss, member, runner, nobody } = people as Record<string, Client>;
    expect(await found('organizations/?applications__name=web East', member)).toEqual(['East']);
    expect(await found('organizations/?inventories__name=East hosts', member)).toEqual([]);
    expect(await found('organizations/?inventories__name=East hosts', boss)).toEqual(['East']);
    // Who may launch a job template knows the names of its parts, not their descriptions and owners.
    expect(await found('job_templates/?inventory__name=East hosts', runner)).toEqual(['East site']);
    expect(await found('job_templates/?inventory__organization__name=East', runner)).toEqual([]);
    expect(await found('job_templates/?inventory__organization__name=East', boss)).toEqual(['East site']);
    expect(await found('jobs/?inventory__organization__name=East', runner)).toEqual([]);
    const token = 'main_oauth2accesstoken__description=of nobody';
    expect(await found(`users/?${token}`, nobody)).toEqual(['nobody']);
    expect(await found(`users/?${token}`, boss)).toEqual([]);
  });

  it('by role_level list the objects on which the caller has the role', async () => {
    const { boss, member, runner, nobody } = people as Record<string, Client>;
    const level = async (path: string) =>
      Promise.all([boss, member, runner, admin].map((client) => found(path, client)));
    expect(await level('organizations/?role_level=admin_role&order_by=name')).toEqual([
      ...[['East'], [], [], ['Default', 'East', 'West']],
    ]);
    expect(await level('organizations/?role_level=member_role&name=East')).toEqual([
      ...[['East'], ['East'], [], ['East']],
    ]);
    expect(await level('organizations/?role_level=read_role&name=East')).toEqual([
      ...[['East'], ['East'], [], ['East']],
    ]);
    expect(await level('job_templates/?role_level=execute_role&name=East site')).toEqual([
      ...[['East site'], [], ['East site'], ['East site']],
    ]);
    expect(await level('job_templates/?role_level=admin_role&name=East site')).toEqual([
      ...[['East site'], [], [], ['East site']],
    ]);
    expect(await level('inventories/?role_level=use_role&name=East hosts')).toEqual([
      ...[['East hosts'], [], [], ['East hosts']],
    ]);
    expect(await level('teams/?role_level=admin_role')).toEqual([[], [], [], []]);
    expect(await found('projects/?role_level=update_role', nobody)).toEqual([]);
    for (const path of [
      'organizations/?role_level=bogus',
      'hosts/?role_level=admin_role',
      'users/?role_level=x',
    ]) {
      expect((await boss?.get(`/api/v2/${path}`))?.status).toBe(400);
    }
  });

  it('find the roles of an object', async () => {
    const { json } = await admin.get(
      `/api/v2/roles/?object_id=${ids['East']}&content_type__model=organization&role_field=admin_role`,
    );
    expect(json.results.map(({ name }) => name)).toEqual(['Admin']);
    const templates = `content_type__model=jobtemplate&object_id=${ids['East template']}`;
    expect((await admin.get(`/api/v2/roles/?${templates}`)).json.count).toBe(3);
    expect((await admin.get('/api/v2/roles/?singleton_name=system_administrator')).json.count).toBe(0);
  });
});
