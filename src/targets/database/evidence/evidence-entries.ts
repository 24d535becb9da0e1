import { identifier, literal, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { StreamEntry } from '../../../domain/investigation/deed.ts';
import { isKnownKind } from '../../../domain/investigation/kinds.ts';
import type { Connection } from '../connection.ts';
import type { RecognizedLayout } from '../layout.ts';
import { type ArraysOf, type ColumnSql, dateOf, mapRows, milliseconds, readColumns } from '../queries.ts';
import { ROLE_LINK, STORES } from './evidence-tables.ts';
import { hasServiceRoles, readRoleLinks } from './service-roles.ts';

/** A row of the activity stream. The time is in milliseconds. */
interface EntryRow {
  readonly id: number;
  readonly at: number;
  readonly operation: string;
  readonly object1: string;
  readonly object2: string;
  readonly relationship: string;
  readonly changes: string | null;
  readonly setting: string | null;
  readonly category: string | null;
  readonly actor_id: number | null;
  readonly actor: string | null;
  readonly deleted_id: number | null;
  readonly deleted: string | null;
}

/** SQL for JSON of the activity stream. Its columns are text up to controller 22.3, and may then be empty. */
export function activityJson({ hasTextActivity }: RecognizedLayout, column: Sql): Sql {
  return hasTextActivity ? sql`NULLIF(${column}, '')::jsonb` : column;
}

function entryColumns(recognized: RecognizedLayout): ColumnSql<EntryRow> {
  const setting = activityJson(recognized, sql`s.setting`);
  const deletedActor = activityJson(recognized, sql`s.deleted_actor`);
  return {
    id: sql`s.id`,
    at: milliseconds(sql`s.timestamp`),
    operation: sql`s.operation`,
    object1: sql`s.object1`,
    object2: sql`s.object2`,
    relationship: sql`s.object_relationship_type`,
    changes: sql`s.changes`,
    setting: sql`${setting}->>'name'`,
    category: sql`${setting}->>'category'`,
    actor_id: sql`s.actor_id`,
    actor: sql`u.username`,
    deleted_id: sql`(${deletedActor}->>'id')::bigint`,
    deleted: sql`${deletedActor}->>'username'`,
  };
}

/** A row of a link table: an entry and one of its objects. */
interface LinkRow {
  readonly entry: number;
  readonly object: number;
}

type Links = StreamEntry['links'];

/** An entry whose links have not been read yet. */
type UnlinkedEntry = Omit<StreamEntry, 'links'> & { links: Links };

const NO_LINKS: Links = new Map();

/** A condition on the entry `s`, and the tables of the database. */
interface EntryQuery {
  readonly where: Sql;
  readonly present: ReadonlySet<string>;
}

const STREAM = sql`FROM main_activitystream s LEFT JOIN auth_user u ON u.id = s.actor_id`;

/** Reads entries with their linked objects, ascending by id: the first ones if there are more than the limit. */
export async function readEntries(
  connection: Connection,
  { limit, newestFirst = false, ...query }: EntryQuery & { limit?: number; newestFirst?: boolean },
): Promise<readonly StreamEntry[]> {
  const direction = newestFirst ? sql` DESC` : sql``;
  const most = limit === undefined ? sql`` : sql` LIMIT ${literal(limit)}`;
  const rows = await readColumns(
    connection.reader,
    entryColumns(connection.recognized),
    sql`${STREAM} WHERE ${query.where} ORDER BY s.id${direction}${most}`,
  );
  return await withLinks(connection, { entries: mapRows(rows, entryOf), present: query.present });
}

/** The maximum number of entries in a page: finding them costs much more than reading them. */
const PAGE_ENTRIES = 20_000;
/** The maximum number of bytes of changes in a page, apart from its last entry. */
const PAGE_BYTES = 8 * 1024 ** 2;

/**
 * Like {@link readEntries}, in pages. While the caller processes one, the links of the next and the rows of
 * the one after that are read.
 * @param queryAfter Selects entries with a greater id.
 */
export async function* readEntryPages(
  connection: Connection,
  after: number,
  queryAfter: (after: number) => EntryQuery,
): AsyncGenerator<readonly StreamEntry[], void> {
  const read = (id: number) => noticed(readStoredPage(connection, queryAfter(id)));
  const begin = ({ rows, present, next }: Awaited<ReturnType<typeof readStoredPage>>) => ({
    // Requested first, because processing the entries takes a while.
    following: next === null ? null : read(next),
    entries: noticed(withLinks(connection, { entries: mapRows(rows, entryOf), present })),
  });
  let begun = read(after).then(begin);
  for (;;) {
    const { entries, following } = await begun;
    const page = await entries;
    if (following === null) return yield page;
    begun = noticed(following.then(begin));
    yield page;
  }
}

/** A promise that is awaited later. Until then, its failure is not an unhandled rejection. */
function noticed<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** A page of entries without their links. `next` is the last id if more pages may follow. */
async function readStoredPage(connection: Connection, { where, present }: EntryQuery) {
  const columns: ColumnSql<EntryRow & { readonly bytes: number | null }> = {
    ...entryColumns(connection.recognized),
    bytes: sql`s.bytes`,
  };
  const page = sql`SELECT s.*, sum(octet_length(s.changes)) OVER (ORDER BY s.id) AS bytes FROM (
      SELECT s.* FROM main_activitystream s WHERE ${where} ORDER BY s.id LIMIT ${literal(PAGE_ENTRIES)}) s`;
  const rows = await readColumns(
    connection.reader,
    columns,
    sql`FROM (${page}) s LEFT JOIN auth_user u ON u.id = s.actor_id
        WHERE s.bytes IS NULL OR s.bytes - octet_length(s.changes) < ${literal(PAGE_BYTES)} ORDER BY s.id`,
  );
  const ids = rows.id ?? [];
  const isLast = ids.length < PAGE_ENTRIES && (rows.bytes?.at(-1) ?? 0) < PAGE_BYTES;
  return { rows, present, next: isLast ? null : (ids.at(-1) ?? null) };
}

async function withLinks(
  connection: Connection,
  { entries, present }: { entries: readonly UnlinkedEntry[]; present: ReadonlySet<string> },
): Promise<readonly StreamEntry[]> {
  const links = new Map<number, Links>();
  const read = [...entriesByKind(entries)].map(async ([kind, ids]) => {
    const { rows, names } = await readLinks(connection, { kind, ids, present });
    addLinks(links, { kind, rows, names });
  });
  await Promise.all(read);
  for (const entry of entries) entry.links = links.get(entry.id) ?? NO_LINKS;
  return entries;
}

/** Updates and links name their objects only in link tables; other entries name them directly. */
function entriesByKind(entries: readonly UnlinkedEntry[]): ReadonlyMap<string, readonly number[]> {
  const byKind = new Map<string, number[]>();
  for (const { id, operation, object1, object2 } of entries) {
    if (operation === 'create' || operation === 'delete') continue;
    for (const kind of operation === 'update' ? [object1] : new Set([object1, object2, 'role'])) {
      const ids = byKind.get(kind);
      if (ids === undefined) byKind.set(kind, [id]);
      else ids.push(id);
    }
  }
  return byKind;
}

/** The links of entries to objects of one kind, and the objects' current names. */
interface LinksOfKind {
  readonly rows: ArraysOf<LinkRow>;
  readonly names: ReadonlyMap<number, string | null>;
}

async function readLinks(
  connection: Connection,
  of: { readonly kind: string; readonly ids: readonly number[]; readonly present: ReadonlySet<string> },
): Promise<LinksOfKind> {
  const { kind, ids, present } = of;
  const found = isKnownKind(kind) ? STORES[kind] : undefined;
  const [table, column] = kind === 'role' ? ROLE_LINK : (found?.link ?? [null, null]);
  const names = new Map<number, string | null>();
  if (kind === 'role' && hasServiceRoles(present))
    return { rows: await readRoleLinks(connection, ids), names };
  if (table === null || !present.has(table)) return { rows: { entry: null, object: null }, names };
  const rows = await readColumns<LinkRow>(
    connection.reader,
    { entry: sql`l.activitystream_id`, object: identifier(`l.${column}`) },
    // Joined to the list, the table is read by its unique index only. With ANY, PostgreSQL 15 also reads the rows.
    sql`FROM unnest(${ids}::bigint[]) AS e(id) JOIN ${identifier(table)} l ON l.activitystream_id = e.id`,
  );
  const objects = [...new Set(rows.object)];
  if (found === undefined || objects.length === 0) return { rows, names };
  // The bundled service also links entries to job templates and projects, which it stores in its own tables.
  const source = found.parent ?? found.table;
  if (!present.has(source)) return { rows, names };
  const named = await sql`SELECT t.id, ${identifier(`t.${found.name}`)} AS name FROM ${identifier(source)} t
      WHERE t.id = ANY(${objects}::bigint[])`.rows<{ id: number; name: string | null }>(connection.reader);
  for (const { id, name } of named) names.set(id, name);
  return { rows, names };
}

/** Most entries have one linked object: all entries about it share its map. Objects are ordered by id. */
function addLinks(links: Map<number, Links>, { kind, rows, names }: LinksOfKind & { kind: string }) {
  const alone = new Map<number, Links>();
  mapRows(rows, ({ entry, object }) => {
    let added = alone.get(object);
    if (added === undefined) {
      added = new Map([[kind, [{ id: object, name: names.get(object) ?? null }]]]);
      alone.set(object, added);
    }
    const known = links.get(entry);
    if (known === undefined) links.set(entry, added);
    else {
      const ofKind = [...(known.get(kind) ?? []), ...(added.get(kind) ?? [])];
      links.set(entry, new Map([...known, [kind, ofKind.sort((a, b) => a.id - b.id)]]));
    }
  });
}

function entryOf(row: Readonly<EntryRow>): UnlinkedEntry {
  const username = row.actor ?? row.deleted;
  return {
    id: row.id,
    at: dateOf(row.at),
    operation: row.operation,
    actor: username === null ? null : { id: row.actor_id ?? row.deleted_id, username },
    object1: row.object1,
    object2: row.object2,
    relationship: row.relationship,
    changes: changesOf(row.changes),
    setting: row.setting,
    settingCategory: row.category,
    links: NO_LINKS,
  };
}

function changesOf(text: string | null): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {};
  } catch {
    return {};
  }
}
