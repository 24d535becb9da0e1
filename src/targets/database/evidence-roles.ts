import type { AssignedRole } from '../../domain/investigation/investigation.ts';
import { kindOfModel } from '../../domain/investigation/kinds.ts';
import type {
  AssignedRoles,
  Evidence,
  RoleAssignment,
  RoleDefinition,
  RoleRecord,
} from '../../operations/ports/evidence.ts';
import type { Connection } from './connection.ts';
import { actorOf, type MakingRow, makingOf } from './evidence-lists.ts';
import { dateOf, milliseconds } from './queries.ts';

/** A row of the newer tables of roles; times in milliseconds. */
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

/** Where the holders of roles are. All values are constants. */
interface HolderTables {
  readonly users: 'auth_user' | 'aap_gateway_api_user';
  readonly teams: 'main_team' | 'aap_gateway_api_team';
}

const CONTROLLER: HolderTables = { users: 'auth_user', teams: 'main_team' };

/** $1 who made them, $2 from, $3 before. */
function assignmentsSql(kind: RoleAssignment['kind'], { users, teams }: HolderTables) {
  const { table, column, name } = HOLDERS[kind];
  const from = column === 'user_id' ? users : teams;
  return `SELECT a.id, ${milliseconds('a.created')} AS at, a.created_by_id AS by_id, u.username AS by_name,
      d.id AS definition, d.name, d.managed, a.${column} AS holder, h.${name} AS holder_name,
      c.model, CASE WHEN a.object_id ~ '^[0-9]{1,15}$' THEN a.object_id::bigint END AS about
    FROM ${table} a JOIN dab_rbac_roledefinition d ON d.id = a.role_definition_id
      LEFT JOIN ${users} u ON u.id = a.created_by_id LEFT JOIN ${from} h ON h.id = a.${column}
      LEFT JOIN django_content_type c ON c.id = a.content_type_id
    WHERE a.created_by_id = ANY($1::bigint[]) AND a.created >= $2 AND a.created < $3 ORDER BY a.id`;
}

const HOLDERS = {
  role_user_assignment: { table: 'dab_rbac_roleuserassignment', column: 'user_id', name: 'username' },
  role_team_assignment: { table: 'dab_rbac_roleteamassignment', column: 'team_id', name: 'name' },
} as const;

const definitionsSql = ({
  users,
}: HolderTables) => `SELECT d.id, d.name, ${milliseconds('d.created')} AS created, ${milliseconds('d.modified')} AS modified,
    d.created_by_id AS created_id, c.username AS created_name, d.modified_by_id AS modified_id, m.username AS modified_name
  FROM dab_rbac_roledefinition d LEFT JOIN ${users} c ON c.id = d.created_by_id LEFT JOIN ${users} m ON m.id = d.modified_by_id
  WHERE NOT d.managed AND ((d.created_by_id = ANY($1::bigint[]) AND d.created >= $2 AND d.created < $3)
    OR (d.modified_by_id = ANY($1::bigint[]) AND d.modified >= $2 AND d.modified < $3)) ORDER BY d.id`;

const UNATTRIBUTED_SQL = `SELECT (SELECT count(*) FROM dab_rbac_roleuserassignment a
      WHERE a.created_by_id IS NULL AND a.created >= $1 AND a.created < $2)
    + (SELECT count(*) FROM dab_rbac_roleteamassignment a
      WHERE a.created_by_id IS NULL AND a.created >= $1 AND a.created < $2) AS count`;

/** Reads what the newer tables of roles of a controller 24.6.1, or of a gateway, have of a period. */
export async function readAssignedRoles(
  connection: Connection,
  { by, since, until }: Parameters<Evidence['assignedRoles']>[0],
  tables: HolderTables = CONTROLLER,
): Promise<AssignedRoles> {
  const select = <Row extends object>(sql: string, values: readonly unknown[]) =>
    connection.read((database) => database.query<Row>(sql, values));
  const assignments: RoleAssignment[] = [];
  for (const kind of ['role_user_assignment', 'role_team_assignment'] as const) {
    const rows = await select<AssignmentRow>(assignmentsSql(kind, tables), [by, since, until]);
    assignments.push(...rows.map((row) => assignmentOf(kind, row)));
  }
  const definitions = await select<DefinitionRow>(definitionsSql(tables), [by, since, until]);
  const [missing] = await select<{ count: number }>(UNATTRIBUTED_SQL, [since, until]);
  return {
    assignments,
    definitions: definitions.map(definitionOf),
    unattributed: Number(missing?.count ?? 0),
  };
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

function definitionOf(row: DefinitionRow): RoleDefinition {
  const { id, name } = row;
  return {
    id,
    name,
    ...makingOf(row),
  };
}

/** Whether a user or team has a role by the newer tables of roles. */
export async function hasAssignedRole(
  connection: Connection,
  { definition, holder, about }: AssignedRole,
): Promise<boolean> {
  const { table, column } = HOLDERS[`role_${holder.kind}_assignment`];
  const [row] = await connection.read((database) =>
    database.query<{ has: boolean }>(
      `SELECT EXISTS (SELECT FROM ${table} a WHERE a.role_definition_id = $1 AND a.${column} = $2
         AND a.object_id IS NOT DISTINCT FROM $3::text) AS has`,
      [definition, holder.id, about === null ? null : String(about)],
    ),
  );
  return row?.has === true;
}

/** Reads roles of the older tables. */
export async function readRoles(
  connection: Connection,
  ids: readonly number[],
): Promise<ReadonlyMap<number, RoleRecord>> {
  const rows = await connection.read((database) =>
    database.query<{ id: number; field: string | null; model: string | null; object: number | null }>(
      `SELECT r.id, coalesce(nullif(r.role_field, ''), r.singleton_name) AS field, c.model, r.object_id AS object
       FROM main_rbac_roles r LEFT JOIN django_content_type c ON c.id = r.content_type_id
       WHERE r.id = ANY($1::bigint[])`,
      [ids],
    ),
  );
  return new Map(
    rows.map(({ id, field, model, object }) => {
      const about =
        model === null || object === null ? null : { kind: kindOfModel(model), id: object, name: null };
      return [id, { id, field, about }];
    }),
  );
}

/** Users hold roles themselves; teams by their member role, a parent of the role. */
const ROLE_HOLDERS: Readonly<Record<string, string>> = {
  user: 'SELECT FROM main_rbac_roles_members m WHERE m.role_id = $1::bigint AND m.user_id = $2::bigint',
  team: `SELECT FROM main_rbac_roles_parents p JOIN main_team t ON t.member_role_id = p.to_role_id
    WHERE p.from_role_id = $1::bigint AND t.id = $2::bigint`,
};

/** Whether a user or team has a role of the older tables by itself; null for any other holder. */
export async function holdsRole(
  connection: Connection,
  role: number,
  holder: { readonly kind: string; readonly id: number },
): Promise<boolean | null> {
  const query = ROLE_HOLDERS[holder.kind];
  if (query === undefined) return null;
  const [row] = await connection.read((database) =>
    database.query<{ has: boolean }>(`SELECT EXISTS (${query}) AS has`, [role, holder.id]),
  );
  return row?.has ?? null;
}
