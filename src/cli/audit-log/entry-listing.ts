import type { RunAccount } from '../../operations/journal/run-account.ts';
import type { Entry } from '../../operations/ports/audit-log.ts';
import { type Document, lines, list } from '../../reports/document.ts';
import { runFacts, runSentence, shortStates } from '../../reports/log-report.ts';
import { type Report, report } from '../../reports/result.ts';
import { type Listing, listing } from '../../reports/tables/listing.ts';
import { countText, type Tone } from '../../reports/tables/text.ts';

/** Entries of the audit log `log` (such as its file) as a command's result. In JSON they are unchanged. */
export function entryListing(rows: AsyncIterable<Entry>, log: string): Listing<Entry, Entry> {
  return listing({
    rows,
    columns: [
      { name: 'seq', cell: ({ seq }) => String(seq), whole: true },
      { name: 'at', cell: ({ at }) => at, short: ({ at }) => toTheSecond(at), whole: true },
      { name: 'kind', cell: ({ kind }) => kind, whole: true },
      { name: 'operation', cell: ({ operation }) => operation, whole: true },
      { name: 'actor', cell: actorText, short: ({ actor }) => `${actor['user']}${asText(actor)}` },
      { name: 'target', cell: ({ target }) => target['context'] ?? '' },
      { name: 'run', cell: ({ run }) => run, only: 'csv' },
      { name: 'data', cell: ({ data }) => JSON.stringify(data), narrow: 'below' },
    ],
    json: (entry) => entry,
    none: `No entries in the audit log ${log}.`,
  });
}

/** Runs of the audit log `log` as a command's result: one sentence each. */
export function runListing(rows: AsyncIterable<RunAccount>, log: string): Listing<RunAccount, RunJson> {
  return listing({
    rows,
    columns: [
      { name: 'ended', cell: ({ ended }) => toTheSecond(ended), whole: true },
      { name: 'run', cell: ({ run }) => run.slice(0, SHORT_RUN), csv: ({ run }) => run, whole: true },
      {
        name: 'state',
        cell: ({ state }) => shortStates[state],
        csv: ({ state }) => state,
        tone: ({ state }) => TONES[state],
        whole: true,
      },
      { name: 'operation', cell: ({ operation }) => operation, only: 'csv' },
      { name: 'what', cell: (run) => runSentence(run, { state: false }), narrow: 'below' },
    ],
    json: runToJson,
    none: `No runs in the audit log ${log}.`,
  });
}

/** The digits of a run's id that identify it in most logs. */
const SHORT_RUN = 8;

const TONES: Readonly<Record<RunAccount['state'], Tone>> = {
  done: 'good',
  partly: 'warning',
  refused: 'bad',
  interrupted: 'warning',
  unfinished: 'bad',
  noted: 'faint',
};

/** A run as `--json` shows it. */
export interface RunJson extends RunAccount {
  /** What it did, in a sentence. */
  readonly sentence: string;
}

/** What `log show` prints with `--json`. */
export interface ShownLogRunJson extends RunJson {
  readonly entries: readonly Entry[];
}

function runToJson(account: RunAccount): RunJson {
  return { ...account, sentence: runSentence(account) };
}

export function runResult(options: {
  account: RunAccount;
  entries: readonly Entry[];
}): Report<ShownLogRunJson> {
  const { account, entries } = options;
  const document: Document = [
    lines(`${runSentence(account)}.`),
    runFacts(account),
    lines(
      `${countText(entries.length, 'entry', 'entries')}:`,
      list(
        ...entries.map(
          ({ seq, at, kind, data }) =>
            `${seq}  ${toTheSecond(at)}  ${kind}  ${shortened(JSON.stringify(data))}`,
        ),
      ),
    ),
  ];
  return report({ json: { ...runToJson(account), entries }, document });
}

/** The maximum length of an entry's data; `--json` and `log list --raw` show all of it. */
const MAX_DATA = 300;

function shortened(text: string): string {
  return text.length <= MAX_DATA ? text : `${text.slice(0, MAX_DATA)}…`;
}

/** A time of the log, without milliseconds. */
function toTheSecond(at: string): string {
  return at.replace(/\.\d{3}Z$/, 'Z');
}

/** The user and host, and the account in the target. */
function actorText({ actor }: Entry): string {
  return `${actor['user']}@${actor['host']}${asText(actor)}`;
}

/** Entries about the log itself have no account in a target. */
function asText({ as }: Entry['actor']): string {
  return as === undefined ? '' : ` as ${as}`;
}
