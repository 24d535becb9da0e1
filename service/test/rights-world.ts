import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunningService } from '../src/server.ts';
import { ADMIN, basic, bearer, Client } from './support/service.ts';

/** Who asks. Each has a role in organization A or its team, or all rights. */
export const PERSONAS = ['superuser', 'organization admin', 'team admin', 'member', 'external user'] as const;
export type Persona = (typeof PERSONAS)[number];

/** One object whose fields are set, by its type and how it stands to the personas. */
export interface Thing {
  readonly type: string;
  /** As the table names it; `own` is the asking user's or team's. */
  readonly label: string;
  readonly path: string;
  readonly id: number;
  /** The only persona that has this object; without it, all do. */
  readonly of?: Persona;
}

/** Two organizations with one of everything, and users who stand in every relation to the personas. */
export interface RightsWorld {
  readonly root: Client;
  readonly clients: Readonly<Record<Persona, Client>>;
  readonly ids: Readonly<Record<Persona, number>>;
  /** The other users, by what they are. */
  readonly users: Readonly<Record<string, number>>;
  readonly things: readonly Thing[];
  readonly organizations: { readonly a: number; readonly b: number };
  /** The ids of roles by name. */
  readonly roles: Readonly<Record<string, number>>;
}

const OWN_ROLES: Readonly<Record<Persona, string | null>> = {
  superuser: null,
  'organization admin': 'admin of A',
  'team admin': 'admin of team A',
  member: 'member of A',
  'external user': 'member of A',
};

/** What the other users are, and their roles. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  'a member': ['member of A'],
  'another admin': ['admin of A'],
  'a member with a role elsewhere': ['member of A', 'member of team B'],
  'a member of another organization': ['member of B'],
  'a superuser': [],
  'a user without roles': [],
  'a user with a role in a team elsewhere': ['admin of team B'],
};

/** A folder of projects with those of the world. */
export function projectsForRights(): string {
  const projects = mkdtempSync(join(tmpdir(), 'tokenctl-rights-'));
  for (const folder of ['folder-a', 'folder-b', 'playbooks-a', 'playbooks-b']) {
    mkdirSync(join(projects, folder));
    writeFileSync(join(projects, folder, 'site.yml'), '- hosts: all\n');
  }
  return projects;
}

/** Makes the world on a fresh service. */
export async function makeRightsWorld(service: RunningService): Promise<RightsWorld> {
  const root = new Client(service.url, basic(ADMIN.username, ADMIN.password));
  const make = async (path: string, body: object): Promise<number> => {
    const { status, text, json } = await root.post(`/api/v2/${path}`, body);
    if (status !== 201) throw new Error(`${path} ${JSON.stringify(body)}: ${status} ${text}`);
    return json.id;
  };
  const things: Thing[] = [];
  const roles: Record<string, number> = {};
  const addRoles = async (collection: string, id: number, of: string) => {
    const { results } = (await root.get(`/api/v2/${collection}/${id}/object_roles/?page_size=200`)).json;
    for (const role of results) roles[`${String(role['name']).toLowerCase()} of ${of}`] = role.id;
  };
  const add = async (collection: string, type: string, label: string, body: object) => {
    const id = await make(`${collection}/`, body);
    things.push({ type, label, id, path: `/api/v2/${collection}/${id}/` });
    return id;
  };
  const fill = async (letter: 'A' | 'B', label: string): Promise<number> => {
    const organization = await add('organizations', 'organization', label, { name: letter });
    const name = (what: string) => ({ name: `${what} ${letter}`, organization });
    await addRoles('organizations', organization, letter);
    const team = await add('teams', 'team', letter === 'A' ? 'the own team' : label, name('team'));
    await addRoles('teams', team, `team ${letter}`);
    if (letter === 'A') await add('teams', 'team', label, name('second team'));
    await add('applications', 'o_auth2_application', label, {
      ...name('application'),
      client_type: 'confidential',
      authorization_grant_type: 'authorization-code',
      redirect_uris: 'https://app.example.org/cb',
    });
    const inventory = await add('inventories', 'inventory', label, name('inventory'));
    await addRoles('inventories', inventory, `inventory ${letter}`);
    await add('hosts', 'host', label, { name: `host ${letter}`, inventory });
    await add('groups', 'group', label, { name: `group ${letter}`, inventory });
    const credential = await add('credentials', 'credential', label, name('credential'));
    await addRoles('credentials', credential, `credential ${letter}`);
    await add('projects', 'project', label, {
      ...name('project'),
      local_path: `folder-${letter.toLowerCase()}`,
    });
    // The project of a job template keeps its organization.
    const project = await make('projects/', {
      ...name('playbooks'),
      local_path: `playbooks-${letter.toLowerCase()}`,
    });
    await addRoles('projects', project, `project ${letter}`);
    const template = await add('job_templates', 'job_template', label, {
      ...{ name: `template ${letter}`, inventory, project },
      playbook: 'site.yml',
    });
    await addRoles('job_templates', template, `job template ${letter}`);
    return organization;
  };
  const a = await fill('A', 'of the own organization');
  const b = await fill('B', 'of another organization');
  const grant = async (user: number, role: string) => {
    const { status, text } = await root.post(`/api/v2/roles/${roles[role]}/users/`, { id: user });
    if (status !== 204) throw new Error(`${role}: ${status} ${text}`);
  };
  const person = async (username: string, isSuperuser: boolean): Promise<number> => {
    const id = await make('users/', { username, password: 'secret', is_superuser: isSuperuser });
    things.push({ type: 'user', label: username.replaceAll('-', ' '), id, path: `/api/v2/users/${id}/` });
    return id;
  };
  const users: Record<string, number> = {};
  for (const [what, held] of Object.entries(OTHERS)) {
    users[what] = await person(what.replaceAll(' ', '-'), what === 'a superuser');
    for (const role of held) await grant(users[what] ?? 0, role);
  }
  const ids = {} as Record<Persona, number>;
  const clients = {} as Record<Persona, Client>;
  for (const persona of PERSONAS) {
    const username = `the-${persona.replaceAll(' ', '-')}`;
    const id = await person(username, persona === 'superuser');
    const own = things.pop();
    if (own !== undefined) things.push({ ...own, label: 'the own account', of: persona });
    const role = OWN_ROLES[persona];
    if (role !== null) await grant(id, role);
    const { json } = await new Client(service.url, basic(username, 'secret')).post('/api/v2/tokens/');
    things.push({
      ...{ type: 'o_auth2_access_token', label: 'own', id: json.id, of: persona },
      path: `/api/v2/tokens/${json.id}/`,
    });
    ids[persona] = id;
    clients[persona] = new Client(service.url, bearer(json.token));
  }
  await service.database.execute(
    "INSERT INTO social_auth_usersocialauth (user_id, provider, uid) VALUES ($1, 'github', '1')",
    [ids['external user']],
  );
  const application = things.find(({ type }) => type === 'o_auth2_application')?.id;
  for (const [label, username, body] of [
    ['of a member', 'a-member', {}],
    ['of a member, for an application', 'a-member', { application }],
    ['of another organization', 'a-member-of-another-organization', {}],
  ] as const) {
    const { json } = await new Client(service.url, basic(username, 'secret')).post('/api/v2/tokens/', body);
    things.push({ type: 'o_auth2_access_token', label, id: json.id, path: `/api/v2/tokens/${json.id}/` });
  }
  return { root, clients, ids, users, things, organizations: { a, b }, roles };
}
