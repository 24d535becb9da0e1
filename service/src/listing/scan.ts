import { setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from '@tokenctl/common/db/database.ts';
import { identifier, joined, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { RE2JS, RE2JSException } from 're2js';
import { badRequest, RequestFailure } from '../failure.ts';

/** A condition that costs time for each row: in SQL, or a regular expression for a column's text. */
export type ScanTerm = { readonly negated: boolean } & (
  | { readonly sql: Sql }
  | { readonly text: Sql; readonly expression: RE2JS }
);

/** Conditions checked row by row. The SQL of a term names columns by their index in `columns`: `s.v0`, `s.v1`, … */
export interface Scan {
  readonly columns: readonly Sql[];
  /** The total length of search texts, in characters. */
  readonly searched: number;
  /** All of these must match, */
  readonly every: readonly ScanTerm[];
  /** and one of these, if there are any. */
  readonly any: readonly ScanTerm[];
}

interface ScannedRows {
  readonly id: Sql;
  readonly from: Sql;
  readonly where: Sql;
}

/** How long one scan may take in total, including pauses, in milliseconds. */
const MAX_SCAN_MS = 10_000;
/** How long one step should take, in milliseconds. The embedded database serves no one else meanwhile. */
const STEP_MS = 25;
/** In milliseconds. */
const MAX_PAUSE_MS = 200;
const MAX_STEP_ROWS = 2_000;
/** The budget of the first step: the rows times the searched characters of each. */
const FIRST_STEP_CHARACTERS = 2_000;

/**
 * The ids of the rows that match a scan's conditions, ascending. It reads in steps by id, sized to take {@link
 * STEP_MS}, and pauses after each for as long as it took. So others are served meanwhile, and the scan uses at most
 * half the time. This time limit also works for the embedded database, which has no `statement_timeout`.
 * @param signal Ends the scan after its current step.
 * @throws RequestFailure 503 after {@link MAX_SCAN_MS}; the reason of the signal.
 */
export async function scanIds(
  database: Queryable,
  { id, from, where }: ScannedRows,
  scan: Scan,
  signal: AbortSignal,
): Promise<number[]> {
  const columns = scan.columns.map((column, index) => sql`${column} AS ${identifier(`v${index}`)}`);
  // LIMIT keeps the planner from checking the conditions on more rows than the step has.
  const rowsAfter = (after: number, size: number) => sql`(
    SELECT ${joined([sql`${id} AS id`, ...columns])} FROM ${from}
    WHERE (${where}) AND ${id} > ${after} ORDER BY ${id} LIMIT ${size}) s`;
  const condition = conditionOf(scan);
  const begun = performance.now();
  const found: number[] = [];
  let after = -1;
  for (let size = firstSize(scan); ; ) {
    const stepBegun = performance.now();
    const rows = rowsAfter(after, size);
    const step = await (condition === null
      ? triedHere(database, rows, scan, signal)
      : triedThere(database, rows, condition));
    for (const each of step.ids) found.push(each);
    if (step.count < size) return found;
    after = step.last;
    const took = performance.now() - stepBegun - step.paused;
    size = nextSize(size, took);
    await pause(took, begun, signal);
  }
}

/** The rows of one step: their number, the last id, and the matching ids. */
interface Step {
  readonly count: number;
  readonly last: number;
  readonly ids: readonly number[];
  readonly paused: number;
}

/** The conditions of a scan in SQL; null if one is a regular expression. */
function conditionOf({ every, any }: Scan): Sql | null {
  const isSql = (term: ScanTerm) => 'sql' in term;
  if (![...every, ...any].every(isSql)) return null;
  const holds = (term: ScanTerm) =>
    sql`(${'sql' in term ? term.sql : term.text}) ${term.negated ? sql`IS NOT TRUE` : sql`IS TRUE`}`;
  const one = any.length === 0 ? [] : [sql`(${joined(any.map(holds), ' OR ')})`];
  return joined([sql`TRUE`, ...every.map(holds), ...one], ' AND ');
}

/** Checks the rows in the database: sending each one takes twice as long. */
async function triedThere(database: Queryable, rows: Sql, condition: Sql): Promise<Step> {
  const step = await sql`SELECT count(*) AS count, COALESCE(max(s.id), 0) AS last,
    COALESCE(array_agg(s.id) FILTER (WHERE ${condition}), '{}') AS ids FROM ${rows}`.first<
    Omit<Step, 'paused'>
  >(database);
  return { ...(step ?? { count: 0, last: 0, ids: [] }), paused: 0 };
}

/** Checks rows with regular expressions, which only this program can evaluate. */
async function triedHere(database: Queryable, rows: Sql, scan: Scan, signal: AbortSignal): Promise<Step> {
  const results = [...scan.every, ...scan.any].map(
    (term, index) => sql`${'sql' in term ? sql`(${term.sql})` : term.text} AS ${identifier(`c${index}`)}`,
  );
  const step = await sql`SELECT ${joined([sql`s.id`, ...results])} FROM ${rows}`.rows<ScannedRow>(database);
  const tried = await matchingRows(step, scan, signal);
  return { ...tried, count: step.length, last: Math.max(0, ...step.map(({ id }) => id)) };
}

type ScannedRow = { readonly id: number } & Readonly<Record<`c${number}`, boolean | string | null>>;

/** The longer the search texts, the longer a row of long texts may take: about 30 ms for 1,000 characters. */
function firstSize({ searched }: Scan): number {
  return Math.min(MAX_STEP_ROWS, Math.max(2, Math.floor(FIRST_STEP_CHARACTERS / Math.max(4, searched))));
}

function nextSize(size: number, took: number): number {
  const factor = Math.min(4, Math.max(0.1, STEP_MS / Math.max(1, took)));
  return Math.min(MAX_STEP_ROWS, Math.max(1, Math.floor(size * factor)));
}

async function pause(took: number, begun: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.min(MAX_PAUSE_MS, took), undefined, { signal }).catch(() => undefined);
  signal.throwIfAborted();
  if (performance.now() - begun < MAX_SCAN_MS) return;
  throw new RequestFailure(503, {
    detail: `The filters took longer than ${MAX_SCAN_MS / 1000} seconds. Use fewer or more specific filters.`,
  });
}

/** Checks the terms on rows, with pauses: one expression may take a few milliseconds for a long text. */
async function matchingRows(step: readonly ScannedRow[], { every, any }: Scan, signal: AbortSignal) {
  const ids: number[] = [];
  let paused = 0;
  let begun = performance.now();
  const holds = (row: ScannedRow) => (term: ScanTerm, index: number, from: readonly ScanTerm[]) => {
    const value = row[`c${from === every ? index : every.length + index}`] ?? null;
    const holds = 'sql' in term ? value === true : value !== null && term.expression.test(String(value));
    return holds !== term.negated;
  };
  for (const row of step) {
    if (every.every(holds(row)) && (any.length === 0 || any.some(holds(row)))) ids.push(row.id);
    const took = performance.now() - begun;
    if (took < STEP_MS) continue;
    await sleep(Math.min(MAX_PAUSE_MS, took), undefined, { signal }).catch(() => undefined);
    signal.throwIfAborted();
    begun = performance.now();
    paused += took;
  }
  return { ids, paused };
}

const MAX_EXPRESSION_LENGTH = 500;
/** How many copies counted repetitions may make; nested ones multiply. */
const MAX_COPIES = 250;
const REPETITION = /\{(\d+)(?:,(\d*))?\}/g;
const REPEATED_GROUP = /\)\{/;
/** The maximum number of instructions of an expression. The time for a text is at most its length times that. */
const MAX_INSTRUCTIONS = 250;

/**
 * Compiles a regular expression to one that takes linear time (RE2). PostgreSQL's own engine, which the
 * controller uses, can take minutes to compile an expression of a few hundred characters, and the embedded
 * database serves no one meanwhile. The dot matches line breaks too, and `^` and `$` match only the ends of
 * the text, as in PostgreSQL. Throws RequestFailure 400 for an invalid or too large expression.
 */
export function compileExpression(
  expression: string,
  { name, ignoreCase }: { name: string; ignoreCase: boolean },
): RE2JS {
  if (expression.length > MAX_EXPRESSION_LENGTH || copies(expression) > MAX_COPIES) {
    throw badRequest(`${name}: the regular expression is too large.`);
  }
  try {
    const compiled = RE2JS.compile(expression, RE2JS.DOTALL | (ignoreCase ? RE2JS.CASE_INSENSITIVE : 0));
    if (compiled.programSize() <= MAX_INSTRUCTIONS) return compiled;
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    throw badRequest(`${name}: ${JSON.stringify(expression)} is not a regular expression.`);
  }
  throw badRequest(`${name}: the regular expression is too large.`);
}

function copies(expression: string): number {
  const counts = [...expression.matchAll(REPETITION)].map(([, least, most]) => Number(most || least));
  return REPEATED_GROUP.test(expression)
    ? counts.reduce((product, count) => product * Math.max(1, count), 1)
    : counts.reduce((sum, count) => sum + count, 0);
}
