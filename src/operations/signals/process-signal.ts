import { TokenctlError, type TokenctlErrorCode } from '@tokenctl/common/errors.ts';
import { subjectText } from '@tokenctl/common/signals/subject-identifier.ts';
import { someOf } from '@tokenctl/common/text.ts';
import { matchesAny } from '../../domain/policy/subject.ts';
import type { User } from '../../domain/token.ts';
import { type NameHistory, NO_HISTORY, nameHistory } from '../incident/name-history.ts';
import type { SnapshotFiles } from '../incident/snapshot.ts';
import type { Change } from '../journal/operation-run.ts';
import type { Clock } from '../ports/clock.ts';
import type { Signal, SignalClaim, SignalOutcome, SignalStore } from '../ports/signals.ts';
import { type Carried, carryOut } from './carry-out.ts';
import { type Match, type MatchingRules, matchUser, namedUser } from './match-user.ts';

/** A controller, or a component of a platform, whose users are searched and acted on. */
export interface SignalPlace {
  /** The context, and the component of a platform. */
  readonly name: string;
  /** Opens the target. `marks` are added to the actor of each audit log entry. */
  change(marks: Readonly<Record<string, string>>): Promise<Change>;
}

interface SignalLimits {
  readonly usersPerHour: number;
  /** Names or patterns of users that are never acted on. */
  readonly except: readonly string[];
  readonly localUsers: 'hold' | 'act';
}

export interface ProcessOptions {
  readonly store: SignalStore;
  readonly places: () => Promise<readonly SignalPlace[]>;
  readonly limits: SignalLimits;
  /** The rules of a transmitter; null if it is no longer configured. */
  readonly rulesOf: (transmitter: string) => MatchingRules | null;
  readonly files: SnapshotFiles;
  readonly clock: Clock;
}

/** Pauses before retries, in milliseconds; the last one is repeated. */
const PAUSES_MS = [1_000, 5_000, 30_000, 120_000, 600_000] as const;
/** After this many attempts, about a day, a person must decide. */
const MAX_ATTEMPTS = 150;
const HOUR_MS = 3_600_000;

/** Transient errors, which are retried. Other errors of the target or the operation are left to a person. */
const PASSING: readonly TokenctlErrorCode[] = [
  'target_unreachable',
  'database_unreachable',
  'audit_unavailable',
  'outcome_unrecorded',
  'intent_closed',
  'partly_done',
  'interrupted',
  'busy',
];

/**
 * Processes signals of one subject with one action: finds the user in every place, checks the limits, and
 * acts. An outcome `held` is for a person, `waiting` is retried, and `ignored` found no one to act on.
 * @param claims Signals that differ only in their ids: one action covers all.
 */
export async function processSignals(
  claims: readonly SignalClaim[],
  options: ProcessOptions,
): Promise<SignalOutcome> {
  const [first] = claims;
  if (first === undefined) throw new Error('no signal to process');
  try {
    return await process({ ...first, marks: marksOf(claims) }, options);
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
    const { attempt: attempts } = first;
    const context = { attempts, texts: [], now: options.clock.now() };
    return failedOutcome([{ place: null, error }], context) ?? held(error.message);
  }
}

async function process(
  { signal, attempt: attempts, marks }: SignalClaim & { marks: Readonly<Record<string, string>> },
  options: ProcessOptions,
): Promise<SignalOutcome> {
  const { limits, store } = options;
  const { action, subject } = signal;
  if (action === 'nothing' || subject === null) return { state: 'ignored', reason: 'Mapped to no action' };
  const rules = options.rulesOf(signal.transmitter);
  if (rules === null)
    return held(`The transmitter "${signal.transmitter}" was removed from the configuration`);
  const found: Found[] = [];
  const problems: { readonly place: string; readonly error: TokenctlError }[] = [];
  /** An unreachable place does not preserve a user's access elsewhere. */
  const attempt = async (place: SignalPlace, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof TokenctlError)) throw error;
      problems.push({ place: place.name, error });
    }
  };
  const doubts: string[] = [];
  for (const place of await options.places()) {
    await attempt(place, async () => {
      const change = await place.change(marks);
      const match = await findUser(change, signal, rules);
      if (match.result === 'none') return;
      const user = match.result === 'user' ? match.user : null;
      const isByName = match.result === 'user' && match.isByName;
      const names =
        user === null || !isByName
          ? NO_HISTORY
          : await nameHistory(change, [{ id: user.id, name: user.username }]);
      const doubt =
        match.result === 'doubt' ? match.why : await doubtAbout({ ...match, change, signal, names }, limits);
      if (doubt !== null) doubts.push(`${place.name}: ${doubt}`);
      if (match.result === 'user') found.push({ place, change, names, ...match });
    });
  }
  const users = [...new Set(found.map(({ user }) => user.username))];
  if (doubts.length > 0) return { ...held(doubts.join('; ')), users };
  if (found.length === 0 && problems.length === 0)
    return maybeSession(signal)
      ? held('No user matches the subject, which may be a session ID')
      : { state: 'ignored', reason: 'No user matches the subject' };
  const hour = { countedAs: countedAs(signal), limit: limits.usersPerHour, withinMs: HOUR_MS };
  const counted = found.length > 0 && signal.released === null ? await store.admit(users, hour) : [];
  if (counted === null) return { ...held(`More than ${limits.usersPerHour} users within an hour`), users };
  const carried: { readonly text: string; readonly result: Carried }[] = [];
  for (const { place, change, user, basis, names } of found) {
    await attempt(place, async () => {
      const reason = `signal ${signal.kinds.join(', ')} about ${subjectText(subject)} (${basis})`;
      const result = await carryOut({ ...change, reason, files: options.files }, { action, user });
      const { unread, remarks } = names;
      const text = [
        `${place.name}: ${user.username} ${result.text}`,
        ...(unread ? [unread] : []),
        ...remarks,
      ];
      carried.push({ result, text: text.join('; ') });
    });
  }
  const runs = carried.flatMap(({ result }) => result.run ?? []);
  const texts = carried.map(({ text }) => text);
  const failed = failedOutcome(problems, { attempts, texts, now: options.clock.now() });
  if (failed !== null) return { ...failed, users, runs };
  // Signals that end nothing must not use up the limit for those that do.
  if (carried.every(({ result }) => result.result !== 'done')) await store.uncount(counted, hour);
  const state = carried.every(({ result }) => result.result === 'unable') ? 'ignored' : 'done';
  return { state, reason: texts.join('; '), users, runs };
}

/** Users are counted per action, and separately after a compromise, which must not wait behind logouts. */
function countedAs({ action, kind }: Signal): string {
  return kind === 'credential-compromise' ? `${action} after a compromise` : action;
}

/**
 * Whether the subject may be a session of any user: an opaque subject of a revoked session (CAEP 1.0, section
 * 3.1). The interoperability profile (section 2.5) never identifies a user this way.
 */
function maybeSession({ kind, subject, released }: Signal): boolean {
  return kind === 'session-revoked' && subject?.format === 'opaque' && released === null;
}

/** The user of a signal in a place. */
interface Found {
  readonly place: SignalPlace;
  readonly change: Change;
  readonly user: User;
  readonly basis: string;
  readonly names: NameHistory;
}

function findUser({ target }: Change, signal: Signal, rules: MatchingRules): Promise<Match> {
  const chosen = signal.released?.user ?? null;
  if (chosen !== null) return namedUser(target, chosen);
  return signal.subject === null
    ? Promise.resolve({ result: 'none' })
    : matchUser(target, signal.subject, rules);
}

/** Why a user must not be acted on without a person's decision; null if there is no doubt. */
async function doubtAbout(
  { user, change, signal, names }: Pick<Found, 'user' | 'change' | 'names'> & { signal: Signal },
  { except, localUsers }: SignalLimits,
): Promise<string | null> {
  const { username } = user;
  if (matchesAny(username, except)) return `${username} is one of the exceptions`;
  if (user.id === change.description.identity.id) return `tokenctl is logged in as ${username}`;
  // A person who releases a signal for a user has considered the consequences.
  if (signal.released?.user === username) return null;
  if (names.earlier.length > 0) return names.remarks.join(' ');
  if (localUsers === 'hold' && user.externalAccount === null && signal.released === null)
    return `${username} is a local account, which a provider has no authority over`;
  const deactivates = signal.action === 'offboard' || signal.action === 'lockdown';
  if (!deactivates || !user.isSuperuser) return null;
  for await (const other of change.target.users.list())
    if (other.isSuperuser && other.isActive !== false && other.id !== user.id) return null;
  return `${username} is the only superuser`;
}

function held(reason: string): SignalOutcome {
  return { state: 'held', reason };
}

/**
 * The outcome of failed places; null if none failed. Transient errors are retried; a person gets the rest.
 */
function failedOutcome(
  problems: readonly { readonly place: string | null; readonly error: TokenctlError }[],
  { attempts, texts, now }: { attempts: number; texts: readonly string[]; now: Date },
): SignalOutcome | null {
  if (problems.length === 0) return null;
  const said = problems.map(({ place, error: { message, hint } }) => {
    const text = hint === undefined ? message : `${message}. ${hint}`;
    return place === null ? text : `${place}: ${text}`;
  });
  const reason = [...texts, ...said].join('; ');
  const passes = problems.some(({ error }) => PASSING.includes(error.code));
  if (!passes || attempts >= MAX_ATTEMPTS) return held(reason);
  const pause = PAUSES_MS[Math.min(attempts, PAUSES_MS.length) - 1] ?? PAUSES_MS[0];
  return { state: 'waiting', reason, retryAt: new Date(now.getTime() + pause) };
}

/** The maximum number of ids that an audit log entry names. */
const MAX_MARKED = 20;

function marksOf(claims: readonly SignalClaim[]): Readonly<Record<string, string>> {
  const [first] = claims;
  if (first === undefined) return {};
  const { transmitter, issuer, kinds } = first.signal;
  const ids = claims.map(({ signal }) => signal.jti);
  return {
    signal: someOf(ids, MAX_MARKED),
    signal_issuer: issuer,
    signal_kind: `${kinds.join(', ')} from ${transmitter}`,
  };
}

/** The key of signals that ask for the same: they are processed together. */
export function signalGroup({ transmitter, action, subject, kind, released }: Signal): string {
  return JSON.stringify([transmitter, action, kind, subject, released]);
}
