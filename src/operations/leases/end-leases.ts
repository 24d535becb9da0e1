import { TokenctlError } from '@tokenctl/common/errors.ts';
import { isTokenOf } from '../../domain/leased-token.ts';
import { END_LEASE, type Lease, type LeaseEnding, markPattern } from '../../domain/leases.ts';
import type { Outcome } from '../../domain/plan.ts';
import type { Token } from '../../domain/token.ts';
import { requestsEnd } from '../access/requests-under-way.ts';
import { Journal } from '../journal/journal.ts';
import type { Change } from '../journal/operation-run.ts';
import { isLeaseHere } from '../journal/recorded-leases.ts';
import { planRevocation } from '../revocation/plan-revocation.ts';
import type { RevocationReport } from '../revocation/revocation-report.ts';
import { revokeTokens } from '../revocation/revoke-tokens.ts';
import { unseenPart } from '../scope/visibility.ts';

/** The result of ending a lease. */
export interface EndedLease {
  readonly lease: string;
  /** Its token; null if unknown. */
  readonly token: number | null;
  readonly owner: string;
  /** Null if it remains. */
  readonly how: LeaseEnding | null;
  /** Why it remains, as a sentence without a full stop; null if it ended. */
  readonly why: string | null;
}

/**
 * Ends leases now: revokes their tokens, verifies that, and records each result. A token is revoked only if
 * it is the lease's token: after a database restore, another token can have its id. An unlisted token is gone
 * if the account would see it. Leases that began at another address are skipped: this may be a copy of the
 * controller. Running it again finishes the work.
 * @param change.isMoved Set if a person confirmed that the controller of the leases is here now, and that
 * tokens which are not here are gone.
 * @throws TokenctlError `audit_unavailable`, and what the target throws if nothing could be tried.
 */
export async function endLeases(
  { isMoved = false, ...change }: Change & { isMoved?: boolean },
  leases: readonly Lease[],
): Promise<readonly EndedLease[]> {
  const here = leases.filter((lease) => isMoved || isLeaseHere(lease, change.description));
  const { found, listed } = await tokensOf(here, change);
  const revocation = await revoke(change, [...found.values()].flat());
  const ended = leases.map((lease) =>
    endingOf(lease, { tokens: found.get(lease) ?? [], listed, revocation, change, isMoved }),
  );
  const journal = new Journal({ ...change, operation: END_LEASE });
  await journal.notes(
    ended.flatMap(({ how, why, token }, place) => {
      const lease = leases[place];
      if (lease === undefined || (how === null && lease.failure === why)) return [];
      const selection = `${lease.id} ${how === null ? `is left: ${why}` : `ended: ${WORDS[how]}`}`;
      return [{ lease: lease.id, token, selection, ...(how === null ? { why } : { how }) }];
    }),
  );
  return ended;
}

const WORDS: Readonly<Record<LeaseEnding, string>> = {
  revoked: 'its token was revoked',
  gone: 'its token was gone',
  unmade: 'no token was created',
};

/** The tokens of leases, and the ids in use, even by other tokens. */
interface Found {
  readonly found: ReadonlyMap<Lease, readonly Token[]>;
  readonly listed: ReadonlySet<number>;
}

/**
 * The existing tokens of leases: one each, unless others copied the description of an interrupted creation.
 */
async function tokensOf(leases: readonly Lease[], { target }: Pick<Change, 'target'>): Promise<Found> {
  const found = new Map<Lease, Token[]>();
  const listed = new Set<number>();
  // A token can have two leases: from a sunset and from a rotation.
  const byId = Map.groupBy(
    leases.filter(({ token }) => token !== null),
    ({ token }) => token?.id ?? 0,
  );
  const note = (lease: Lease, token: Token) => found.set(lease, [...(found.get(lease) ?? []), token]);
  if (byId.size > 0) {
    for await (const token of target.tokens({ ids: [...byId.keys()] })) {
      listed.add(token.id);
      for (const lease of byId.get(token.id) ?? []) if (isTokenOf(lease, token)) note(lease, token);
    }
  }
  for (const lease of leases) {
    if (lease.token !== null) continue;
    const createdSince = new Date(Date.parse(lease.begun) - CLOCKS_MS);
    for await (const token of target.tokens({ descriptions: [markPattern(lease)], createdSince }))
      if (token.user?.username === lease.owner.username && token.application === null) note(lease, token);
  }
  return { found, listed };
}

/** The tolerance for a controller's recorded clock, in milliseconds. */
const CLOCKS_MS = 60_000;

/** Whether the target still lists the token of a lease; true if this account would not see it. */
export async function isThere(
  { target, description }: Pick<Change, 'target' | 'description'>,
  lease: Lease,
): Promise<boolean> {
  if (unseenPart(description, { users: [lease.owner.username] }) !== null) return true;
  for await (const token of target.tokens({ ids: [lease.token?.id ?? 0] }))
    if (isTokenOf(lease, token)) return true;
  return false;
}

/** A revocation, and the ids that it tried. */
interface Revocation {
  readonly report: RevocationReport;
  readonly tried: ReadonlySet<number>;
}

async function revoke(change: Change, tokens: readonly Token[]): Promise<Revocation | null> {
  if (tokens.length === 0) return null;
  const ids = [...new Set(tokens.map(({ id }) => id))];
  const { target, clock, description } = change;
  const words = `tokens whose lease ends: ${ids.join(', ')}`;
  const selector = { ids };
  const options = { target, clock, description, selector, words, includeOwn: true, accessOnly: true };
  const tried = new Set<number>();
  const onOutcome = ({ tokenId }: Outcome) => tried.add(tokenId);
  const plan = await planRevocation(options);
  return { report: await revokeTokens({ ...change, plan, onOutcome }), tried };
}

function endingOf(
  lease: Lease,
  options: {
    readonly tokens: readonly Token[];
    readonly listed: Found['listed'];
    readonly revocation: Revocation | null;
    readonly change: Pick<Change, 'description' | 'clock'>;
    readonly isMoved: boolean;
  },
): EndedLease {
  const { tokens, listed, revocation, change, isMoved } = options;
  const token = lease.token?.id ?? tokens[0]?.id ?? null;
  const common = { lease: lease.id, token, owner: lease.owner.username };
  const ends = (how: LeaseEnding) => ({ ...common, how, why: null });
  const stays = (why: string) => ({ ...common, how: null, why });
  if (!isMoved && !isLeaseHere(lease, change.description)) {
    const { address, context } = lease.target;
    return stays(
      `It was created at ${address} (context ${context}). A copy of that controller contains the same token`,
    );
  }
  if (tokens.length === 0) {
    const unseen = unseenPart(change.description, { users: [lease.owner.username] });
    if (unseen !== null) return stays(unseen);
    if (token !== null && listed.has(token) && !isMoved)
      return stays(`Token ${token} is a different token here: the ID is the same`);
    if (lease.token !== null) return ends('gone');
    const end = requestsEnd(new Date(lease.begun));
    const isUnderWay = change.clock.now().getTime() < Date.parse(end);
    return isUnderWay
      ? stays(`A request that creates its token may be in progress until ${end}`)
      : ends('unmade');
  }
  const { report, tried } = revocation ?? {};
  if (report === undefined) return stays('It was not tried');
  const ids = tokens.map(({ id }) => id);
  const failed = report.failed.find(({ tokenId }) => ids.includes(tokenId));
  if (failed !== undefined) return stays(failed.reason);
  if (report.stillAlive.some((id) => ids.includes(id))) return stays('It is still listed after that');
  const { verification, stopped } = report;
  if (verification.result === 'not_checked') return stays(stopped?.message ?? verification.why);
  return ids.every((id) => tried?.has(id)) ? ends('revoked') : stays('It was not tried');
}

/** The error that leases remain, with what to do; undefined if all ended. */
export function leftLeases(ended: readonly EndedLease[], hint: string): TokenctlError | undefined {
  const left = ended.filter(({ how }) => how === null);
  const [first] = left;
  if (first === undefined) return undefined;
  const named = left.map(({ lease, token }) => (token === null ? lease : `${lease} (token ${token})`));
  return new TokenctlError('partly_done', `Not ended: ${named.join(', ')}. ${first.why}`, {
    hint,
    details: { left },
  });
}
