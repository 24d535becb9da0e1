import { joined, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type Group, type GroupKind, MEMBERSHIP_ROLES } from '../../domain/groups.ts';
import type { UserReference } from '../../domain/token.ts';
import type { Connection } from './connection.ts';
import { type Layout, TABLES } from './tables.ts';

const CONTROLLER = { organization: sql`main_organization`, team: sql`main_team` };

const GROUPS: Readonly<Record<Layout, Readonly<Record<GroupKind, Sql>>>> = {
  controller: CONTROLLER,
  service: CONTROLLER,
  gateway: { organization: sql`aap_gateway_api_organization`, team: sql`aap_gateway_api_team` },
};

/** The tables of roles, and the users whose role makes them members or administrators. */
interface Roles {
  readonly tables: readonly string[];
  /** Whether a database of this layout may lack these tables. It then has none of these roles. */
  readonly isOptional?: true;
  readonly users: (kind: GroupKind, id: number) => Sql;
}

/** Controller roles: each organization and team refers to its own. */
const OBJECT_ROLES: Roles = {
  tables: ['main_rbac_roles_members'],
  users: (kind, id) => sql`SELECT m.user_id FROM ${CONTROLLER[kind]} g
    JOIN main_rbac_roles_members m ON m.role_id IN (g.admin_role_id, g.member_role_id) WHERE g.id = ${id}`,
};

/** Defined roles: all of a gateway's, and those of newer controllers granted at `role_user_assignments`. */
const ASSIGNMENTS: Roles = {
  tables: ['dab_rbac_roleuserassignment', 'dab_rbac_roledefinition'],
  users: (kind, id) => sql`SELECT a.user_id FROM dab_rbac_roleuserassignment a
    JOIN dab_rbac_roledefinition d ON d.id = a.role_definition_id
    WHERE a.object_id = ${String(id)} AND d.managed AND d.name = ANY(${MEMBERSHIP_ROLES[kind]}::text[])`,
};

const SERVICE_ROLES: Readonly<Record<GroupKind, Roles>> = {
  organization: {
    tables: ['service_role'],
    users: (_, id) =>
      sql`SELECT r.user_id FROM service_role r WHERE r.organization_id = ${id} AND r.role IN ('admin', 'member')`,
  },
  team: {
    tables: ['service_team_role'],
    users: (_, id) =>
      sql`SELECT r.user_id FROM service_team_role r WHERE r.team_id = ${id} AND r.role IN ('admin', 'member')`,
  },
};

function rolesOf(layout: Layout, kind: GroupKind): readonly Roles[] {
  if (layout === 'service') return [SERVICE_ROLES[kind]];
  return layout === 'gateway' ? [ASSIGNMENTS] : [OBJECT_ROLES, { ...ASSIGNMENTS, isOptional: true }];
}

/** All organizations or teams, ascending by id. */
export async function listGroups(connection: Connection, kind: GroupKind): Promise<readonly Group[]> {
  const { organization, team } = GROUPS[connection.layout];
  const tables = kind === 'team' ? [organization.text, team.text] : [organization.text];
  await requireReadable(connection, kind, tables);
  const rows =
    kind === 'organization'
      ? sql`SELECT g.id, g.name, NULL::text AS organization FROM ${organization} g ORDER BY g.id`
      : sql`SELECT g.id, g.name, o.name AS organization FROM ${team} g
          JOIN ${organization} o ON o.id = g.organization_id ORDER BY g.id`;
  const found = await reading(kind, connection, () => rows.rows<Omit<Group, 'kind'>>(connection.reader));
  return found.map((row) => ({ kind, ...row }));
}

/** The members and administrators of an organization or team through their own roles, ascending by id. */
export async function readUsersOfGroup(
  connection: Connection,
  { kind, id }: Pick<Group, 'kind' | 'id'>,
): Promise<readonly UserReference[]> {
  const { layout } = connection;
  const roles: Roles[] = [];
  for (const each of rolesOf(layout, kind)) {
    const isThere = await requireReadable(connection, kind, each.tables, each.isOptional);
    if (isThere) roles.push(each);
  }
  const holders = joined(
    roles.map((each) => each.users(kind, id)),
    ' UNION ALL ',
  );
  return await reading(kind, connection, () =>
    sql`SELECT u.id, u.username FROM ${TABLES[layout].users} u WHERE u.id IN (${holders})
      ORDER BY u.id`.rows<UserReference>(connection.reader),
  );
}

/** Refuses missing tables and hidden rows: a missed member would keep tokens. False if all may be missing and are. */
async function requireReadable(
  connection: Connection,
  kind: GroupKind,
  tables: readonly string[],
  mayBeAbsent = false,
): Promise<boolean> {
  const rows = await sql`SELECT w.name, to_regclass(w.name) IS NULL AS absent,
      coalesce(row_security_active(to_regclass(w.name)), false) AS filtered
    FROM unnest(${tables}::text[]) AS w(name)`.rows<{ name: string; absent: boolean; filtered: boolean }>(
    connection.reader,
  );
  const absent = rows.filter((row) => row.absent).map(({ name }) => name);
  if (mayBeAbsent && absent.length === tables.length) return false;
  if (absent.length > 0) {
    throw new TokenctlError(
      'unsupported',
      `${connection.address} does not show who belongs to which ${kind}: it has no table ${absent.join(', ')}`,
      { hint: 'Select by other criteria, or use the REST API.' },
    );
  }
  const filtered = rows.filter((row) => row.filtered).map(({ name }) => name);
  if (filtered.length === 0) return true;
  throw notReadable(kind, connection, `row-level security hides rows of ${filtered.join(', ')} from it`);
}

async function reading<Of>(kind: GroupKind, connection: Connection, read: () => Promise<Of>): Promise<Of> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof TokenctlError) || error.code !== 'permission_refused') throw error;
    throw notReadable(kind, connection, 'it lacks rights', error);
  }
}

function notReadable(kind: GroupKind, { address }: Connection, why: string, cause?: unknown): TokenctlError {
  return new TokenctlError(
    'permission_refused',
    `This role is not allowed to read who belongs to which ${kind} in ${address}: ${why}`,
    {
      hint: 'Grant the permission as described in docs/database.md ("Reading organizations and teams").',
      cause,
    },
  );
}
