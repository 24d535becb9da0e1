import { beforeAll, describe, expect, it } from 'vitest';
import { makeRightsWorld, projectsForRights, type RightsWorld } from './rights-world.ts';
import { Client, useService } from './support/service.ts';

const OWN_TOKEN = 'creates a token of the caller, as the controller does, whoever the address names';
const OF_CLIENT = 'checks the secret of the client, and no user';
const OF_PROVIDER = 'checks the signature of the identity provider, and no user';

/** The writable routes that do not refuse a caller without a right on the objects in the address and the body, each with the reason. */
const OPEN: Readonly<Record<string, string>> = {
  'POST /api/o/authorize/': 'sends a caller without a session to the login',
  'POST /api/o/introspect/': OF_CLIENT,
  'POST /api/o/revoke_token/': OF_CLIENT,
  'POST /api/o/token/': OF_CLIENT,
  'POST /api/v2/users/{id}/personal_tokens/': OWN_TOKEN,
  'POST /sso/backchannel-logout/': OF_PROVIDER,
  'POST /sso/complete/saml/': OF_PROVIDER,
  'POST /sso/events/': OF_PROVIDER,
  'POST /sso/global-token-revocation/': OF_PROVIDER,
};
/** The same for members of an organization, who may use its applications. */
const OPEN_TO_MEMBERS: Readonly<Record<string, string>> = {
  'POST /api/v2/applications/{id}/tokens/': OWN_TOKEN,
  'POST /api/v2/tokens/': OWN_TOKEN,
  'POST /api/v2/users/{id}/authorized_tokens/': OWN_TOKEN,
  'POST /api/v2/users/{id}/tokens/': OWN_TOKEN,
};

/** Whom the objects of the addresses are kept from. */
const CALLERS = {
  'a member of their organization': {
    persona: 'member',
    organization: 'a',
    label: 'of the own organization',
    user: 'a member',
    token: 'of a member',
    open: { ...OPEN, ...OPEN_TO_MEMBERS },
  },
  'the admin of another organization': {
    persona: 'organization admin',
    organization: 'b',
    label: 'of another organization',
    user: 'a member of another organization',
    token: 'of another organization',
    open: OPEN,
  },
} as const;

type Caller = (typeof CALLERS)[keyof typeof CALLERS];

describe('each writable route', () => {
  const { service } = useService(() => ({ projects: projectsForRights(), searchPath: '/nonexistent' }));
  let world: RightsWorld;
  let routes: readonly (readonly [method: string, path: string])[];

  beforeAll(async () => {
    world = await makeRightsWorld(service);
    const { paths } = (await new Client(service.url).get('/api/v2/openapi.json')).json;
    routes = Object.entries(paths as Record<string, object>).flatMap(([path, item]) =>
      ['post', 'put', 'patch', 'delete']
        .filter((method) => method in item)
        .map((method) => [method.toUpperCase(), path] as const),
    );
  });

  /** The ids of the objects that a caller has no right on, by collection. */
  async function idsFor({ organization, label, user, token }: Caller) {
    const ids: Record<string, number | string | undefined> = {
      settings: 'authentication',
      organizations: world.organizations[organization],
      users: world.users[user],
      roles: world.roles[`use of inventory ${organization.toUpperCase()}`],
    };
    for (const thing of world.things) {
      const [, collection = ''] = /^\/api\/v2\/(\w+)\//.exec(thing.path) ?? [];
      if (thing.label === (collection === 'tokens' ? token : label)) ids[collection] ??= thing.id;
    }
    const launch = `/api/v2/job_templates/${ids['job_templates']}/launch/`;
    return { ...ids, jobs: (await world.root.post(launch)).json.id } as Readonly<Record<string, unknown>>;
  }

  it.each(Object.entries(CALLERS))('is refused to %s', async (_name, caller) => {
    const ids = await idsFor(caller);
    const body = {
      ...{ name: 'x', description: 'x', username: 'x', password: 'x' },
      ...{ organization: ids['organizations'], inventory: ids['inventories'], project: ids['projects'] },
      ...{ playbook: 'site.yml', local_path: 'x', credential_type: 1 },
      ...{
        client_type: 'public',
        authorization_grant_type: 'authorization-code',
        application: ids['applications'],
      },
    };
    const done: string[] = [];
    for (const [method, path] of routes) {
      const at = path.replace(/\/(\w+)\/\{\w+\}\//, (_whole, of: string) => `/${of}/${ids[of]}/`);
      const id = path.endsWith('/teams/') ? ids['teams'] : world.ids[caller.persona];
      const { status } = await world.clients[caller.persona].send(method, at, { json: { ...body, id } });
      // 404 would be an address that the test has wrong.
      if (status !== 403) done.push(`${method} ${path}`);
      if (status === 404) done.push(at);
    }
    expect(done.sort()).toEqual(Object.keys(caller.open).sort());
  });

  it('whose fields can be set is in the matrix of rights, with its type of object', () => {
    const inMatrix = new Set(world.things.map(({ path }) => path.replace(/\/\d+\//, '/{id}/')));
    const settable = routes.flatMap(([method, path]) => (method === 'PATCH' ? path : []));
    expect(settable.filter((path) => !inMatrix.has(path))).toEqual([
      // As `variables` of the same object, which is.
      '/api/v2/groups/{id}/variable_data/',
      '/api/v2/hosts/{id}/variable_data/',
      '/api/v2/inventories/{id}/variable_data/',
      // Tried with one field for all: no one but a superuser sets any.
      '/api/v2/settings/{category}/',
    ]);
  });
});
