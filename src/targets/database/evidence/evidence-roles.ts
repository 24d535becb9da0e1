import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { AssignedRole } from '../../../domain/investigation/investigation.ts';
import { definedRoleField, kindOfModel, modelOf } from '../../../domain/investigation/kinds.ts';
import type {
  AssignedRoles,
  Evidence,
  RoleAssignment,
  RoleHolder,
  RoleRecord,
} from '../../../operations/ports/evidence.ts';
import type { Connection } from '../connection.ts';
import { dateOf, milliseconds } from '../queries.ts';
import { actorOf, listedOf, MAKING, type MakingRow, madeOrChanged, makersOf } from './evidence-lists.ts';

/** A row of the new role tables. Times are in milliseconds. */
interface AssignmentRow {
  readonly id: number;
  readonly at: number;
  readonly by_id: number | null;
  readonly by_name: string | null;
  readonly definition: number;
  readonly name: string;
  readonly managed: boolean;
  readonly holder: number;
  readonly holder_name: string | null;
  readonly model: string | null;
  readonly about: number | null;
}

interface DefinitionRow extends MakingRow {
  readonly id: number;
  readonly name: string;
}

/** The tables of role holders. */
interface HolderTables {
  readonly users: Sql;
  readonly teams: Sql;
}

const CONTROLLER: HolderTables = { users: sql`auth_user`, teams: sql`main_team` };

type Made = Parameters<Evidence['assignedRoles']>[0];

function assignmentsSql(
  kind: RoleAssignment['kind'],
  { users, teams }: HolderTables,
  { by, since, until }: Made,
): Sql {
  const { table, column, name } = HOLDERS[kind];
  const from = kind === 'role_user_assignment' ? users : teams;
  return sql`SELECT a.id, ${milliseconds(sql`a.created`)} AS at, a.created_by_id AS by_id, u.username AS by_name,
      d.id AS definition, d.name, d.managed, a.${column} AS holder, h.${name} AS holder_name,
      c.model, CASE WHEN a.object_id ~ '^[0-9]{1,15}$' THEN a.object_id::bigint END AS about
    FROM ${table} a JOIN dab_rbac_roledefinition d ON d.id = a.role_definition_id
      LEFT JOIN ${users} u ON u.id = a.created_by_id LEFT JOIN ${from} h ON h.id = a.${column}
      LEFT JOIN django_content_type c ON c.id = a.content_type_id
    WHERE a.created_by_id = ANY(${by}::bigint[]) AND a.created >= ${since} AND a.created < ${until}
    ORDER BY a.id`;
}

const HOLDERS = {
  role_user_assignment: {
    table: sql`dab_rbac_roleuserassignment`,
    column: sql`user_id`,
    name: sql`username`,
  },
  role_team_assignment: { table: sql`dab_rbac_roleteamassignment`, column: sql`team_id`, name: sql`name` },
} as const;

function definitionsSql({ users }: HolderTables, asked: Made): Sql {
  const { made, changed } = madeOrChanged(asked);
  return sql`SELECT t.id, t.name, ${MAKING} FROM dab_rbac_roledefinition t ${makersOf(users)}
    WHERE NOT t.managed AND ((${made}) OR (${changed})) ORDER BY t.id`;
}

function unattributedSql({ since, until }: Made): Sql {
  const made = sql`a.created_by_id IS NULL AND a.created >= ${since} AND a.created < ${until}`;
  return sql`SELECT (SELECT count(*) FROM dab_rbac_roleuserassignment a WHERE ${made})
    + (SELECT count(*) FROM dab_rbac_roleteamassignment a WHERE ${made}) AS count`;
}

/** Reads the role assignments of a period from the new role tables of a controller 24.6.1 or a gateway. */
export async function readAssignedRoles(
  connection: Connection,
  made: Made,
  tables: HolderTables = CONTROLLER,
): Promise<AssignedRoles> {
  const { reader } = connection;
  const assignments: RoleAssignment[] = [];
  for (const kind of ['role_user_assignment', 'role_team_assignment'] as const) {
    const rows = await assignmentsSql(kind, tables, made).rows<AssignmentRow>(reader);
    assignments.push(...rows.map((row) => assignmentOf(kind, row)));
  }
  const definitions = await definitionsSql(tables, made).rows<DefinitionRow>(reader);
  const missing = await unattributedSql(made).first<{ count: number }>(reader);
  return { assignments, definitions: definitions.map(listedOf), unattributed: Number(missing?.count ?? 0) };
}

function assignmentOf(kind: RoleAssignment['kind'], row: AssignmentRow): RoleAssignment {
  const { id, at, definition, name, managed, holder, holder_name: holderName, model, about } = row;
  return {
    kind,
    id,
    at: dateOf(at),
    by: actorOf(row.by_id, row.by_name),
    definition: { id: definition, name, managed },
    holder: { kind: kind === 'role_user_assignment' ? 'user' : 'team', id: holder, name: holderName },
    about: model === null || about === null ? null : { kind: kindOfModel(model), id: about, name: null },
  };
}

/** Whether a user or team has a role in the new role tables. */
export async function hasAssignedRole(
  connection: Connection,
  { definition, holder, about }: AssignedRole,
): Promise<boolean> {
  const { table, column } = HOLDERS[`role_${holder.kind}_assignment`];
  const objectId = about === null ? null : String(about);
  return await sql`SELECT FROM ${table} a WHERE a.role_definition_id = ${definition}
      AND a.${column} = ${holder.id} AND a.object_id IS NOT DISTINCT FROM ${objectId}::text
    LIMIT 1`.exists(connection.reader);
}

interface RoleRow {
  readonly id: number;
  readonly field: string | null;
  readonly model: string | null;
  readonly object: number | null;
}

/** Reads roles of the old tables. */
export async function readRoles(
  connection: Connection,
  ids: readonly number[],
): Promise<ReadonlyMap<number, RoleRecord>> {
  const rows = await sql`SELECT r.id, coalesce(nullif(r.role_field, ''), r.singleton_name) AS field, c.model,
         r.object_id AS object
       FROM main_rbac_roles r LEFT JOIN django_content_type c ON c.id = r.content_type_id
       WHERE r.id = ANY(${ids}::bigint[])`.rows<RoleRow>(connection.reader);
  return new Map(
    rows.map(({ id, field, model, object }) => {
      const about =
        model === null || object === null ? null : { kind: kindOfModel(model), id: object, name: null };
      return [id, { id, field, about }];
    }),
  );
}

/** Users hold roles directly, teams through their member role. The role is a parent of other objects' roles. */
function heldSql(role: number, { kind, id }: { kind: string; id: number }): Sql {
  if (kind === 'user')
    return sql`SELECT FROM main_rbac_roles_members m WHERE m.role_id = ${role}::bigint AND m.user_id = ${id}::bigint`;
  if (kind !== 'team')
    return sql`SELECT FROM main_rbac_roles_parents p JOIN main_rbac_roles r ON r.id = p.from_role_id
        JOIN django_content_type c ON c.id = r.content_type_id
      WHERE p.to_role_id = ${role}::bigint AND c.model = ${modelOf(kind)} AND r.object_id = ${id}::bigint`;
  return sql`SELECT FROM main_rbac_roles_parents p JOIN main_team t ON t.member_role_id = p.to_role_id
    WHERE p.from_role_id = ${role}::bigint AND t.id = ${id}::bigint`;
}

/** Whether a user or team directly has a role of the old tables; for another object, whether the role gives one. */
export async function holdsRole(
  connection: Connection,
  role: number,
  holder: { readonly kind: string; readonly id: number },
): Promise<boolean> {
  return await sql`${heldSql(role, holder)} LIMIT 1`.exists(connection.reader);
}

type Held = Parameters<Evidence['roleHolders']>[0];

/** The holders of an object's roles in the old tables. Team members have a role through the team's member role. */
function olderHoldersSql({ kind, id }: Held): Sql {
  return sql`SELECT u.username AS holder, r.role_field AS role, true AS managed FROM main_rbac_roles r
      JOIN django_content_type c ON c.id = r.content_type_id
      JOIN (SELECT m.role_id, m.user_id FROM main_rbac_roles_members m UNION
        SELECT p.from_role_id, m.user_id FROM main_rbac_roles_parents p
          JOIN main_team t ON t.member_role_id = p.to_role_id
          JOIN main_rbac_roles_members m ON m.role_id IN (t.member_role_id, t.admin_role_id)) h ON h.role_id = r.id
      JOIN auth_user u ON u.id = h.user_id
    WHERE c.model = ${modelOf(kind)} AND r.object_id = ${id}::bigint`;
}

/** The same for the new tables. */
function newerHoldersSql({ users }: HolderTables, { kind, id }: Held): Sql {
  return sql`SELECT u.username AS holder, d.name AS role, d.managed
    FROM (SELECT a.user_id, a.role_definition_id, a.content_type_id, a.object_id FROM dab_rbac_roleuserassignment a UNION
      SELECT m.user_id, a.role_definition_id, a.content_type_id, a.object_id FROM dab_rbac_roleteamassignment a
        JOIN dab_rbac_roleuserassignment m ON m.object_id = a.team_id::text
        JOIN django_content_type t ON t.id = m.content_type_id AND t.model = 'team') h
      JOIN dab_rbac_roledefinition d ON d.id = h.role_definition_id JOIN ${users} u ON u.id = h.user_id
      JOIN django_content_type c ON c.id = h.content_type_id
    WHERE c.model = ${modelOf(kind)} AND h.object_id = ${String(id)}`;
}

/** Reads the holders of an object's roles from the existing role tables. */
export async function readRoleHolders(
  connection: Connection,
  held: Held,
  { older, newer, tables = CONTROLLER }: { older: boolean; newer: boolean; tables?: HolderTables },
): Promise<readonly RoleHolder[]> {
  const asked = [
    ...(older ? [olderHoldersSql(held)] : []),
    ...(newer ? [newerHoldersSql(tables, held)] : []),
  ];
  const rows: { readonly holder: string; readonly role: string; readonly managed: boolean }[] = [];
  for (const each of asked) rows.push(...(await each.rows<(typeof rows)[number]>(connection.reader)));
  // Names in the new tables have spaces.
  return rows.map(({ holder, role, managed }) => ({
    holder,
    role: managed && role.includes(' ') ? definedRoleField(role) : role,
  }));
}
