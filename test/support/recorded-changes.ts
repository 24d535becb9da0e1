import { createHash } from 'node:crypto';
import type { ManagementRun } from './recordings.ts';
import type { Row, Snapshot, TableChange } from './row-changes.ts';

/** What a run did, in a form that two runs can be compared by. */
export interface Effect {
  readonly code: number | null;
  /** The lines of stdout in any order, with fingerprints in place of tokens. */
  readonly lines: readonly string[];
  /** The errors and counts on stderr. */
  readonly notices: readonly string[];
  /** The changes of rows by table, as comparable texts in any order. */
  readonly rows: Readonly<Record<string, Readonly<Record<keyof TableChange, readonly string[]>>>>;
}

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?\+00:00/g;

/** The time of a text in microseconds. */
function micros(text: string): bigint {
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? '';
  return BigInt(Date.parse(text.replace(/\.\d+/, ''))) * 1000n + BigInt(fraction.padEnd(6, '0').slice(0, 6));
}

/** How the times of a database lie to those of the recordings, and which were there before a run. */
export class Times {
  readonly #age: bigint;
  readonly #known: ReadonlySet<bigint>;

  /** @param same The same time in the recording and in the database. */
  constructor(before: Snapshot, same: { readonly recorded: string; readonly database: string }) {
    this.#age = micros(same.database) - micros(same.recorded);
    const known = [...before.values()].flatMap((value) => JSON.stringify(value).match(TIME) ?? []);
    this.#known = new Set(known.map((text) => micros(text) - this.#age));
  }

  /**
   * Gives texts in which each time is that of the dump, or `new` and the minutes since the first new one: the moment of the run.
   *
   * @param isMoved Whether the times are of the database, and not of a recording.
   */
  comparable(texts: readonly string[], isMoved: boolean): readonly string[] {
    const moment = (text: string) => micros(text) - (isMoved ? this.#age : 0n);
    const made = texts
      .flatMap((text) => text.match(TIME) ?? [])
      .map(moment)
      .filter((time) => !this.#known.has(time));
    const [first = 0n] = made.toSorted((a, b) => Number(a - b));
    return texts.map((text) =>
      text.replace(TIME, (time) =>
        this.#known.has(moment(time))
          ? `dump+${moment(time)}`
          : `new+${(moment(time) - first + 30_000_000n) / 60_000_000n}min`,
      ),
    );
  }
}

export function recordedEffect(run: ManagementRun, times: Times): Effect {
  const changes = Object.entries(run.changes)
    // Each command of a controller without credential plugins rewrites them (the recordings' README).
    .filter(([table]) => table !== 'main_credentialtype')
    .map(([table, { added = [], removed = [], changed = [] }]) => [
      table,
      {
        added,
        removed,
        changed: changed.map(({ key, columns }) => ({
          ...key,
          ...Object.fromEntries(Object.entries(columns).map(([name, [, after]]) => [name, after])),
        })),
      },
    ]);
  const isCreated = run.argv[0] === 'create_oauth2_token' && run.exit === 0;
  return {
    code: run.exit,
    lines: linesOf(isCreated ? '' : withFingerprints(run.stdout)),
    notices: linesOf(run.stderr)
      .filter((line) => /^(CommandError|Expired|rest_framework\S+PermissionDenied)/.test(line))
      .map((line) => line.replace(/^rest_framework\S+: /, 'CommandError: ')),
    rows: rowsOf(Object.fromEntries(changes), { times, isMoved: false }),
  };
}

/** The effect of a drop-in. */
export function ownEffect(
  { code, stdout, stderr }: { code: number | null; stdout: string; stderr: string },
  { changes, times }: { changes: ReadonlyMap<string, TableChange>; times: Times },
): Effect {
  const isCreated = stderr.startsWith('The token is in ');
  const found = [...changes].map(([table, { added, removed, changed }]) => [
    table,
    {
      added,
      removed,
      changed: changed.map(({ before, after }) =>
        Object.fromEntries(
          Object.entries(after).filter(
            ([name, value]) =>
              name === 'id' ||
              name === 'session_key' ||
              JSON.stringify(value) !== JSON.stringify(before[name]),
          ),
        ),
      ),
    },
  ]);
  return {
    code,
    lines: linesOf(isCreated ? '' : stdout),
    notices: linesOf(isCreated ? '' : stderr),
    rows: rowsOf(Object.fromEntries(found), { times, isMoved: true }),
  };
}

function linesOf(text: string): string[] {
  return text.split('\n').filter(Boolean).sort();
}

type Rows = Readonly<Record<string, Readonly<Record<keyof TableChange, readonly Row[]>>>>;

function rowsOf(rows: Rows, { times, isMoved }: { times: Times; isMoved: boolean }) {
  const comparable = (texts: readonly string[]) => times.comparable(texts, isMoved).toSorted();
  return Object.fromEntries(
    Object.entries(rows).map(([table, { added, removed, changed }]) => [
      table,
      {
        added: comparable(added.map((row) => textOf(withoutOwn(row, table)))),
        removed: comparable(removed.map(textOf)),
        changed: comparable(changed.map(textOf)),
      },
    ]),
  );
}

function textOf(row: Row): string {
  return JSON.stringify(Object.fromEntries(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1))));
}

/** A new row without what any two runs differ in: the order of entries, the name of the node, the value of a token. */
function withoutOwn(row: Row, table: string): Row {
  if (/^(main_activitystream|dab_activitystream_entry)$/.test(table)) {
    const { id: _id, action_node: _node, ...rest } = row;
    return rest;
  }
  if (typeof row['token'] !== 'string') return row;
  return {
    ...row,
    token: row['token']
      .replace(/^[A-Za-z0-9]{30}$/, '30 letters and digits')
      .replace(/[0-9a-f]{64}$/, 'SHA-256'),
  };
}

/** The management commands print tokens as they are stored; tokenctl prints fingerprints in their place. */
function withFingerprints(stdout: string): string {
  return stdout.replace(/^(revoked \w+ )(\S+)$/gm, (_line, what: string, token: string) => {
    const hash = /^\$sha256\$(.*)$/.exec(token)?.[1] ?? createHash('sha256').update(token).digest('hex');
    return what + hash.slice(0, 12);
  });
}
