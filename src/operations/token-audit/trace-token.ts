import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { TokenOrigin } from '../../domain/broker/rules.ts';
import { controllerTime } from '../../domain/clock-difference.ts';
import { isTokenOf } from '../../domain/leased-token.ts';
import { type RecordedUses, usedToken } from '../../domain/recorded-use.ts';
import type { Activity, Token, UserReference } from '../../domain/token.ts';
import { numberSince } from '../audit-log/list-log.ts';
import { isSameController, listOf, objectOf } from '../journal/journal.ts';
import { lastUseBefore, ownUseAt, readOwnUses } from '../journal/own-uses.ts';
import { readLeases } from '../journal/recorded-leases.ts';
import type { AuditLog, Entry } from '../ports/audit-log.ts';
import type { Clock } from '../ports/clock.ts';
import type { ReadTarget, Target, TargetDescription } from '../ports/target.ts';
import { lastUseDays } from '../tokens/last-use-days.ts';
import { isRefusal } from './audit-facts.ts';

/** The owner's actions in the activity stream. */
export interface OwnerActivity {
  readonly owner: UserReference;
  /** Since the token's creation. */
  readonly since: Date;
  readonly count: number;
  /** Whether there are more than were counted. */
  readonly more: boolean;
  /** The last of those counted, oldest first. */
  readonly last: readonly Activity[];
}

/** A use of a token by this tool. */
interface TracedUse {
  readonly at: Date;
  readonly run: string;
  /** Whether this is the last use that the target shows; null if it shows only the day. */
  readonly isLast: boolean | null;
  /** The last use before it; null for never, absent if unknown. */
  readonly before?: Date | null;
}

export interface TokenTrace {
  readonly tokenId: number;
  /** Null if deleted or not visible to the caller; with the day of its last use if its time is hidden. */
  readonly token: (Token & { readonly lastUsedOn?: Date | null }) | null;
  /** The last time this tool used it while searching for leaks, from the audit log; null for never. */
  readonly ownUse: TracedUse | null;
  /** The identity for which a broker created it, from the audit log; null for others. */
  readonly origin: TokenOrigin | null;
  /** Its creation in the activity stream; null if not recorded there. */
  readonly made: Activity | null;
  /** Its other entries in the activity stream, oldest first. */
  readonly history: readonly Activity[];
  /** The requests with it that a gateway recorded; null for none, and if uses are not recorded. */
  readonly recordedUses: Omit<RecordedUses, 'tokenId'> | null;
  /** Null if the owner is unknown or the target refuses. */
  readonly ownerActivity: OwnerActivity | null;
  /** Entries of the audit log that name it, oldest first. */
  readonly entries: readonly EntryOfToken[];
  /** What the target refused to show, and why. */
  readonly notTold: readonly { readonly what: 'history' | 'owner_activity'; readonly why: string }[];
}

export interface TraceTokenOptions extends ReadTarget {
  readonly log: Pick<AuditLog, 'entries' | 'head'>;
  readonly tokenId: number;
}

/** The maximum number of the owner's actions to count; as many are returned. */
const COUNTED = 10_000;
const GIVEN = 20;

/** Gathers what is known about a token, existing or not. Reads only. Throws `not_found` if nothing is. */
export async function traceToken(options: TraceTokenOptions): Promise<TokenTrace> {
  const { target, tokenId, clock } = options;
  const notTold: { what: 'history' | 'owner_activity'; why: string }[] = [];
  const told = async <T>(what: 'history' | 'owner_activity', ask: () => Promise<T>): Promise<T | null> => {
    try {
      return await ask();
    } catch (error) {
      if (!isRefusal(error)) throw error;
      notTold.push({ what, why: error.message });
      return null;
    }
  };
  const token = await readToken(target, tokenId, clock);
  const { activity, recordedUses } = (await told('history', () => historyOf(target, tokenId))) ?? NOTHING;
  const made = activity.find(({ operation }) => operation === 'create') ?? null;
  const owner = token?.user ?? made?.actor ?? null;
  const since = token?.created ?? made?.at ?? null;
  const entries = await entriesOfToken({ ...options, since });
  const isKnown = token !== null || activity.length > 0 || recordedUses !== null || entries.length > 0;
  if (!isKnown)
    throw new TokenctlError('not_found', `Token ${tokenId} is not known to the target or the audit log`, {
      hint: 'Check the ID with `tokenctl tokens list`.',
    });
  const ownerActivity =
    owner === null || since === null
      ? null
      : await told('owner_activity', () => activityOf(target, { owner, since }));
  const history = activity.filter((each) => each !== made);
  const ownUse = token === null ? null : await readOwnUse(options, token);
  const origin = await originOf(options, token);
  return { tokenId, token, ownUse, origin, made, history, recordedUses, ownerActivity, entries, notTold };
}

/** For a token that no longer exists, the last one with its id counts. */
async function originOf({ log, description, tokenId }: TraceTokenOptions, token: Token | null) {
  const leases = (await readLeases(log, description)).filter(
    (lease) => lease.token?.id === tokenId && (token === null || isTokenOf(lease, token)),
  );
  return leases.findLast(({ origin }) => origin !== null)?.origin ?? null;
}

/** Excludes uses of an earlier token with the same id. */
async function readOwnUse({ log, description, tokenId }: TraceTokenOptions, { lastUsed, created }: Token) {
  const uses = (await readOwnUses(log, description)).filter(
    (use) => use.tokenId === tokenId && (use.created ?? created).getTime() === created.getTime(),
  );
  const last = uses.at(-1);
  if (last === undefined) return null;
  const own = lastUsed ? ownUseAt(lastUsed, uses) : undefined;
  const use = own ?? last;
  const before = lastUseBefore(use.usedAt, uses);
  return {
    at: use.usedAt,
    run: use.run,
    isLast: lastUsed === undefined ? null : own !== undefined,
    ...(before !== undefined && { before }),
  };
}

/** A token by its id, with the day of its last use if the time is not shown; null if it is not listed. */
export async function readToken(target: Target, tokenId: number, clock: Clock): Promise<TokenTrace['token']> {
  for await (const token of target.tokens({ ids: [tokenId] })) {
    return token.lastUsed === undefined ? await withLastUse(target, token, clock) : token;
  }
  return null;
}

/** A target without a filter for the last use leaves it unknown. */
async function withLastUse(target: Target, token: Token, clock: Clock): Promise<TokenTrace['token']> {
  try {
    const days = await lastUseDays(target, { tokens: [token], now: clock.now() });
    const lastUsedOn = days.get(token.id);
    return lastUsedOn === undefined ? token : { ...token, lastUsedOn };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return token;
  }
}

interface TokenHistory extends Pick<TokenTrace, 'recordedUses'> {
  readonly activity: readonly Activity[];
}

const NOTHING: TokenHistory = { activity: [], recordedUses: null };

async function historyOf(target: Target, tokenId: number): Promise<TokenHistory> {
  const activity: Activity[] = [];
  let recordedUses: TokenTrace['recordedUses'] = null;
  for await (const each of target.activity.list({ tokenIds: [tokenId] })) {
    const { at } = each;
    if (usedToken(each) === null) activity.push(each);
    else {
      const before: NonNullable<TokenTrace['recordedUses']> = recordedUses ?? {
        count: 0,
        first: at,
        last: at,
      };
      recordedUses = { ...before, count: before.count + 1, last: at };
    }
  }
  return { activity, recordedUses };
}

async function activityOf(target: Target, { owner, since }: { owner: UserReference; since: Date }) {
  let last: Activity[] = [];
  let count = 0;
  for await (const each of target.activity.list({ actorIds: [owner.id], since })) {
    if (usedToken(each) !== null) continue;
    if (count === COUNTED) return { owner, since, count, more: true, last: last.slice(-GIVEN) };
    count += 1;
    last.push(each);
    if (last.length > 2 * GIVEN) last = last.slice(-GIVEN);
  }
  return { owner, since, count, more: false, last: last.slice(-GIVEN) };
}

/** An entry of the audit log, reduced to what concerns one token. */
export interface EntryOfToken extends Pick<Entry, 'seq' | 'kind' | 'operation' | 'run' | 'actor'> {
  /** By the controller's clock (RFC 3339), as the other times of a trace. */
  readonly at: string;
  /** The token's result in an outcome; null for other entries. */
  readonly result: string | null;
}

/** The lists of an outcome that group its tokens by result. */
const RESULTS = ['revoked', 'unchanged', 'failed', 'notTried', 'stillAlive'];
/** Members that list access tokens: in the entries of a batch or a use, and in those without a step. */
const LISTS = [...RESULTS, 'tokens', 'tokenIds', 'ids', 'gone', 'alive'];
/** Members of a run's first and last entry that list access tokens. Their other lists may be of users. */
const OPERATION_LISTS = ['kept', 'own', 'alive'];
/** Members that are the id of one access token. */
const SINGLE = ['token', 'tokenId'];

/** The entries that name a token of this target, oldest first. Throws `log_broken`, `audit_unavailable`. */
async function entriesOfToken(options: {
  readonly log: Pick<AuditLog, 'entries' | 'head'>;
  /** When the token was created: no earlier entry is about it. Null if unknown. */
  readonly since: Date | null;
  readonly description: Pick<TargetDescription, 'address' | 'installUuid'>;
  readonly tokenId: number;
}): Promise<EntryOfToken[]> {
  const { log, description, tokenId, since } = options;
  const found: EntryOfToken[] = [];
  const start = since === null ? 1 : await numberSince(log, since);
  for await (const entry of log.entries(start)) {
    const { seq, kind, operation, run, actor, target, data } = entry;
    if (!isSameController(target, description) || !namesToken(data, tokenId)) continue;
    const at = controllerTime(entry).toISOString();
    const result = RESULTS.find((name) => lists(data[name], tokenId)) ?? null;
    found.push({ seq, at, kind, operation, run, actor, result: kind === 'outcome' ? result : null });
  }
  return found;
}

/** Whether an entry's data lists an access token by its id. Counts and ids of anything else do not match. */
export function namesToken(data: Entry['data'], tokenId: number): boolean {
  const { step } = data;
  if (SINGLE.some((name) => data[name] === tokenId)) return true;
  if (step === 'operation') return OPERATION_LISTS.some((name) => lists(data[name], tokenId));
  if (step !== 'batch' && step !== 'use' && step !== undefined) return false;
  return LISTS.some((name) => lists(data[name], tokenId));
}

/** Whether a list has the id: `[17]`, `[{ id: 17 }]` or, by owner, `[{ user, ids: [17] }]`. */
function lists(value: unknown, tokenId: number): boolean {
  return listOf(value).some((each) => {
    if (each === tokenId) return true;
    const group = objectOf(each);
    return group !== undefined && (group['id'] === tokenId || lists(group['ids'], tokenId));
  });
}
