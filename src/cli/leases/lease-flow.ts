import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { isLeaseDue, isOpen, type Lease } from '../../domain/leases.ts';
import { shellWord } from '../../domain/remedies.ts';
import {
  dueLeases,
  extendLease,
  isLeaseHere,
  planExtension,
  readLeases,
  requireLease,
} from '../../operations/journal/recorded-leases.ts';
import { endDueLeases } from '../../operations/leases/end-due-leases.ts';
import { type EndedLease, endLeases, isThere, leftLeases } from '../../operations/leases/end-leases.ts';
import { writeRowEnds } from '../../operations/leases/row-ends.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { requireSameController, type SavedExtension } from '../../operations/revocation/saved-plan.ts';
import { requireRights } from '../../operations/scope/visibility.ts';
import { good, lines, list, warning, would } from '../../reports/document.ts';
import { type Listing, listing, timeColumn } from '../../reports/tables/listing.ts';
import { countText, timeText } from '../../reports/tables/text.ts';
import { revocationGuard } from '../change/approval.ts';
import type { ChangeRequest, PlanFileJson, PlannedChange } from '../change/change.ts';
import { readExtensionFile, writeExtensionFile } from '../change/plan-file.ts';
import { placeText } from '../change/plan-text.ts';
import type { LeaseFlags } from './lease-flags.ts';
import { endDueCommand, leaseEndText, tellOfDueLeases } from './lease-text.ts';

/** A lease as `tokens leases` prints it with `--json`. */
export interface LeaseJson
  extends Pick<
    Lease,
    'id' | 'state' | 'why' | 'origin' | 'scope' | 'until' | 'begun' | 'by' | 'ended' | 'failure'
  > {
  /** Null if unknown, or if there is none. */
  readonly token: Lease['token'];
  readonly user: string;
  readonly isOverdue: boolean;
  /** Whether its end is also in the token's row: the controller then refuses it. */
  readonly isInRow: boolean;
  /** Where it began. */
  readonly place: { readonly context: string; readonly address: string };
}

/** What `tokens leases --extend`, `--end` and `--due` print with `--json`. */
export interface LeaseChangeJson extends PlanFileJson {
  readonly dryRun: boolean;
  readonly leases: readonly LeaseJson[];
  /** The result of each; null if nothing was revoked. */
  readonly ended: readonly EndedLease[] | null;
}

/** Lists the controller's leases, open or all. Throws as the log and the target. */
export async function leaseListFlow(
  runtime: Runtime,
  { all }: Pick<LeaseFlags, 'all'>,
): Promise<Listing<LeaseJson, LeaseJson>> {
  const rows = await leaseRows(runtime, all === true);
  await tellOfDueLeases(runtime);
  return listing({
    rows,
    columns: [
      { name: 'lease', cell: ({ id }) => id, whole: true },
      { name: 'token', cell: ({ token }) => String(token?.id ?? ''), whole: true },
      { name: 'user', cell: ({ user }) => user },
      { name: 'scope', cell: ({ scope }) => scope },
      { name: 'why', cell: ({ why }) => why },
      { name: 'rule', cell: ({ origin }) => origin?.rule ?? '', only: 'unlessEmpty' },
      timeColumn('ends', ({ until }) => new Date(until)),
      // As in the list of tokens.
      { name: 'ends_by', cell: ({ isInRow }) => (isInRow ? 'stored' : 'lease') },
      {
        name: 'state',
        cell: ({ state, isOverdue }) => (isOverdue ? 'OVERDUE' : state),
        csv: ({ state, isOverdue }) => (isOverdue ? 'overdue' : state),
        tone: ({ isOverdue }) => (isOverdue ? 'bad' : undefined),
        whole: true,
      },
      timeColumn(
        'controller_accepts_until',
        ({ token, isInRow, until }) => (token === null ? null : new Date(isInRow ? until : token.expires)),
        { only: 'csv' },
      ),
      { name: 'problem', cell: ({ failure }) => failure ?? '', only: 'unlessEmpty', narrow: 'below' },
      { name: 'context', cell: ({ place }) => place.context, only: 'csv' },
    ],
    json: (lease) => lease,
    none: all === true ? 'No leases.' : 'No open leases.',
  });
}

/** The controller's leases, open or all, without a warning about due ones. */
export async function leaseRows(runtime: Runtime, all: boolean): Promise<readonly LeaseJson[]> {
  const leases = await readLeases(await runtime.auditLog(), await runtime.description());
  const now = (await runtime.targetClock()).now();
  return leases.filter((lease) => all || isOpen(lease)).map((lease) => jsonOf(lease, now));
}

function jsonOf(lease: Lease, now: Date): LeaseJson {
  const { id, state, why, origin, token, owner, scope, until, begun, by, ended, failure, target, row } =
    lease;
  return {
    ...{
      id,
      state,
      why,
      origin,
      token,
      user: owner.username,
      scope,
      until,
      isOverdue: isLeaseDue(lease, now),
    },
    ...{ begun, by, ended, failure, isInRow: row?.isWritten === true },
    place: { context: target['context'] ?? '', address: target['address'] ?? '' },
  };
}

/** Plans another end of a lease, or the end of one or of all due ones. Throws `not_found`, `usage`. */
export async function leaseChangeFlow(
  request: ChangeRequest<LeaseFlags>,
): Promise<PlannedChange<readonly EndedLease[], LeaseChangeJson>> {
  const { runtime, flags } = request;
  const { extend, for: lasts = 0 } = flags;
  const log = await runtime.auditLog();
  const description = await runtime.description();
  const now = (await runtime.targetClock()).now();
  if (flags.plan !== undefined) return await savedExtensionFlow(request, flags.plan);
  if (extend !== undefined) {
    const lease = await planExtension(log, description, { lease: extend, seconds: lasts / 1000, now });
    return await extensionFlow(request, { lease });
  }
  const { end } = flags;
  const leases =
    end === undefined
      ? (await dueLeases({ log, description, now })).here
      : [requireLease(await readLeases(log, description), end)].filter(isOpen);
  const { context } = description;
  const moved = leases.find((lease) => !isLeaseHere(lease, description));
  if (moved !== undefined && moved.target['context'] !== context) throw notHere(moved, description);
  const none = end === undefined ? `No open lease of ${context} has expired.` : 'This lease is not open.';
  return {
    plan:
      leases.length === 0
        ? [lines(none)]
        : [
            lines(
              would`revoke the tokens of ${countText(leases.length, 'lease')}:`,
              placeText(description),
              list(leases.map(leaseText)),
              moved &&
                warning`It was created at ${moved.target['address'] ?? ''}. Only do this if it is still the same controller.`,
            ),
          ],
    question:
      leases.length === 0
        ? null
        : {
            act: `revoke ${countText(leases.length, 'token')}`,
            type: String(leases.length),
            tokens: leases.length,
          },
    amount: { what: 'token', planned: leases.length },
    // A due lease was decided on when it got its end.
    guard: end === undefined ? undefined : revocationGuard(leases.length),
    async act(begin) {
      const change = await begin();
      if (end !== undefined) return await endLeases({ ...change, isMoved: true }, leases);
      return await endDueLeases(change, leases);
    },
    ended: (ended) => ({
      document: [lines(ended.map(endedText))],
      amount: { what: 'token', planned: leases.length, done: ended.filter(({ how }) => how !== null).length },
      failure: leftLeases(ended, `Run the command again after resolving this: ${endDueCommand(context)}`),
    }),
    json: ({ dryRun, done, file }) => ({
      ...{ dryRun, ...file, ended: done },
      leases: leases.map((lease) => jsonOf(lease, now)),
    }),
  };
}

export function notHere({ id, target }: Lease, { address }: TargetDescription): TokenctlError {
  const { context = '' } = target;
  return new TokenctlError(
    'usage',
    `${id} was created at ${target['address']}, but this is ${address}, which may be a copy of that controller`,
    { hint: `Use --context ${shellWord(context)}.` },
  );
}

function leaseText({ id, token, owner, until, state }: Lease): string {
  const which =
    token === null
      ? `the token of ${owner.username}, if it was created`
      : `token ${token.id} of ${owner.username}`;
  return `${id}: ${which}, ${state === 'unknown' ? 'its creation was interrupted' : `ends at ${timeText(new Date(until))}`}`;
}

function endedText({ lease, token, owner, how, why }: EndedLease) {
  const of = `token ${token ?? ''} of ${owner}`;
  if (how === 'revoked') return good`${lease}: ${of} was revoked and is no longer listed.`;
  if (how === 'gone') return `${lease}: ${of} was already gone.`;
  if (how === 'unmade') return `${lease}: no token was created.`;
  return `${lease}: left. ${why}.`;
}

/** The token's row is written as well. */
function requireEnds(description: TargetDescription, { row }: Lease): void {
  if (row !== null) requireRights(description, { what: 'Moving this end', purposes: ['ends'] });
}

function endedMeanwhile({ id, token }: Lease): TokenctlError {
  return new TokenctlError(
    'partly_done',
    `${id} has ended in the meantime: token ${token?.id} may be revoked`,
    { hint: 'See `tokenctl tokens leases --all`. Create a new token with `tokenctl tokens create --for`.' },
  );
}

/** The extension of a saved plan: of the same token, to the same end. */
async function savedExtensionFlow(request: ChangeRequest<LeaseFlags>, path: string) {
  const { runtime } = request;
  const saved = readExtensionFile(path);
  const description = await runtime.description();
  requireSameController(saved, description);
  const now = (await runtime.targetClock()).now();
  const seconds = (Date.parse(saved.until) - now.getTime()) / 1000;
  const lease = await planExtension(await runtime.auditLog(), description, {
    lease: saved.lease,
    seconds,
    now,
  });
  if (lease.token?.id === saved.token && lease.owner.username === saved.user && seconds > 0)
    return await extensionFlow(request, { lease, saved });
  throw new TokenctlError(
    'plan_outdated',
    `The plan ${path} is for another token, or its end time has passed`,
    { hint: 'Create a new plan with --plan-out.' },
  );
}

/**
 * Changes nothing on the controller, so no one is asked. Extending a sunset's lease needs two people if the
 * four-eyes rule is in force.
 */
async function extensionFlow(
  { runtime, flags }: ChangeRequest<LeaseFlags>,
  { lease, saved }: { lease: Lease; saved?: SavedExtension },
): Promise<PlannedChange<readonly EndedLease[], LeaseChangeJson>> {
  const description = await runtime.description();
  const { context } = description;
  const now = (await runtime.targetClock()).now();
  const until = new Date(lease.until);
  const isInRow = lease.row !== null;
  if (isInRow && !isLeaseHere(lease, description)) throw notHere(lease, description);
  const expires = new Date((isInRow ? null : lease.token?.expires) ?? lease.until);
  const end = await leaseEndText(runtime, { context, until, expires });
  return {
    plan: [
      lines(
        would`change the end of ${lease.id}, token ${String(lease.token?.id)}, to ${timeText(until)}.`,
        ...end,
      ),
    ],
    require: () => requireEnds(description, lease),
    question: 'unneeded',
    guard: {
      ...{ saved, what: `Changing the end of token ${lease.token?.id}`, command: 'tokens leases' },
      alone: ({ aloneUpTo }) => lease.sunset === null || aloneUpTo > 0,
    },
    save: (path) =>
      writeExtensionFile(runtime, {
        ...{ path, flags, lease: lease.id, until: lease.until },
        ...{ token: lease.token?.id ?? 0, user: lease.owner.username },
      }),
    async act(begin) {
      const change = await begin();
      const known = await readLeases(change.log, change.description);
      if (!known.some((each) => each.id === lease.id && each.state === 'open')) throw endedMeanwhile(lease);
      await extendLease(change, lease);
      if (isInRow) await writeRowEnds(change);
      if (await isThere(change, lease)) return [];
      // A job was revoking it at that moment.
      throw endedMeanwhile(lease);
    },
    ended: () => ({ document: [lines(`${lease.id}: token ${lease.token?.id}.`, ...end)] }),
    json: ({ dryRun, file }) => ({ dryRun, ...file, leases: [jsonOf(lease, now)], ended: null }),
  };
}
