import type { Queryable } from '../db/database.ts';
import type { EntrySelection } from '../operations/ports/audit-log.ts';
import type { Linked } from './link-group.ts';
import { operationClue } from './operation-test.ts';

/** A row of the log: an entry's line, and the number under which it is stored. */
export interface StoredLine {
  readonly seq: number;
  readonly line: string;
}

/** Any number: whoever appends takes the same lock. */
const APPENDING = 7_305_114_203;

/** Rows read at once. */
const PAGE = 500;

/**
 * Prepares a transaction for appending: it waits no longer than it may, is on the disk when it commits,
 * whatever the database's defaults, and sees what those before it appended.
 *
 * @param patience How long it may wait for others, in milliseconds; any statement may take twice that.
 */
export async function takeTurn(transaction: Queryable, patience: number): Promise<void> {
  const wait = Math.ceil(patience);
  await transaction.execute('SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE');
  await transaction.execute(
    `SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true),
      set_config('idle_in_transaction_session_timeout', $2, true),
      set_config('synchronous_commit', CASE current_setting('synchronous_commit')
        WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)`,
    [String(wait), String(2 * wait)],
  );
  await transaction.execute('SELECT pg_advisory_xact_lock($1)', [APPENDING]);
}

/** The row with the highest number, or null for an empty log. */
export async function lastRow(connection: Queryable): Promise<StoredLine | null> {
  const sql = 'SELECT seq, line FROM tokenctl_audit.entry ORDER BY seq DESC LIMIT 1';
  const [row] = await connection.query<StoredLine>(sql);
  return row ?? null;
}

/** The rows of some numbers, ascending. */
export function rowsOf(connection: Queryable, seqs: readonly number[]): Promise<StoredLine[]> {
  return connection.query<StoredLine>(
    'SELECT seq, line FROM tokenctl_audit.entry WHERE seq = ANY($1::bigint[]) ORDER BY seq',
    [seqs],
  );
}

/** Adds what was linked. */
export async function insertLinks(transaction: Queryable, links: readonly Linked[]): Promise<void> {
  const linked = links.filter((link) => 'line' in link);
  if (linked.length === 0) return;
  await transaction.execute(
    `INSERT INTO tokenctl_audit.entry (seq, hash, line)
      SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])`,
    [
      linked.map(({ head }) => head.size),
      linked.map(({ head }) => head.hash),
      linked.map(({ line }) => line),
    ],
  );
}

/** Which rows are read. */
export interface PageSelection {
  /** The number of the first one; all of them where not given. */
  readonly from?: number | undefined;
  /** The number of the last one. */
  readonly upTo: number;
  /** Leaves out most of what states another operation. */
  readonly only?: EntrySelection | undefined;
}

/** Streams the rows of a selection, ascending, page by page. */
export async function* pagesOf(
  connection: Queryable,
  { from, upTo, only }: PageSelection,
): AsyncIterable<readonly StoredLine[]> {
  if (only?.operations.length === 0) return;
  const clue = only === undefined ? null : operationClue(only);
  for (let after: number | null = from === undefined ? null : from - 1; ; ) {
    const page: StoredLine[] = await connection.query<StoredLine>(
      `SELECT seq, line FROM tokenctl_audit.entry
        WHERE ($1::bigint IS NULL OR seq > $1) AND seq <= $2
          AND ($4::text IS NULL OR strpos(line, $4) > 0 OR line NOT LIKE '{"actor":{%')
        ORDER BY seq LIMIT $3`,
      [after, upTo, PAGE, clue],
    );
    if (page.length > 0) yield page;
    if (page.length < PAGE) return;
    after = page.at(-1)?.seq ?? null;
  }
}
