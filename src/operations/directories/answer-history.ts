import type { DirectoryUsers } from '../../domain/directory-users.ts';
import { isSameController, Journal, type JournalOptions } from '../journal/journal.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { MatchRules } from '../ports/directory.ts';
import type { TargetDescription } from '../ports/target.ts';
import type { DirectoryComparison, EarlierEntries, KnownEntry } from './compare-users.ts';

/** The audit log operation that records a directory's answer. */
export const DIRECTORY_READ = 'directory.read';
/** The audit log operation that records which entry belongs to which user: only new ones, in parts. */
const ENTRIES_KNOWN = 'directory.entries';
/** Directory entries per entry of the log. */
const ENTRIES_PER_NOTE = 2_000;
/** Safety limits compare with the last answer this old, so that many small steps count as one large one. */
const PERIOD_MS = 24 * 60 * 60 * 1000;

/** A directory's answer, compared with the users of a controller. */
export interface DirectoryAnswer extends DirectoryComparison {
  /** The directory's name in the configuration. */
  readonly directory: string;
  readonly at: Date;
  readonly listed: number;
  readonly disabled: number;
  /** The number of users in the previous answer; null if there was none. */
  readonly listedBefore: number | null;
  /** The backends whose accounts belong to this directory; empty for all. */
  readonly accounts: readonly string[];
  /** The names and patterns of users who are not compared. */
  readonly except: readonly string[];
}

/** A directory's answer, with what is recorded alongside it. */
export interface AskedDirectory {
  readonly answer: DirectoryAnswer;
  /** Newly learned entries of users. */
  readonly learned: Iterable<KnownEntry>;
  readonly limits: Pick<MatchRules, 'stopAbovePercent' | 'stopBelowPercent'>;
}

/** A directory's earlier answers about a controller. */
export interface AnswerHistory {
  /** The number of users in the previous answer; null if there was none. */
  readonly listedLast: number | null;
  /** The maximum number of users listed in the period of the safety limits; null without an answer. */
  readonly listedMost: number | null;
  /** The ids of users who had already left at the start of the period. */
  readonly gone: ReadonlySet<number>;
  /** The users' entries, by the ids of the users. */
  readonly entries: EarlierEntries;
}

interface Answer {
  readonly at: number;
  readonly listed: number;
  readonly gone: readonly number[];
  /** Whether limits higher than the current ones accepted the answer: safety limits then count from it. */
  readonly isAccepted: boolean;
}

/** Reads a directory's earlier answers from the audit log; `rules` are the current limits. */
export async function readHistory(
  log: Pick<AuditLog, 'entries'>,
  options: {
    readonly directory: string;
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
 * Records a directory's answer, with the evidence for each departed user, and which entry belongs to which
 * user. The next answer is compared with it.
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

/** The ids of the departed users in an entry of the log. */
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
