import type { DirectoryUsers } from '../../domain/directory-users.ts';
import { isSameController, Journal, type JournalOptions } from '../journal/journal.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { MatchRules } from '../ports/directory.ts';
import type { TargetDescription } from '../ports/target.ts';
import type { DirectoryComparison, EarlierEntries, KnownEntry } from './compare-users.ts';

/** The operation in the audit log that states what a directory answered. */
export const DIRECTORY_READ = 'directory.read';
/** The operation that states which entry of a directory is whose: only what is new, in parts. */
const ENTRIES_KNOWN = 'directory.entries';
/** How many entries of a directory one entry of the log names. */
const ENTRIES_PER_NOTE = 2_000;
/** The brakes count from the last answer that is as old as this, so that many small steps are stopped like a large one. */
const PERIOD_MS = 24 * 60 * 60 * 1000;

/** What a directory answered, compared with the users of a controller. */
export interface DirectoryAnswer extends DirectoryComparison {
  /** What the configuration calls the directory. */
  readonly directory: string;
  /** When it had answered. */
  readonly at: Date;
  /** How many users it listed. */
  readonly listed: number;
  /** How many of them are disabled. */
  readonly disabled: number;
  /** How many it listed the last time; null if it was not asked before. */
  readonly listedBefore: number | null;
  /** The backends whose accounts it has; none for all. */
  readonly accounts: readonly string[];
  /** The names and patterns of users who are not compared. */
  readonly except: readonly string[];
}

/** An answer with what is recorded beside it. */
export interface AskedDirectory {
  readonly answer: DirectoryAnswer;
  /** Whose entry is which, as far as it was not known. */
  readonly learned: Iterable<KnownEntry>;
  /** The limits that let the answer through. */
  readonly limits: Pick<MatchRules, 'stopAbovePercent' | 'stopBelowPercent'>;
}

/** What earlier answers of a directory about a controller were. */
export interface AnswerHistory {
  /** How many users it listed the last time; null if it was not asked before. */
  readonly listedLast: number | null;
  /** The most users that it listed in the period of the brakes; null as above. */
  readonly listedMost: number | null;
  /** The ids of the users who were gone at the beginning of the period. */
  readonly gone: ReadonlySet<number>;
  /** The users' entries, by the ids of the users. */
  readonly entries: EarlierEntries;
}

interface Answer {
  readonly at: number;
  readonly listed: number;
  readonly gone: readonly number[];
  /** Whether it was let through by higher limits than those of now: then it is where the brakes begin to count. */
  readonly isAccepted: boolean;
}

/** Reads from the audit log what a directory answered before; `rules` are the limits of now. */
export async function readHistory(
  log: Pick<AuditLog, 'entries'>,
  options: {
    readonly directory: string;
    /** What it answers now. */
    readonly users: DirectoryUsers;
    readonly description: Pick<TargetDescription, 'address' | 'installUuid'>;
    readonly rules: Pick<MatchRules, 'stopAbovePercent' | 'stopBelowPercent'>;
    readonly now: Date;
  },
): Promise<AnswerHistory> {
  const { directory, users, description, rules, now } = options;
  const entries = new Map<number, number | string>();
  let period: Answer[] = [];
  const selection = { operations: [DIRECTORY_READ, ENTRIES_KNOWN] };
  for await (const { kind, data, target, operation } of log.entries(1, selection)) {
    if (kind !== 'note' || data['directory'] !== directory || !isSameController(target, description))
      continue;
    if (operation === ENTRIES_KNOWN) {
      for (const [userId, entry] of pairsIn(data['entries']))
        entries.set(userId, users.find('id', entry)[0] ?? entry);
      continue;
    }
    const answer = answerIn(data, rules);
    if (answer === null) continue;
    const isOld = answer.at <= now.getTime() - PERIOD_MS;
    period = isOld || answer.isAccepted ? [answer] : [...period, answer];
  }
  return {
    listedLast: period.at(-1)?.listed ?? null,
    listedMost: period.length === 0 ? null : Math.max(...period.map(({ listed }) => listed)),
    gone: new Set(period[0]?.gone),
    entries,
  };
}

/**
 * Records what a directory answered, with the evidence for each user who is gone, and whose entry is which.
 * The next answer is compared with it.
 * @throws TokenctlError `audit_unavailable`
 */
export async function recordAnswer(
  options: Omit<JournalOptions, 'operation'>,
  { answer, learned, limits }: AskedDirectory,
): Promise<void> {
  const { directory, at, listed, disabled, accounts, except, gone, doubtful, present } = answer;
  const known = new Journal({ ...options, operation: ENTRIES_KNOWN });
  let entries: (readonly [number, string])[] = [];
  const note = async () => {
    if (entries.length > 0) await known.note({ directory, entries });
    entries = [];
  };
  for (const { userId, entry } of learned) {
    entries.push([userId, entry]);
    if (entries.length === ENTRIES_PER_NOTE) await note();
  }
  await note();
  await new Journal({ ...options, operation: DIRECTORY_READ }).note({
    directory,
    answered: at.toISOString(),
    listed,
    disabled,
    accounts,
    except,
    present,
    doubtful: doubtful.length,
    gone: gone.map(({ id, username, basis, evidence }) => ({ userId: id, username, basis, evidence })),
    ...limits,
  });
}

function answerIn(
  data: Readonly<Record<string, unknown>>,
  rules: Pick<MatchRules, 'stopAbovePercent' | 'stopBelowPercent'>,
): Answer | null {
  const { answered, listed, gone, stopAbovePercent: above, stopBelowPercent: below } = data;
  if (typeof listed !== 'number') return null;
  return {
    at: Date.parse(String(answered)),
    listed,
    gone: userIdsIn(gone),
    isAccepted: Number(above) > rules.stopAbovePercent || Number(below) > rules.stopBelowPercent,
  };
}

/** The ids of the users who were gone, as an entry of the log has them. */
export function userIdsIn(gone: unknown): readonly number[] {
  return Array.isArray(gone) ? gone.map((each) => Number((each as { userId?: unknown }).userId)) : [];
}

function* pairsIn(value: unknown): Generator<readonly [number, KnownEntry['entry']]> {
  if (!Array.isArray(value)) return;
  for (const pair of value as unknown[]) {
    if (!Array.isArray(pair)) continue;
    const [userId, entry] = pair as unknown[];
    if (typeof userId === 'number' && typeof entry === 'string') yield [userId, entry];
  }
}
