import { Secret } from '@tokenctl/common/secret.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fullName } from '../../../../src/domain/groups.ts';
import { openControllerApi } from '../../../../src/targets/controller-api/controller-api.ts';
import { DOCUMENTED_GRANTS } from '../../../support/documented-grants.ts';
import { loadRealTables, type Peer, REAL_PEERS, type RealTables } from '../../../support/real-tables.ts';
import { RecordedController } from '../../../support/recorded-controller.ts';
import { RecordedGateway } from '../../../support/recorded-gateway.ts';
import { hasRecordings, recorded } from '../../../support/recordings.ts';
import { roleWith } from '../../../support/test-database.ts';

const PEERS = REAL_PEERS.filter(hasRecordings);

// The tables and recordings are kept beside the project: without them, one test says that the others are left out.
test.runIf(PEERS.length === 0)('skipped: tables and recordings of real controllers are absent', ({ skip }) =>
  skip(),
);

const CONTROLLER = [
  '/api/',
  '/api/v2/ping/',
  '/api/v2/me/',
  '/api/v2/tokens/?page_size=2',
  '/api/v2/tokens/2/',
  '/api/v2/users/?page_size=3&order_by=id',
  '/api/v2/users/2/',
  '/api/v2/applications/?page_size=3&order_by=id',
  '/api/v2/role_user_assignments/?page_size=2',
  '/api/v2/settings/authentication/',
];
const GATEWAY = [
  '/api/gateway/v1/me/',
  '/api/gateway/v1/tokens/?page_size=2',
  '/api/gateway/v1/tokens/2/',
  '/api/gateway/v1/applications/?page_size=3&order_by=id',
  '/api/gateway/v1/role_user_assignments/?page_size=2',
];

describe.each(PEERS)('the server on the tables of %s', (peer) => {
  let tables: RealTables;
  let server: RecordedController | RecordedGateway;
  beforeAll(async () => {
    tables = await loadRealTables(peer);
    server = isGateway(peer)
      ? await RecordedGateway.start(tables)
      : await RecordedController.start(peer, tables);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await tables.close();
  });

  test.each(isGateway(peer) ? GATEWAY : CONTROLLER)('answers as was recorded: %s', async (path) => {
    const exchange = recorded(peer, 'raw').find(
      (each) => each.as === 'admin' && each.method === 'GET' && each.path === path,
    );
    const { admintoken } = tables.filling;
    const answer = await fetch(`${server.address}${path}`, {
      headers: { authorization: `Bearer ${admintoken}` },
    });
    // Without newer roles, a controller has no list of their assignments, and nothing was recorded.
    if (exchange === undefined) {
      expect(answer.status).toBe(404);
      return;
    }
    expect(answer.status).toBe(exchange.status);
    if (exchange.status !== 200) return;
    const [given, real] = [itemsOf(await answer.json()), itemsOf(exchange.response)];
    expect(given.length).toBe(real.length);
    for (const [index, item] of given.entries()) expectPart(item, real[index]);
  });
});

describe.each(PEERS)('organizations and teams of %s', (peer) => {
  test('have the same users over REST and in the database, by roles of either kind', async () => {
    const tables = await loadRealTables(peer);
    const server = isGateway(peer)
      ? await RecordedGateway.start(tables)
      : await RecordedController.start(peer, tables);
    const { admintoken: token } = tables.filling;
    const rest = openControllerApi({
      ...{ context: 'test', address: server.address, verifyTls: true },
      credential: { kind: 'token', token: new Secret(token) },
    });
    try {
      const expected = await (isGateway(peer) ? fillGateway(tables) : fillController(tables));
      for (const target of [await tables.open(), rest]) {
        const found: Record<string, readonly string[]> = {};
        for (const kind of ['organization', 'team'] as const)
          for (const group of await target.users.groups(kind))
            found[fullName(group)] = (await target.users.ofGroup(group)).map(({ username }) => username);
        expect(found).toEqual(expected);
      }
      await (isGateway(peer) ? expectRefusals(tables) : expectRights(tables, expected));
    } finally {
      await rest.close();
      await server[Symbol.asyncDispose]();
      await tables.close();
    }
  });
});

/** The documented rights are enough; without those on the newer tables of roles, nothing is left out in silence. */
async function expectRights(tables: RealTables, expected: Readonly<Record<string, readonly string[]>>) {
  const grants = [
    'GRANT SELECT (id, username) ON auth_user TO ROLE',
    ...(DOCUMENTED_GRANTS.get('Reading organizations and teams') ?? []),
  ];
  const reader = await tables.open({
    url: await roleWith(tables, (role) => grants.map((grant) => grant.replaceAll('ROLE', role))),
  });
  const eng = (await reader.users.groups('organization')).find(({ name }) => name === 'Eng');
  const users = reader.users.ofGroup({ kind: 'organization', id: eng?.id ?? 0 });
  if (expected['Default']?.length === 0) expect(await users).toHaveLength(3);
  else await expect(users).rejects.toMatchObject({ code: 'permission_refused' });
}

/** What hides some of the users of a group is refused: a row-level policy, and a table that is absent. */
async function expectRefusals(tables: RealTables): Promise<void> {
  const { database } = tables;
  const reader = await tables.open({
    url: await roleWith(tables, (role) => [`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`]),
  });
  const users = () => reader.users.ofGroup({ kind: 'organization', id: 1 });
  expect(await users()).toHaveLength(2);
  await database.execute('ALTER TABLE dab_rbac_roleuserassignment ENABLE ROW LEVEL SECURITY');
  await expect(users()).rejects.toMatchObject({
    code: 'permission_refused',
    message: expect.stringContaining('row-level security hides rows of dab_rbac_roleuserassignment'),
  });
  await database.execute('DROP TABLE aap_gateway_api_team CASCADE');
  await expect(reader.users.groups('team')).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('it has no table aap_gateway_api_team'),
  });
}

const MAKE_TEAM = `INSERT INTO main_team (created, modified, description, name, organization_id, admin_role_id, member_role_id)
  SELECT now(), now(), '', 'Ops', $1, a.id, m.id FROM admins a, members m RETURNING id, admin_role_id, member_role_id`;
const MAKE_ROLE = `INSERT INTO main_rbac_roles (role_field, implicit_parents) VALUES ('of a team', '[]') RETURNING id`;

/** Two teams of one name, an administrator who is no member, and in the newer tables of roles one who is in no other. */
async function fillController({ database, filling: { users } }: RealTables) {
  const id = (name: string) => users[name] ?? 0;
  const add = async (role: number | undefined, name: string) => {
    await database.query('INSERT INTO main_rbac_roles_members (role_id, user_id) VALUES ($1, $2)', [
      role,
      id(name),
    ]);
  };
  const organizations = await database.query<{ id: number; name: string; admin_role_id: number }>(
    'SELECT id, name, admin_role_id FROM main_organization ORDER BY id',
  );
  const [byDefault, eng] = organizations;
  await add(eng?.admin_role_id, 'carol');
  const teams = [];
  for (const { id: of } of organizations) {
    const sql = `WITH admins AS (${MAKE_ROLE}), members AS (${MAKE_ROLE}) ${MAKE_TEAM}`;
    teams.push(
      ...(await database.query<{ id: number; admin_role_id: number; member_role_id: number }>(sql, [of])),
    );
  }
  await add(teams[0]?.member_role_id, 'eve');
  await add(teams[1]?.member_role_id, 'robot');
  await add(teams[1]?.admin_role_id, 'alice');
  const assigned = await assign(database, [
    ['Organization Admin', byDefault?.id, id('carol')],
    ['Organization Audit', byDefault?.id, id('eve')],
    ['Project Admin', byDefault?.id, id('robot')],
    ['Team Member', teams[0]?.id, id('gone')],
  ]);
  expect([byDefault?.name, eng?.name]).toEqual(['Default', 'Eng']);
  return {
    Default: assigned ? ['carol'] : [],
    Eng: ['alice', 'bob', 'carol'],
    'Default/Ops': assigned ? ['gone', 'eve'].sort((a, b) => id(a) - id(b)) : ['eve'],
    'Eng/Ops': ['alice', 'robot'].sort((a, b) => id(a) - id(b)),
  };
}

async function fillGateway({ database, filling: { users } }: RealTables) {
  const id = (name: string) => users[name] ?? 0;
  const [{ id: organization = 0 } = {}] = await database.query<{ id: number }>(
    'SELECT id FROM aap_gateway_api_organization',
  );
  const [{ id: team = 0 } = {}] = await database.query<{ id: number }>(
    `INSERT INTO aap_gateway_api_team (created, modified, name, description, organization_id)
     VALUES (now(), now(), 'Ops', '', $1) RETURNING id`,
    [organization],
  );
  // An organization and a team of one id.
  expect(team).toBe(organization);
  await assign(database, [
    ['Organization Member', organization, id('alice')],
    ['Organization Admin', organization, id('bob')],
    ['Team Member', team, id('erin')],
    ['Team Admin', team, id('bob')],
  ]);
  return { Default: ['alice', 'bob'], 'Default/Ops': ['bob', 'erin'] };
}

/** Gives roles in the newer tables of roles; false without these tables. */
async function assign(
  database: RealTables['database'],
  roles: readonly (readonly [role: string, object: number | undefined, user: number])[],
): Promise<boolean> {
  const [found] = await database.query<{ there: boolean }>(
    "SELECT to_regclass('dab_rbac_roleuserassignment') IS NOT NULL AS there",
  );
  if (found?.there !== true) return false;
  for (const [role, object, user] of roles) {
    await database.query(
      `INSERT INTO dab_rbac_roleuserassignment (created, content_type_id, object_id, role_definition_id, user_id)
       SELECT now(), content_type_id, $2, id, $3 FROM dab_rbac_roledefinition WHERE name = $1`,
      [role, String(object), user],
    );
  }
  return true;
}

function isGateway(peer: Peer): boolean {
  return peer.startsWith('gateway');
}

function itemsOf(body: unknown): readonly unknown[] {
  const { results } = body as { results?: readonly unknown[] };
  return results ?? [body];
}

/** What is there is as recorded, but for times, which are those of the dump, and what other requests of the recording changed. */
function expectPart(given: unknown, real: unknown, path = ''): void {
  if (/(^|\.)(last_login|last_used|tokens|modified|created|expires)$/.test(path)) return;
  if (typeof given !== 'object' || given === null) expect(given, path).toEqual(real);
  else
    for (const [name, value] of Object.entries(given)) {
      const other = (real as Readonly<Record<string, unknown>> | null)?.[name];
      // Rows of tables have columns that the API does not show: nothing reads them.
      if (other !== undefined) expectPart(value, other, `${path}.${name}`);
    }
}
