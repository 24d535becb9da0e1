import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sqlState } from '@tokenctl/common/db/postgres.ts';
import { identifier, joined, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { TokenctlError } from '@tokenctl/common/errors.ts';
import type { CleaningAct, CleaningObject } from '../../../domain/investigation/cleaning.ts';
import { refusedAct } from '../../../domain/investigation/cleaning.ts';
import { DATABASE_FIELDS } from '../../../domain/investigation/cleaning-in-database.ts';
import { isKnownKind } from '../../../domain/investigation/kinds.ts';
import { isMasked, isReference } from '../../../domain/investigation/recorded-values.ts';
import type { Cleaner, CleaningValues } from '../../../operations/ports/evidence.ts';
import { databaseError, openConnection } from '../connection.ts';
import { ENTRIES, linkOf, record, recordRemoval } from './cleaning-entries.ts';
import { ROLE_TABLES, ROLE_TABLES_READ, removeRole } from './cleaning-roles.ts';
import type { DatabaseEvidenceOptions } from './evidence.ts';
import { LINK_TABLES, ROLE_LINK, SERVICE_ROLES, STORES } from './evidence-tables.ts';
import { removeServiceRole, SERVICE_GRANTS } from './service-roles.ts';

/** Hosts, groups, inventories and others have unique names. */
const UNIQUE_VIOLATION = '23505';
const STATEMENT_TIMEOUT_MS = 60_000;
/** How long a cleanup item waits for locked rows, in milliseconds. */
const LOCK_TIMEOUT_MS = 15_000;

/**
 * Opens the database of a controller 24.6.1 for a cleanup. It writes what the controller itself writes,
 * including the activity stream entries, but without an actor. Each act is one transaction, which changes
 * nothing if the object is not as it was read.
 * @throws TokenctlError as opening a target does.
 */
export async function openDatabaseCleaner(
  options: DatabaseEvidenceOptions,
): Promise<Cleaner & { close(): Promise<void> }> {
  const { connection: url, environment, interruption } = options;
  const connection = await openConnection({
    url,
    environment,
    interruption,
    connections: 1,
    applicationName: 'tokenctl cleaning',
    statementTimeout: STATEMENT_TIMEOUT_MS,
    lockTimeout: LOCK_TIMEOUT_MS,
  });
  const { database, address } = connection;
  try {
    const { isServiceDatabase: isService } = connection.recognized;
    const refused = { ...(await refusedTables(database)), isService };
    return {
      refusal: (act) => refusalOf(act, refused),
      apply: (act, values) =>
        connection.write('read', (transaction) =>
          apply(transaction, { act, values, address, isService }).catch((error: unknown) => {
            throw sqlState(error) === UNIQUE_VIOLATION ? nameTaken(error) : error;
          }),
        ),
      close: () => database.close(),
    };
  } catch (error) {
    await database.close();
    throw databaseError(error, address);
  }
}

const TEMPLATES = 'main_unifiedjobtemplate';

/** A privilege on a table, such as `UPDATE main_host`. */
type Right = `${'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE'} ${string}`;

/** The rights that an act needs in addition to those of an investigation. */
function rightsOf(act: CleaningAct, isService: boolean): Right[] {
  const update = (kind: string): Right[] => {
    const tables = isKnownKind(kind)
      ? [STORES[kind]?.table ?? kind, STORES[kind]?.parent ?? []].flat()
      : [kind];
    const also = kind === 'schedule' ? [TEMPLATES] : [];
    return [...[...tables, ...also].map((table): Right => `UPDATE ${table}`), ...entry(kind)];
  };
  const entry = (...kinds: string[]): Right[] => [
    `INSERT ${ENTRIES}`,
    ...kinds.flatMap((kind) => linkOf(kind).map(([table]): Right => `INSERT ${table}`)),
  ];
  switch (act.act) {
    case 'disable':
    case 'enable':
    case 'rename':
      return update(act.object.kind);
    case 'restore':
      if (act.object.kind === 'setting')
        return [act.isDefault ? 'DELETE conf_setting' : 'UPDATE conf_setting', ...entry()];
      return update(act.object.kind);
    case 'disassociate': {
      if (act.link !== 'role') {
        const [table = act.link] = LINK_TABLES[act.link] ?? [];
        return [`DELETE ${table}`, ...entry(act.object.kind, act.other.kind)];
      }
      if (isService)
        return [
          ...SERVICE_GRANTS.map((table): Right => `DELETE ${table}`),
          ...SERVICE_ROLES.map((table): Right => `SELECT ${table}`),
          ...entry('user'),
        ];
      return [
        ...ROLE_TABLES.map((table): Right => `DELETE ${table}`),
        ...[...ROLE_TABLES, ...ROLE_TABLES_READ].map((table): Right => `SELECT ${table}`),
        ...entry('role', 'user'),
      ];
    }
    default:
      return [];
  }
}

/** What prevents a database role from acting: missing tables, and grants by right. */
interface RefusedTables {
  readonly missing: ReadonlySet<string>;
  readonly rights: ReadonlySet<string>;
  readonly role: string;
  readonly isService: boolean;
}

interface RefusedRow {
  readonly name: string;
  readonly privilege: string | null;
  readonly role: string;
}

async function refusedTables(database: Queryable): Promise<Omit<RefusedTables, 'isService'>> {
  const tables = [
    ...[ENTRIES, ...ROLE_TABLES, ...ROLE_TABLES_READ, ...SERVICE_ROLES, TEMPLATES, ROLE_LINK[0]],
    ...['conf_setting', ...Object.values(LINK_TABLES).map(([table]) => table)],
    ...Object.values(STORES).flatMap(({ table, link }) => [table, link[0]]),
  ];
  const rows = await sql`SELECT w.name, p.privilege, quote_ident(current_user) AS role
     FROM unnest(${[...new Set(tables)]}::text[]) AS w(name)
       LEFT JOIN unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS p(privilege) ON to_regclass(w.name) IS NOT NULL
     WHERE p.privilege IS NULL
       OR NOT has_table_privilege(to_regclass(w.name), p.privilege)`.rows<RefusedRow>(database);
  return {
    missing: new Set(rows.filter(({ privilege }) => privilege === null).map(({ name }) => name)),
    rights: new Set(rows.map(({ name, privilege }) => `${privilege} ${name}`)),
    role: rows[0]?.role ?? 'CURRENT_USER',
  };
}

function refusalOf(act: CleaningAct, { missing, rights, role, isService }: RefusedTables): string | null {
  const needed = rightsOf(act, isService).map(
    (right) => right.split(' ') as [privilege: string, table: string],
  );
  const absent = needed.find(([, table]) => missing.has(table));
  if (absent !== undefined) return `The database has no table ${absent[1]}.`;
  const lacking = needed.filter(([privilege, table]) => rights.has(`${privilege} ${table}`));
  if (lacking.length === 0) return null;
  const grants = [...Map.groupBy(lacking, ([, table]) => table)].map(
    ([table, each]) => `GRANT ${each.map(([privilege]) => privilege).join(', ')} ON ${table} TO ${role};`,
  );
  return `This database role lacks permissions: ${grants.join(' ')}`;
}

interface Work {
  readonly act: CleaningAct;
  readonly values: CleaningValues;
  readonly address: string;
  readonly isService: boolean;
}

async function apply(transaction: Queryable, work: Work): Promise<'done' | 'unchanged'> {
  const { act } = work;
  switch (act.act) {
    case 'disable':
      return await disable(transaction, act);
    case 'enable':
      return await enableHost(transaction, act);
    case 'rename':
      return await rename(transaction, act);
    case 'restore':
      if (act.object.kind !== 'setting') return await restoreFields(transaction, act, work);
      return await (act.isDefault ? resetSetting(transaction, act, work) : restoreSetting(transaction, work));
    case 'disassociate':
      if (act.link !== 'role') return await removeLink(transaction, act, work);
      if (!work.isService) return await removeRole(transaction, { ...act, entry: work.values.entry });
      return await removeServiceRole(transaction, {
        ...{ roleId: act.object.id, userId: act.other.id, entry: work.values.entry },
      });
    default:
      throw refusedAct('only the REST API can do it', 'rest_only');
  }
}

type Act<Name extends CleaningAct['act']> = Extract<CleaningAct, { readonly act: Name }>;

async function disable(
  transaction: Queryable,
  { object, field }: Act<'disable'>,
): Promise<'done' | 'unchanged'> {
  const { kind, id } = object;
  if (kind === 'schedule') {
    const schedule = await sql`UPDATE main_schedule SET enabled = false, next_run = NULL, modified = now()
      WHERE id = ${id} AND enabled
      RETURNING unified_job_template_id AS template`.first<{ template: number }>(transaction);
    if (schedule === null) return 'unchanged';
    // As the controller does: the template shows the latest of the remaining next runs.
    const { template } = schedule;
    await sql`UPDATE main_unifiedjobtemplate t SET next_schedule_id = s.id, next_job_run = s.next_run
      FROM (SELECT id, next_run FROM main_schedule WHERE unified_job_template_id = ${template} AND enabled
            AND next_run IS NOT NULL ORDER BY next_run DESC LIMIT 1) s
      WHERE t.id = ${template}`.execute(transaction);
  } else if (!(await setHostEnabled(transaction, id, false))) return 'unchanged';
  await recordUpdate(transaction, object, { [field]: [true, false] });
  return 'done';
}

/** Records a change of fields of an object. */
function recordUpdate(
  transaction: Queryable,
  object: CleaningObject,
  changes: Readonly<Record<string, unknown>>,
): Promise<void> {
  return record(transaction, { operation: 'update', object1: object.kind, changes, links: [object] });
}

function setHostEnabled(transaction: Queryable, id: number | null, enabled: boolean): Promise<boolean> {
  const [to, from] = enabled ? [sql`true`, sql`NOT enabled`] : [sql`false`, sql`enabled`];
  return sql`UPDATE main_host SET enabled = ${to}, modified = now()
    WHERE id = ${id} AND ${from} RETURNING id`.exists(transaction);
}

async function enableHost(transaction: Queryable, { object }: Act<'enable'>): Promise<'done' | 'unchanged'> {
  if (!(await setHostEnabled(transaction, object.id, true))) return 'unchanged';
  await recordUpdate(transaction, object, { enabled: [false, true] });
  return 'done';
}

function columnOf(field: string): string {
  return isReference(field) ? `${field}_id` : field;
}

/** The columns of fields by table. All names are constants. */
function columnsOf(
  kind: string,
  fields: readonly string[],
): { readonly table: string; readonly key: string; readonly columns: string[] }[] {
  const found = isKnownKind(kind) ? STORES[kind] : undefined;
  if (found === undefined) return [];
  const known = [...(DATABASE_FIELDS[kind] ?? []), 'survey_spec', 'webhook_key'].filter((field) =>
    fields.includes(field),
  );
  const isShared = (field: string) => ['name', 'description', 'execution_environment'].includes(field);
  if (found.parent === undefined) return [{ table: found.table, key: 'id', columns: known.map(columnOf) }];
  return [
    { table: found.parent, key: 'id', columns: known.filter(isShared).map(columnOf) },
    {
      table: found.table,
      key: `${found.parent.replace('main_', '')}_ptr_id`,
      columns: known.filter((field) => !isShared(field)).map(columnOf),
    },
  ];
}

/** Tables without a column for the time of the last change. */
const WITHOUT_MODIFIED: ReadonlySet<string> = new Set([
  'auth_user',
  'main_jobtemplate',
  'main_workflowjobtemplate',
]);

async function restoreFields(
  transaction: Queryable,
  { object, fields, survey }: Act<'restore'>,
  { values: { write, expected, recorded } }: Work,
): Promise<'done' | 'unchanged'> {
  // The controller keeps no key without a webhook.
  const offs = 'webhook_service' in write ? { webhook_key: '' } : {};
  const all = { ...write, ...offs, ...(survey === null ? {} : { survey_spec: {} }) };
  const asColumns = (some: Readonly<Record<string, unknown>>, wanted = Object.keys(some).map(columnOf)) => {
    const named = Object.entries(some).map(([field, value]) => [columnOf(field), value] as const);
    return JSON.stringify(Object.fromEntries(named.filter(([column]) => wanted.includes(column))));
  };
  if (typeof write['name'] === 'string') await requireFree(transaction, object, write['name']);
  const tables = columnsOf(object.kind, Object.keys(all));
  for (const { table, key, columns } of tables) {
    // The parent row of a template has the time of the change.
    const isStamped = !WITHOUT_MODIFIED.has(table);
    if (columns.length === 0 && !isStamped) continue;
    const set = [
      ...columns.map((column) => sql`${identifier(column)} = r.${identifier(column)}`),
      ...(isStamped ? [sql`modified = now()`] : []),
    ];
    const [name, id] = [identifier(table), identifier(`t.${key}`)];
    const isDone = await sql`UPDATE ${name} t SET ${joined(set)}
      FROM jsonb_populate_record(NULL::${name}, ${asColumns(all)}::jsonb) r
      WHERE ${id} = ${object.id} AND NOT EXISTS (
        SELECT FROM jsonb_each(${asColumns(expected, columns)}::jsonb) e WHERE to_jsonb(t)->e.key IS DISTINCT FROM e.value)
      RETURNING ${id}`.exists(transaction);
    if (!isDone) throw changedSince();
  }
  if (fields.length === 0 && survey === null) return 'unchanged';
  const changes = { ...recorded, ...(survey === null ? {} : { survey_spec: ['hidden', '{}'] }) };
  await recordUpdate(transaction, object, changes);
  return 'done';
}

/** Gives an object a temporary name. */
async function rename(
  transaction: Queryable,
  { object, field, name }: Act<'rename'>,
): Promise<'done' | 'unchanged'> {
  for (const { table, key, columns } of columnsOf(object.kind, [field])) {
    if (columns.length === 0) continue;
    const [from, id, column] = [identifier(table), identifier(key), identifier(field)];
    const row = await sql`UPDATE ${from} t SET ${column} = ${name}, modified = now() FROM ${from} o
      WHERE t.${id} = ${object.id} AND o.${id} = t.${id} AND t.${column} <> ${name}
      RETURNING o.${column} AS before`.first<{ before: string }>(transaction);
    if (row === null) return 'unchanged';
    await recordUpdate(transaction, object, { [field]: [row.before, name] });
  }
  return 'done';
}

/** Refuses the name of another template of this kind and organization: the controller has no constraint for it. */
async function requireFree(
  transaction: Queryable,
  { kind, id }: CleaningObject,
  name: string,
): Promise<void> {
  if (!isKnownKind(kind) || STORES[kind]?.parent !== TEMPLATES) return;
  const isTaken = await sql`SELECT FROM main_unifiedjobtemplate t
    JOIN main_unifiedjobtemplate o ON o.polymorphic_ctype_id = t.polymorphic_ctype_id
      AND o.organization_id IS NOT DISTINCT FROM t.organization_id AND o.id <> t.id
    WHERE t.id = ${id} AND o.name = ${name} LIMIT 1`.exists(transaction);
  if (isTaken) throw nameTaken();
}

function nameTaken(cause?: unknown): TokenctlError {
  return refusedAct('another object already has the name', 'name_taken', { cause });
}

function changedSince(): TokenctlError {
  return refusedAct('it was changed or deleted after it was read', 'changed');
}

async function restoreSetting(
  transaction: Queryable,
  { values: { write, expected, recorded } }: Work,
): Promise<'done' | 'unchanged'> {
  for (const [key, value] of Object.entries(write)) {
    const isDone = await sql`UPDATE conf_setting s SET value = ${JSON.stringify(value)}, modified = now()
      WHERE ${isAsRead(key, expected)} RETURNING s.id`.exists(transaction);
    if (!isDone) throw changedSince();
    const last = await sql`SELECT NULLIF(s.setting::text, '')::jsonb AS setting FROM main_activitystream s
      WHERE s.object1 = 'setting' AND NULLIF(s.setting::text, '')::jsonb->>'name' = ${key}
      ORDER BY s.id DESC LIMIT 1`.first<{ setting: unknown }>(transaction);
    const changes = { value: recorded[key] ?? ['hidden', 'hidden'] };
    await record(transaction, {
      operation: 'update',
      object1: 'setting',
      changes,
      links: [],
      setting: last?.setting,
    });
  }
  return 'done';
}

/** The row `s` of a setting, if it still has the value that was read, or if none was read. */
function isAsRead(key: string, expected: CleaningValues['expected']): Sql {
  const before = JSON.stringify(expected[key] ?? null);
  return sql`s.user_id IS NULL AND s.key = ${key}
    AND (${!(key in expected)}::boolean OR s.value::text::jsonb IS NOT DISTINCT FROM ${before}::jsonb)`;
}

/** Deletes a setting's row, as the controller does to reset it. Without a row, it has its default. */
async function resetSetting(
  transaction: Queryable,
  { fields }: Act<'restore'>,
  { values: { expected, recorded } }: Work,
): Promise<'done' | 'unchanged'> {
  let result: 'done' | 'unchanged' = 'unchanged';
  for (const { field: key } of fields) {
    const ids = await sql`DELETE FROM conf_setting s
      WHERE ${isAsRead(key, expected)} RETURNING s.id`.ids(transaction);
    if (ids.length === 0 && key in expected) throw changedSince();
    const value = recorded[key]?.[0];
    for (const id of ids) {
      result = 'done';
      const changes = { value: value === undefined || isMasked(value) ? 'hidden' : value, id };
      await record(transaction, { operation: 'delete', object1: 'setting', changes, links: [] });
    }
  }
  return result;
}

async function removeLink(
  transaction: Queryable,
  { link, object, other }: Act<'disassociate'>,
  { values: { entry } }: Work,
): Promise<'done' | 'unchanged'> {
  const found = LINK_TABLES[link];
  if (found === undefined) throw refusedAct('how this link is stored is not known', 'rest_only');
  const [table, first, second] = found.map(identifier);
  const isDone =
    await sql`DELETE FROM ${table} l WHERE l.${first} = ${object.id} AND l.${second} = ${other.id}
    RETURNING l.${first}`.exists(transaction);
  if (!isDone) return 'unchanged';
  await recordRemoval(transaction, { object, other, like: entry });
  return 'done';
}
