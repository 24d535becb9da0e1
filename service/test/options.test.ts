import { beforeAll, describe, expect, it } from 'vitest';
import {
  makeRightsWorld,
  PERSONAS,
  type Persona,
  projectsForRights,
  type RightsWorld,
} from './rights-world.ts';
import { type Client, useService } from './support/service.ts';

/** Who may create something by each collection. */
const CREATORS: Readonly<Record<string, readonly Persona[]>> = {
  users: ['superuser'],
  organizations: ['superuser'],
  teams: ['superuser', 'organization admin'],
  applications: ['superuser', 'organization admin'],
  tokens: PERSONAS,
  inventories: ['superuser', 'organization admin'],
  hosts: ['superuser', 'organization admin'],
  credentials: ['superuser', 'organization admin'],
  projects: ['superuser', 'organization admin'],
  job_templates: ['superuser', 'organization admin'],
  'organizations/A/users': ['superuser', 'organization admin'],
  'organizations/A/admins': ['superuser', 'organization admin'],
  'organizations/A/teams': ['superuser', 'organization admin'],
  'organizations/A/applications': ['superuser', 'organization admin'],
};

describe('OPTIONS', () => {
  const { service } = useService(() => ({ projects: projectsForRights(), searchPath: '/nonexistent' }));
  let world: RightsWorld;
  beforeAll(async () => {
    world = await makeRightsWorld(service);
  });
  const actions = async (client: Client, path: string) =>
    Object.keys((await client.send('OPTIONS', path)).json['actions'] as object);

  it.each(Object.keys(CREATORS))('of %s describes POST for who may create', async (collection) => {
    const may: Persona[] = [];
    for (const persona of PERSONAS) {
      const path = `/api/v2/${collection.replace('A', String(world.organizations.a))}/`;
      if ((await actions(world.clients[persona], path)).includes('POST')) may.push(persona);
    }
    expect(may).toEqual(CREATORS[collection]);
  });

  it('of the holders of a role describes POST for who may give the role', async () => {
    const { summary_fields } = (await world.root.get(`/api/v2/organizations/${world.organizations.a}/`))
      .json as unknown as { summary_fields: { object_roles: Record<string, { id: number }> } };
    const roleId = summary_fields.object_roles['job_template_admin_role']?.id;
    for (const collection of ['users', 'teams']) {
      const may: Persona[] = [];
      for (const persona of PERSONAS) {
        const answer = await world.clients[persona].send('OPTIONS', `/api/v2/roles/${roleId}/${collection}/`);
        if ('POST' in (answer.json['actions'] as object)) may.push(persona);
      }
      expect(may).toEqual(['superuser', 'organization admin']);
    }
  });

  it('of an object describes PUT for who may change it', { tags: ['long'] }, async () => {
    for (const { type, path, of, label } of world.things) {
      for (const persona of of === undefined ? PERSONAS : [of]) {
        const client = world.clients[persona];
        const { description, first_name } = (await world.root.get(path)).json;
        const same = type === 'user' ? { first_name } : { description };
        const said = `${persona}, ${type} ${label}`;
        const changes = (await client.patch(path, same)).status === 200;
        expect([said, (await actions(client, path)).includes('PUT')]).toEqual([said, changes]);
      }
    }
  });
});
