import type { StreamEntry } from '../../domain/investigation/deed.ts';
import { isKnownKind } from '../../domain/investigation/kinds.ts';
import type { Connection } from './connection.ts';
import { ROLE_LINK, STORES } from './evidence-tables.ts';
import { type ColumnSql, dateOf, milliseconds, PAGE_SIZE, readArrays } from './queries.ts';

/** A row of the activity stream; the time in milliseconds. */
interface EntryRow {
  readonly id: number;
  readonly at: number;
  readonly operation: string;
  readonly object1: string;
  readonly object2: string;
  readonly relationship: string;
  readonly changes: string | null;
  readonly setting: string | null;
  readonly actor_id: number | null;
  readonly actor: string | null;
  readonly deleted_id: number | null;
  readonly deleted: string | null;
}

const ENTRY: ColumnSql<EntryRow> = {
  id: 's.id',
  at: milliseconds('s.timestamp'),
  operation: 's.operation',
  object1: 's.object1',
  object2: 's.object2',
  relationship: 's.object_relationship_type',
  changes: 's.changes',
  setting: "s.setting->>'name'",
  actor_id: 's.actor_id',
  actor: 'u.username',
  deleted_id: "(s.deleted_actor->>'id')::bigint",
  deleted: "s.deleted_actor->>'username'",
};

/** A row of a table of links: an entry, and an object that it is about. */
interface LinkRow {
  readonly entry: number;
  readonly id: number;
  readonly name: string | null;
}

type Links = Map<string, { readonly id: number; readonly name: string | null }[]>;

const NO_LINKS: StreamEntry['links'] = new Map();

/** Which entries: a condition on the entry `s` in constant SQL, its parameters, and the tables that the database has. */
interface EntryQuery {
  readonly where: string;
  readonly values: readonly unknown[];
  readonly present: ReadonlySet<string>;
}

const STREAM = 'FROM main_activitystream s LEFT JOIN auth_user u ON u.id = s.actor_id';

/** Reads entries with the objects that they are linked to, ascending by id: the first ones if there are more than the limit. */
export async function readEntries(
  connection: Connection,
  { limit, ...query }: EntryQuery & { readonly limit?: number },
): Promise<StreamEntry[]> {
  const rows = await connection.read((database) =>
    readArrays(database, {
      columns: ENTRY,
      from: `${STREAM} WHERE ${query.where} ORDER BY s.id${limit === undefined ? '' : ` LIMIT ${limit}`}`,
      values: query.values,
    }),
  );
  return await withLinks(connection, { rows, present: query.present });
}

/** How many entries a page has at most: finding them costs much more than reading them. */
const PAGE_ENTRIES = 4 * PAGE_SIZE;
/** How many bytes of changes a page has at most, and one entry more. */
const PAGE_BYTES = 8 * 1024 ** 2;

/** As {@link readEntries}, a page of them; `next` is the last id of a page that others may follow. */
export async function readEntryPage(
  connection: Connection,
  query: EntryQuery,
): Promise<{ readonly entries: readonly StreamEntry[]; readonly next: number | null }> {
  const bytes = 'sum(octet_length(s.changes)) OVER (ORDER BY s.id)';
  const page = `SELECT s.*, ${bytes} AS bytes FROM (
      SELECT s.* FROM main_activitystream s WHERE ${query.where} ORDER BY s.id LIMIT ${PAGE_ENTRIES}) s`;
  const rows = await connection.read((database) =>
    readArrays<EntryRow & { readonly bytes: number | null }>(database, {
      columns: { ...ENTRY, bytes: 's.bytes' },
      from: `FROM (${page}) s LEFT JOIN auth_user u ON u.id = s.actor_id
        WHERE s.bytes IS NULL OR s.bytes - octet_length(s.changes) < ${PAGE_BYTES} ORDER BY s.id`,
      values: query.values,
    }),
  );
  const last = rows.at(-1);
  const isLast = last === undefined || (rows.length < PAGE_ENTRIES && (last.bytes ?? 0) < PAGE_BYTES);
  return {
    entries: await withLinks(connection, { rows, present: query.present }),
    next: isLast ? null : last.id,
  };
}

async function withLinks(
  connection: Connection,
  { rows, present }: { readonly rows: readonly EntryRow[]; readonly present: ReadonlySet<string> },
): Promise<StreamEntry[]> {
  const links = new Map<number, Links>();
  const read = [...entriesByKind(rows)].map(async ([kind, ids]) => {
    for (const { entry, id, name } of await readLinks(connection, { kind, ids, present })) {
      const ofEntry: Links = links.get(entry) ?? new Map();
      links.set(entry, ofEntry.set(kind, [...(ofEntry.get(kind) ?? []), { id, name }]));
    }
  });
  await Promise.all(read);
  return rows.map((row) => entryOf(row, links.get(row.id) ?? NO_LINKS));
}

/** Updates and links name their objects only in tables of links; other entries name them themselves. */
function entriesByKind(rows: readonly EntryRow[]): ReadonlyMap<string, readonly number[]> {
  const byKind = new Map<string, number[]>();
  for (const { id, operation, object1, object2 } of rows) {
    if (operation === 'create' || operation === 'delete') continue;
    for (const kind of operation === 'update' ? [object1] : new Set([object1, object2, 'role'])) {
      const ids = byKind.get(kind);
      if (ids === undefined) byKind.set(kind, [id]);
      else ids.push(id);
    }
  }
  return byKind;
}

async function readLinks(
  connection: Connection,
  of: { readonly kind: string; readonly ids: readonly number[]; readonly present: ReadonlySet<string> },
): Promise<LinkRow[]> {
  const { kind, ids, present } = of;
  const found = isKnownKind(kind) ? STORES[kind] : undefined;
  const [table, column] = kind === 'role' ? ROLE_LINK : (found?.link ?? [null, null]);
  if (table === null || !present.has(table)) return [];
  const named = found?.parent ?? found?.table;
  const join = named === undefined ? '' : `LEFT JOIN ${named} t ON t.id = l.${column}`;
  return await connection.read((database) =>
    readArrays<LinkRow>(database, {
      columns: {
        entry: 'l.activitystream_id',
        id: `l.${column}`,
        name: named === undefined ? 'NULL' : `t.${found?.name}`,
      },
      // Joined to the list, the table is read by its unique index alone; with ANY, PostgreSQL 15 reads the rows as well.
      from: `FROM unnest($1::bigint[]) AS e(id) JOIN ${table} l ON l.activitystream_id = e.id ${join}`,
      values: [ids],
    }),
  );
}

function entryOf(row: EntryRow, links: StreamEntry['links']): StreamEntry {
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
    links,
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
