import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { tokensInUse } from '../../app/tokens-in-use.ts';
import { policyFrom } from '../../config/policy.ts';
import { isTokenOf } from '../../domain/leased-token.ts';
import { isOpen, isRowDue, type Lease } from '../../domain/leases.ts';
import { matchesAny } from '../../domain/policy/subject.ts';
import type { OwnersEnd } from '../../domain/sunset.ts';
import type { Token } from '../../domain/token.ts';
import { isLeaseHere, readLeases } from '../../operations/journal/recorded-leases.ts';
import type { Target, TargetDescription } from '../../operations/ports/target.ts';
import { requireMayChange, requireRights } from '../../operations/scope/visibility.ts';
import {
  isUsedLately,
  lastUses,
  planSunset,
  recordSunset,
  releaseLeases,
  type SunsetPlan,
  type SunsetWeek,
  sunsetWeeks,
} from '../../operations/sunset/sunset.ts';
import { good, lines, list, warning, would } from '../../reports/document.ts';
import { type Listing, listing } from '../../reports/tables/listing.ts';
import { countText, dayText } from '../../reports/tables/text.ts';
import { revocationGuard } from '../change/approval.ts';
import type { ChangeRequest, PlannedChange } from '../change/change.ts';
import { placeText } from '../change/plan-text.ts';
import { instantFor, selectionOrAllFrom } from '../flags/flags.ts';
import { notHere } from '../leases/lease-flow.ts';
import { endingJobText } from '../leases/lease-text.ts';
import { selectTokens } from '../tokens/token-selection.ts';
import type { SunsetFlags } from './sunset-flags.ts';

/** What `tokens sunset` prints with `--json`. */
export interface SunsetJson {
  readonly dryRun: boolean;
  /** Its id, for --undo. */
  readonly sunset: string;
  readonly owners: readonly (Pick<OwnersEnd, 'owner' | 'until'> & { readonly tokens: readonly number[] })[];
  readonly left: SunsetPlan['left'];
  /** Number of tokens that got an end; null if nothing was done. */
  readonly recorded: number | null;
}

/** What `tokens sunset --undo` prints with `--json`. */
export interface SunsetUndoJson {
  readonly dryRun: boolean;
  /** The tokens whose ends are withdrawn. */
  readonly tokens: readonly number[];
}

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 60;
const DEFAULT_NOTICE = 7;
const DEFAULT_PER_DAY = 500;

/**
 * Plans an end for each selected token without one.
 * @throws TokenctlError `usage` if there are too few days, and as the selection.
 */
export async function sunsetFlow(
  request: ChangeRequest<SunsetFlags>,
): Promise<PlannedChange<number, SunsetJson>> {
  const { runtime, flags } = request;
  const description = await runtime.description();
  const { context } = description;
  const isInRow = description.credential === 'database_role';
  const selection = selectionOrAllFrom(flags, await instantFor(flags, runtime));
  const { tokens } = await selectTokens(runtime, selection, flags);
  const target = await runtime.target();
  const inUse = await tokensInUse(runtime);
  const plan = await planSunset({
    ...{ target, tokens: tokens() },
    leases: await readLeases(await runtime.auditLog(), description),
    spread: {
      now: (await runtime.targetClock()).now(),
      notice: Math.floor((flags.notice ?? DEFAULT_NOTICE * DAY_MS) / DAY_MS),
      days: Math.floor((flags.over ?? DEFAULT_DAYS * DAY_MS) / DAY_MS),
      perDay: flags['per-day'] ?? DEFAULT_PER_DAY,
      weekends: flags.weekends === true,
    },
    maxLifetime: flags['max-lifetime'] === undefined ? undefined : flags['max-lifetime'] / 1000,
    exceptions: policyFrom(runtime.configuration.policy)['never-expires'].exceptions,
    own: [...inUse.contexts.keys()],
  });
  const { owners, id } = plan;
  const count = owners.reduce((sum, each) => sum + each.tokens.length, 0);
  const [first, last] = [owners[0]?.until, owners.at(-1)?.until];
  const job = first === undefined ? '' : (await endingJobText(runtime, { context, until: first })).text;
  return {
    plan: [
      count === 0 || first === undefined || last === undefined
        ? lines('No selected token needs an end date.', leftTexts(plan), inUse.unknown)
        : lines(
            would`set an end date for ${countText(count, 'token')} of ${countText(owners.length, 'owner')}, from ${dayText(first)} to ${dayText(last)}, as ${id}:`,
            placeText(description),
            list(owners.slice(0, SHOWN).map(ownerText)),
            owners.length > SHOWN && `and ${owners.length - SHOWN} more (--json lists all)`,
            isInRow &&
              'The end date is also stored with the tokens in the database: the controller rejects them after it.',
            leftTexts(plan),
            inUse.unknown.map((text) => warning`${text}`),
            flags['dry-run'] !== true && `Until then, undo it with: tokenctl tokens sunset --undo ${id}.`,
            job,
          ),
    ],
    question:
      count === 0
        ? null
        : { act: `set an end date for ${countText(count, 'token')}`, type: String(count), tokens: count },
    amount: { what: 'token', planned: count },
    // They are revoked without another question.
    guard: {
      ...revocationGuard(count),
      what: `Setting an end date for ${countText(count, 'token')}`,
      command: null,
    },
    require: () => requireMayEnd(description),
    async act(begin) {
      const { onProgress, ...change } = await begin();
      return await recordSunset(change, plan, (done) => onProgress({ done, total: count, failed: 0 }));
    },
    ended: (done) => ({
      document: [lines(good`Recorded the end date of ${countText(done, 'token')}, as ${id}.`, job)],
      amount: { what: 'token', planned: count, done },
      failure:
        done === count
          ? undefined
          : new TokenctlError(
              runtime.caughtSignal()?.aborted === true ? 'interrupted' : 'partly_done',
              `${countText(count - done, 'token')} got no end date from this sunset`,
              { hint: 'Run the command again to continue with the rest.' },
            ),
    }),
    json: ({ dryRun, done }) => ({
      ...{ dryRun, sunset: id, left: plan.left, recorded: done },
      owners: owners.map((each) => ({ ...each, tokens: each.tokens.map((token) => token.id) })),
    }),
  };
}

/** In a database, the token rows are written as well. */
function requireMayEnd(description: TargetDescription): void {
  requireMayChange(description);
  requireRights(description, { what: 'A sunset', purposes: ['ends'] });
}

/** The maximum number of owners in a plan. */
const SHOWN = 20;

function ownerText({ owner, tokens, until }: OwnersEnd): string {
  return `${dayText(until)}: ${countText(tokens.length, 'token')} of ${owner.username}`;
}

function leftTexts({ left }: SunsetPlan): readonly string[] {
  const { leased, excepted, ofApplications, withoutOwner, ending } = left;
  const all = [
    [ending, 'expire soon enough by themselves'],
    [leased, 'already have a lease, or belong to one of your contexts'],
    [excepted, 'have an exception in the policy (never-expires)'],
    [ofApplications, 'belong to applications: shorten the configured lifetime, and revoke them'],
    [withoutOwner, 'have no owner'],
  ] as const;
  return all.filter(([count]) => count > 0).map(([count, text]) => `Left: ${count} ${text}.`);
}

/**
 * Plans to withdraw the future ends of a sunset, for all its tokens or those of some users.
 * @throws TokenctlError `not_found`
 */
export async function sunsetUndoFlow(
  { runtime, flags }: ChangeRequest<SunsetFlags>,
  sunset: string,
): Promise<PlannedChange<number, SunsetUndoJson>> {
  const description = await runtime.description();
  const all = await sunsetLeases(runtime, sunset);
  const { user: users } = flags;
  // An interrupted run may have rows that are still to be written.
  const leases = all
    .filter((lease) => isOpen(lease) || isRowDue(lease))
    .filter(({ owner }) => users === undefined || matchesAny(owner.username, users));
  const count = leases.length;
  const elsewhere = leases.find((lease) => lease.row !== null && !isLeaseHere(lease, description));
  if (elsewhere !== undefined) throw notHere(elsewhere, description);
  return {
    plan: [
      count === 0
        ? lines(`No end date of ${sunset} can still be undone.`)
        : lines(
            would`remove the end date of ${countText(count, 'token')} of ${sunset}.`,
            placeText(description),
            'The controller accepts them until they expire there.',
          ),
    ],
    question:
      count === 0
        ? null
        : { act: `remove the end date of ${countText(count, 'token')}`, type: String(count) },
    amount: { what: 'token', planned: count },
    // Otherwise one person could remove any end, although `tokens leases --extend` requires two.
    guard:
      count === 0
        ? undefined
        : {
            what: `Removing the end date of ${countText(count, 'token')}`,
            alone: () => false,
            command: null,
            instead: 'Change end dates one by one with `tokenctl tokens leases --extend` and --plan-out.',
          },
    require: () => (leases.some(({ row }) => row !== null) ? requireMayEnd : requireMayChange)(description),
    async act(begin) {
      const change = await begin();
      const open = new Set(
        (await sunsetLeases(runtime, sunset)).flatMap((lease) =>
          isOpen(lease) || isRowDue(lease) ? [lease.id] : [],
        ),
      );
      const still = leases.filter(({ id }) => open.has(id));
      await releaseLeases(change, still);
      // A job may have been revoking some at that moment.
      return (await listedOf(change.target, still)).length;
    },
    ended: (done) => ({
      document: [lines(`Removed the end date of ${countText(done, 'token')}.`)],
      amount: { what: 'token', planned: count, done },
      failure:
        done === count
          ? undefined
          : new TokenctlError('partly_done', `${countText(count - done, 'token')} ended before that`, {
              hint: 'See `tokenctl tokens leases --all`.',
            }),
    }),
    json: ({ dryRun }) => ({ dryRun, tokens: leases.flatMap(({ token }) => token?.id ?? []) }),
  };
}

/** The leases whose tokens are still listed. */
async function listedOf(target: Target, leases: readonly Lease[]): Promise<readonly Lease[]> {
  if (leases.length === 0) return [];
  const ids = leases.flatMap(({ token }) => token?.id ?? []);
  const tokens = new Map<number, Token>();
  await target.tokens({ ids }).each((page) => {
    for (const token of page) tokens.set(token.id, token);
  });
  return leases.filter((lease) => {
    const listed = tokens.get(lease.token?.id ?? 0);
    return listed !== undefined && isTokenOf(lease, listed);
  });
}

async function sunsetLeases(runtime: Runtime, sunset: string | undefined): Promise<readonly Lease[]> {
  const leases = await readLeases(await runtime.auditLog(), await runtime.description());
  const found = leases.filter(
    (lease) => lease.sunset !== null && (sunset === undefined || lease.sunset === sunset),
  );
  if (found.length > 0 || sunset === undefined) return found;
  throw new TokenctlError('not_found', `There is no sunset ${sunset} on this controller`, {
    hint: 'List the end dates with `tokenctl tokens leases --sunset`.',
  });
}

/**
 * The ends of all sunsets of the controller by week; the leases that end within a week and are in use; and
 * the number of tokens for which that is unknown.
 * @throws TokenctlError as the log and the target.
 */
export async function sunsetStatus(runtime: Runtime) {
  const leases = (await sunsetLeases(runtime, undefined)).filter(({ state }) => state !== 'released');
  const now = (await runtime.targetClock()).now();
  const target = await runtime.target();
  const ids = leases.filter(isOpen).flatMap(({ token }) => token?.id ?? []);
  const tokens = ids.length === 0 ? [] : await Array.fromAsync(target.tokens({ ids }));
  const used = await lastUses(target, { tokens, now });
  const soon = new Date(now.getTime() + 7 * DAY_MS).toISOString();
  return {
    weeks: sunsetWeeks(leases, { used, now }),
    inUse: leases.filter(
      (lease) => isOpen(lease) && lease.until <= soon && isUsedLately(lease, { used, now }),
    ),
    unknownUses: tokens.filter(({ id }) => !used.has(id)).length,
  };
}

/** Lists the ends by week, and names on stderr the tokens that end within a week and are in use. */
export async function sunsetStatusFlow(runtime: Runtime): Promise<Listing<SunsetWeek, SunsetWeek>> {
  const { writeNotice } = await import('../output/streams.ts');
  const { weeks, inUse, unknownUses } = await sunsetStatus(runtime);
  if (unknownUses > 0)
    writeNotice(`Whether ${countText(unknownUses, 'token')} of the sunset are in use is not known.`);
  for (const { token, owner, until } of inUse)
    writeNotice(
      `Still in use: token ${token?.id} of ${owner.username}, which ends on ${until.slice(0, 10)}.`,
    );
  const most = Math.max(1, ...weeks.map(({ left }) => left));
  return listing({
    rows: weeks,
    columns: [
      { name: 'week', cell: ({ week }) => week, whole: true },
      { name: 'end', cell: ({ ends }) => String(ends) },
      { name: 'ended', cell: ({ ended }) => String(ended) },
      {
        name: 'in_use',
        cell: ({ inUse }) => String(inUse),
        tone: ({ inUse }) => (inUse > 0 ? 'warning' : undefined),
      },
      { name: 'left', cell: ({ left }) => String(left) },
      { name: 'chart', cell: ({ left }) => '█'.repeat(Math.ceil((left / most) * 40)), narrow: 'below' },
    ],
    json: (week) => week,
    none: 'No sunset.',
  });
}
