import { type RecordedPath, recordedPaths } from '../../domain/access.ts';
import type { Entry } from '../ports/audit-log.ts';
import { intendedIds, listOf, numbersIn, objectOf, objectsIn, textOf } from './journal.ts';

/** The counts of a run. `planned` is from its first entry. */
export const countNames = [
  'revoked',
  'refreshTokensRevoked',
  'deleted',
  'sessionsEnded',
  'created',
  'settingsChanged',
  'usersChanged',
  'unchanged',
  'failed',
  'notTried',
] as const;

export type RunCounts = Readonly<Record<(typeof countNames)[number], number>>;

export function noCounts(): Record<(typeof countNames)[number], number> {
  return Object.fromEntries(countNames.map((name) => [name, 0])) as Record<
    (typeof countNames)[number],
    number
  >;
}

interface ChangedValue {
  readonly name: string;
  readonly before: unknown;
  /** The value after the change, if it was or should have been re-read. */
  readonly after: unknown;
}

/** An intent without an outcome from its own run, and what was found out later. */
interface ClosedLater {
  readonly seq: number;
  readonly at: string;
  readonly actor: Entry['actor'];
  /** How many of the intended tokens are gone, and how many still exist; null if unknown. */
  readonly gone: number | null;
  readonly alive: number | null;
}

/** What a run did and who started it, from the entries of the audit log. Its size is bounded. */
export interface RunAccount {
  readonly run: string;
  readonly operation: string;
  readonly actor: Entry['actor'];
  readonly target: Entry['target'];
  readonly reason: string | null;
  readonly ticket: string | null;
  /** Its selection, if stated. */
  readonly selection: string | null;
  /** The approver; null without an approval. */
  readonly approvedBy: string | null;
  /** Whether the four-eyes rule was bypassed. */
  readonly brokeGlass: boolean;
  /** The incident, users or application that it is about, if stated. */
  readonly subject: string | null;
  /** Of its first and its last entry. */
  readonly began: string;
  readonly ended: string;
  readonly first: number;
  readonly last: number;
  readonly state: 'done' | 'partly' | 'refused' | 'interrupted' | 'unfinished' | 'noted';
  readonly counts: RunCounts;
  /** The owners of most tokens that it intended to revoke. */
  readonly owners: readonly { readonly user: string; readonly tokens: number }[];
  /** The number of owners not listed. */
  readonly moreOwners: number;
  readonly changes: readonly ChangedValue[];
  /** The first reasons of failures. */
  readonly failures: readonly string[];
  /** The access paths that it left open or did not check. */
  readonly accessPaths: readonly RecordedPath[];
  /** Tokens that it had revoked but found alive on re-reading; null if not stated. */
  readonly stillAlive: number | null;
  readonly closedLater: readonly ClosedLater[];
  /** The numbers of intents without an outcome. */
  readonly open: readonly number[];
}

/** The steps whose entries list ids. */
const BATCH_STEPS: ReadonlySet<unknown> = new Set([
  'batch',
  'refresh_tokens',
  'refresh_token_rows',
  'authorization_codes',
]);

const NAMED_OWNERS = 10;
const NAMED_FAILURES = 20;

export class RunTally {
  readonly #first: Entry;
  readonly #counts = noCounts();
  readonly #owners = new Map<string, number>();
  readonly #changes = new Map<string, ChangedValue>();
  readonly #failures: string[] = [];
  readonly #closedLater: ClosedLater[] = [];
  readonly #open = new Map<number, Entry>();
  #last: Entry;
  #opening: Entry['data'] = {};
  #closing: Entry['data'] | null = null;
  #isWhole = true;
  #isRefused = false;
  /** Whether an item of a cleaning was ended. */
  #hasCleaned = false;

  constructor(first: Entry) {
    this.#first = first;
    this.#last = first;
  }

  /** Whether all its intents are closed. */
  get isClosed(): boolean {
    return this.#open.size === 0;
  }

  add(entry: Entry): void {
    this.#last = entry;
    if (entry.kind !== 'outcome' && entry.seq === this.#first.seq) this.#opening = entry.data;
    if (entry.kind === 'intent') this.#intend(entry);
    if (entry.kind === 'outcome') this.#close(entry);
  }

  account(): RunAccount {
    const { run, operation, actor, target, at, seq } = this.#first;
    const owners = [...this.#owners].sort(([, a], [, b]) => b - a);
    const { reason, ticket, selection, incident, users } = this.#opening;
    const approval = objectOf(this.#opening['approval']) ?? {};
    const application = objectOf(this.#opening['application'])?.['name'];
    const named = listOf(users).filter((each) => typeof each === 'string');
    const { stillAlive } = this.#closing ?? {};
    return {
      run,
      operation,
      actor,
      target,
      reason: textOf(reason) ?? null,
      ticket: textOf(ticket) ?? null,
      selection: textOf(selection) ?? null,
      approvedBy: textOf(approval['by']) ?? null,
      brokeGlass: approval['breakGlass'] === true,
      subject: textOf(incident) ?? (named.length > 0 ? named.join(', ') : (textOf(application) ?? null)),
      began: at,
      ended: this.#last.at,
      first: seq,
      last: this.#last.seq,
      state: this.#state(),
      counts: this.#counts,
      owners: owners.slice(0, NAMED_OWNERS).map(([user, tokens]) => ({ user, tokens })),
      moreOwners: Math.max(owners.length - NAMED_OWNERS, 0),
      changes: [...this.#changes.values()],
      failures: this.#failures,
      accessPaths: recordedPaths(this.#closing ?? {}).filter(({ state }) => state !== 'closed'),
      stillAlive: typeof stillAlive === 'number' ? stillAlive : null,
      closedLater: this.#closedLater,
      open: [...this.#open.keys()],
    };
  }

  #state(): RunAccount['state'] {
    if (!this.isClosed) return 'unfinished';
    if (this.#first.kind === 'note' && this.#closing === null) return 'noted';
    if (this.#closedLater.length > 0 || this.#closing?.['interrupted'] === true) return 'interrupted';
    if (this.#isRefused && this.#counts.revoked === 0 && !this.#hasCleaned) return 'refused';
    return this.#isWhole ? 'done' : 'partly';
  }

  #intend(entry: Entry): void {
    this.#open.set(entry.seq, entry);
    if (entry.data['step'] !== 'batch') return;
    for (const { user, ids } of objectsIn(entry.data['tokens'])) {
      const owner = textOf(user) ?? 'unknown';
      this.#owners.set(owner, (this.#owners.get(owner) ?? 0) + numbersIn(ids).length);
    }
  }

  #close(entry: Entry): void {
    const { data, closes = 0 } = entry;
    const intent = this.#open.get(closes);
    // Versions before 0.2.0 could record a second outcome for an intent. The first one counts.
    if (intent === undefined && closes >= this.#first.seq) return;
    this.#open.delete(closes);
    const { step, result } = data;
    this.#hasCleaned ||= data['item'] !== undefined && result === 'done';
    if (closes === this.#first.seq) this.#closing = data;
    if (result === 'refused' || result === 'unknown' || result === 'failed' || result === 'partly') {
      this.#isWhole = false;
      this.#isRefused ||= result === 'refused';
      this.#fail(textOf(data['reason']));
    }
    if (data['reconciled'] === true) this.#reconciled(entry, closes);
    else if (BATCH_STEPS.has(step)) {
      this.#batch(data, intent);
    } else if (step === 'sessions') this.#counts.sessionsEnded += countIn(data['ended']);
    else if (step === 'operation') this.#isWhole &&= isWhole(data);
    else this.#single(entry, intent);
  }

  #reconciled({ seq, at, actor, data }: Entry, closes: number): void {
    const { gone, alive } = data;
    const number = (value: unknown) =>
      typeof value === 'number' ? value : Array.isArray(value) ? value.length : null;
    this.#closedLater.push({ seq: closes || seq, at, actor, gone: number(gone), alive: number(alive) });
    this.#counts.revoked += data['step'] === 'batch' ? (number(gone) ?? 0) : 0;
  }

  #batch(data: Entry['data'], intent: Entry | undefined): void {
    const counts = this.#counts;
    const revoked = numbersIn(data['revoked']).length;
    if (data['step'] === 'batch') counts.revoked += revoked;
    else counts.refreshTokensRevoked += revoked;
    counts.refreshTokensRevoked += numbersIn(data['refreshTokens']).length;
    counts.deleted += numbersIn(data['deleted']).length;
    counts.unchanged += numbersIn(data['unchanged']).length;
    const failed = objectsIn(data['failed']);
    counts.failed += failed.length;
    for (const { id, reason } of failed) this.#fail(`${String(id)}: ${textOf(reason) ?? 'no reason told'}`);
    const isRefused = data['result'] === 'refused' && intent !== undefined;
    counts.notTried += isRefused ? intendedIds(intent.data).length : numbersIn(data['notTried']).length;
    if (failed.length > 0) this.#isWhole = false;
  }

  /** The outcome of a single action: a token, settings, users. */
  #single({ operation, data }: Entry, intent: Entry | undefined): void {
    const isDone = data['result'] === 'done';
    if (operation === 'tokens.create') this.#counts.created += isDone ? 1 : 0;
    this.#counts.usersChanged += numbersIn(data['changed']).length;
    const stated = intent?.data ?? {};
    const before = objectOf(stated['before']) ?? locked(stated, 'before');
    const after = objectOf(data['now']) ?? objectOf(stated['after']) ?? locked(stated, 'locked');
    for (const [name, value] of Object.entries(before)) {
      this.#changes.set(name, { name, before: value, after: after[name] });
    }
    this.#counts.settingsChanged += isDone ? Object.keys(before).length : 0;
  }

  #fail(reason: string | undefined): void {
    if (reason !== undefined && this.#failures.length < NAMED_FAILURES) this.#failures.push(reason);
  }
}

/** The values of settings that a lockdown locks. */
function locked(data: Entry['data'], key: 'before' | 'locked'): Readonly<Record<string, unknown>> {
  const settings = objectsIn(data['locks']).filter(({ what }) => what === 'setting');
  return Object.fromEntries(settings.map((lock) => [String(lock['name']), lock[key]]));
}

/** Whether the outcome of an operation states that nothing remains or is unchecked. */
function isWhole(data: Entry['data']): boolean {
  const { verified, interrupted, stopped, stillAlive } = data;
  const isOver = interrupted !== true && objectOf(stopped) === undefined;
  const isClosed = recordedPaths(data).every(({ state, covered }) => !covered || state === 'closed');
  return isOver && isClosed && verified !== false && countIn(stillAlive) === 0;
}

function countIn(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
