import type { Runtime } from '../../app/runtime.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import type { Selection, Selector } from '../../domain/selector.ts';
import type { FailedToken } from '../../operations/journal/batches.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { type ResolvedSelection, resolveSelection, resolveTokenIds } from '../../operations/resolve-names.ts';
import { planRevocation } from '../../operations/revocation/plan-revocation.ts';
import type { RevocationReport, Verification } from '../../operations/revocation/revocation-report.ts';
import { requireMayRevoke, revokeTokens } from '../../operations/revocation/revoke-tokens.ts';
import { planFromSaved, type SavedPlan } from '../../operations/revocation/saved-plan.ts';
import { type Amount, type Report, report } from '../../reports/tables/result.ts';
import { countOf, countsText, countText, numberText, printable } from '../../reports/tables/text.ts';
import type { Confirmation } from '../confirmation.ts';
import { unfinishedWork } from '../errors/failure.ts';
import {
  approvalFor,
  approvalRefusal,
  needsTwoPersons,
  type PlanFlags,
  revocationGuard,
  writePlanFile,
} from './plan-file.ts';
import {
  amountsOf,
  expiredText,
  goneLines,
  idsText,
  isNothing,
  planResult,
  planText,
  questionFor,
  type RevocationJson,
  revocationToJson,
  savedPlanResult,
  staysAliveLines,
} from './revocation-plan.ts';

export interface RevocationRequest {
  readonly runtime: Runtime;
  /** The selection, or a saved plan to apply instead. */
  readonly selection: Selection | SavedPlan;
  readonly confirmation: Confirmation;
  readonly flags: RevocationFlags;
}

interface RevocationFlags extends PlanFlags {
  readonly 'at-most'?: number | undefined;
  readonly 'include-own'?: boolean | undefined;
  /** Leaves refresh tokens alive. */
  readonly 'access-only'?: boolean | undefined;
  readonly 'with-sessions'?: boolean | undefined;
  /** Selects only tokens that violate one of these rules. */
  readonly finding?: readonly string[] | undefined;
  /** The policy file to use instead of the configuration's policy. */
  readonly policy?: string | undefined;
}

/**
 * Plans, confirms, revokes and reports.
 *
 * @throws TokenctlError `not_confirmed`, `plan_too_large`, and the errors of the operations
 */
export async function revocationFlow(request: RevocationRequest): Promise<Report<RevocationJson>> {
  const { runtime, flags, selection } = request;
  const selected = isSavedPlan(selection)
    ? selection
    : await resolveSelection(await runtime.target(), selection);
  const plan = await planFor(request, selected);
  const description = await runtime.description();
  const dryRun = flags['dry-run'] === true;
  const amounts = amountsOf(plan);
  const isEmpty = isNothing(amounts) && plan.kept.length === 0;
  if (plan.saved === undefined && (plan.notSeen === null || isEmpty)) {
    await resolveTokenIds(await runtime.target(), plan.absentIds);
  }
  if (plan.notSeen !== null && isEmpty) throw nothingVisible(plan.notSeen, description);
  const { 'plan-out': path, 'include-own': includeOwn = false } = flags;
  if (path !== undefined && !isNothing(amounts)) {
    const saved = await writePlanFile(runtime, { path, plan, includeOwn, flags });
    return savedPlanResult(plan, { description, path, digest: saved.digest });
  }
  const saved = isSavedPlan(selected) ? selected : undefined;
  // What is left of a plan needs the approval that the whole plan needed.
  const inPlan = (saved?.accessTokens.length ?? 0) + (saved?.refreshTokens.length ?? 0);
  const tokens = Math.max(amounts.accessTokens + amounts.refreshTokens, inPlan);
  const approve = () => approvalFor({ runtime, flags, saved, ...revocationGuard(tokens) });
  if (dryRun || isNothing(amounts)) {
    const result = planResult(plan, description, dryRun);
    return { ...result, failure: result.failure ?? (await refusalOf(approve, dryRun)) };
  }
  requireMayRevoke(plan, description);
  const approval = await approve();
  const json = revocationToJson({ dryRun: true, plan });
  await request.confirmation.confirm({
    plan: planText(plan, description, true),
    json,
    ...questionFor(amounts),
  });
  const change = await runtime.change({ ...flags, approval });
  const progress = runtime.progress('Revoking');
  // Findings cannot be read again as a selector, so tokens created since the plan are not counted.
  const again = flags.finding === undefined && 'selector' in selected ? { selector: selected.selector } : {};
  const report = await revokeTokens({ ...change, plan, ...again, onProgress: progress.step }).finally(
    progress.end,
  );
  return revocationResult(report, plan);
}

/** Why a dry run says that the change is refused; with nothing to do, only that the plan was applied before. */
async function refusalOf(
  approve: () => Promise<unknown>,
  dryRun: boolean,
): Promise<TokenctlError | undefined> {
  if (dryRun) return await approvalRefusal(approve);
  try {
    await approve();
    return undefined;
  } catch (error) {
    if (error instanceof TokenctlError && error.code === 'not_approved') return undefined;
    throw error;
  }
}

function isSavedPlan<Other extends object>(selection: Other | SavedPlan): selection is SavedPlan {
  return 'format' in selection;
}

/** Nothing to revoke is only true of what the account sees. */
function nothingVisible(notSeen: string, { identity }: TargetDescription): TokenctlError {
  return new TokenctlError('permission_refused', `No selected token is visible to ${identity.username}`, {
    hint: `${notSeen}. Use a superuser's account, or a database context.`,
  });
}

async function planFor(
  { runtime, flags }: RevocationRequest,
  selected: ResolvedSelection | SavedPlan,
): Promise<RevocationPlan> {
  const { 'at-most': atMost, 'include-own': includeOwn } = flags;
  const target = await runtime.target();
  const description = await runtime.description();
  if (isSavedPlan(selected)) {
    const sameNames = needsTwoPersons(runtime, { context: description.context, saved: selected });
    return await planFromSaved({
      ...{ saved: selected, target, description, atMost, sameNames },
      clock: runtime.clock,
    });
  }
  return await planRevocation({
    ...{ target, description, ...selected },
    clock: runtime.clock,
    accessOnly: flags['access-only'] === true,
    withSessions: flags['with-sessions'] === true,
    findings: await findingsFor({ runtime, flags, ...selected }),
    ...(includeOwn !== undefined && { includeOwn }),
    ...(atMost !== undefined && { atMost }),
  });
}

/** The selected tokens that violate the rules of `--finding`; undefined without the flag. */
async function findingsFor({
  runtime,
  selector,
  flags,
}: Pick<RevocationRequest, 'runtime' | 'flags'> & { readonly selector: Selector }) {
  if (flags.finding === undefined) return undefined;
  const { policyOf, ruleNamed } = await import('../token-audit/policy-flags.ts');
  const { findingSelector } = await import('../../operations/token-audit/audit-tokens.ts');
  const rules = [...new Set(flags.finding)].map(ruleNamed);
  const policy = policyOf(runtime, { policy: flags.policy });
  const { clock } = runtime;
  const target = await runtime.target();
  const ids = new Set<number>();
  for (const rule of rules) {
    for (const id of await findingSelector({ target, policy, rule, clock, selector })) ids.add(id);
  }
  return { rules, ids: [...ids] };
}

/** Failed tokens of a kind to list. */
const MAX_FAILED_LINES = 10;

/** The result of a revocation, with its plan. */
export function revocationResult(
  revocation: RevocationReport,
  plan: RevocationPlan | null,
): Report<RevocationJson> {
  return report({
    json: revocationToJson({ dryRun: false, plan, done: revocation }),
    text: () => revocationText(revocation),
    amount: revokedAmount(revocation),
    failure: unfinished(revocation),
  });
}

function revokedAmount(revocation: RevocationReport): Amount {
  const kinds = revokedKinds(revocation);
  return {
    what: 'token',
    planned: kinds.reduce((sum, { planned }) => sum + planned, 0),
    done: kinds.reduce((sum, { revoked, unchanged }) => sum + revoked + unchanged, 0),
  };
}

function revocationText(revocation: RevocationReport): string {
  const { seconds, run, sessions } = revocation;
  const kinds = revokedKinds(revocation);
  const done = [
    ...kinds.map(revokedText),
    ...codesText(revocation.authorizationCodes),
    ...(sessions === null
      ? []
      : [`Ended ${numberText(sessions.ended)} of ${countText(sessions.planned, 'session')}`]),
  ];
  const lines = [
    ...done.map((text, index) => `${text}${index === 0 ? ` in ${seconds.toFixed(1)} s` : ''}.`),
    verificationText(revocation),
    ...(revocation.plan === undefined ? [] : goneLines(revocation.plan, notSeenOf(revocation))),
    ...madeSinceLines(revocation),
    ...kinds.flatMap(failedLines),
    `Audit log: run ${run}.`,
    ...staysAliveLines(revocation.staysAlive),
  ];
  return `${lines.join('\n')}\n`;
}

/** Why the account does not see the whole plan; null if it does. */
function notSeenOf({ verification }: RevocationReport): string | null {
  return verification.result === 'not_checked' ? verification.why : null;
}

function revokedText({ name, revoked, planned, unchanged, expired }: RevokedKind): string {
  const gone = unchanged === 0 ? '' : `, ${numberText(unchanged)} already gone`;
  return `Revoked ${numberText(revoked)} of ${countText(planned, name)}${expiredText(expired)}${gone}`;
}

function codesText(codes: RevocationReport['authorizationCodes']): string[] {
  if (codes === null || codes.planned === 0) return [];
  const gone = codes.unchanged === 0 ? '' : `, ${numberText(codes.unchanged)} already gone`;
  return [`Deleted ${numberText(codes.revoked)} of ${countText(codes.planned, 'authorization code')}${gone}`];
}

function failedLines({ name, failed }: RevokedKind): string[] {
  return [
    ...failed
      .slice(0, MAX_FAILED_LINES)
      .map(({ tokenId, reason }) => `Failed: ${name} ${tokenId}: ${printable.value(reason)}`),
    ...(failed.length > MAX_FAILED_LINES
      ? [`Failed: ${countText(failed.length - MAX_FAILED_LINES, 'more', 'more')}.`]
      : []),
  ];
}

function madeSinceLines({ madeSince }: RevocationReport): string[] {
  if (madeSince === null) return [];
  const { accessTokens, refreshTokens } = madeSince;
  const made = countsText([countOf(accessTokens, 'access token'), countOf(refreshTokens, 'refresh token')]);
  return made === '' ? [] : [`Created since the plan and still valid: ${made}.`];
}

/** The failure of a revocation that did not finish; undefined if it did. */
function unfinished(revocation: RevocationReport): TokenctlError | undefined {
  const { interrupted, stopped, verified, verification } = revocation;
  const kinds = revokedKinds(revocation);
  if (!interrupted && stopped === null && isRefused(kinds)) return refused();
  const { authorizationCodes: codes } = revocation;
  const codesLeft = codes !== null && codes.failed.length + codes.notTried > 0;
  const open =
    codesLeft ||
    kinds.some(
      ({ failed, notTried, stillAlive }) => failed.length > 0 || notTried > 0 || stillAlive.length > 0,
    );
  // A refresh token issued meanwhile can create access tokens for weeks.
  const renewed = revocation.madeSince?.refreshTokens ?? 0;
  const left = open || !verified ? notVerifiedText(revocation) : renewedText(renewed);
  if (!interrupted && stopped === null && !open && verification.result === 'not_checked') {
    return notVerified(revocation, verification.cause);
  }
  return unfinishedWork({
    interrupted,
    stopped,
    left: interrupted || stopped !== null ? leftText(kinds) : left,
    open: open || !verified || renewed > 0,
  });
}

type NotCheckedCause = Extract<Verification, { readonly result: 'not_checked' }>['cause'];

/** Everything was tried, and not read again. */
function notVerified(revocation: RevocationReport, cause: NotCheckedCause): TokenctlError {
  const code = cause === 'interrupted' ? 'interrupted' : 'partly_done';
  return new TokenctlError(code, notVerifiedText(revocation), {
    hint: HINTS[cause] ?? 'Run the same command again: it reads what is left.',
  });
}

/** What to do where the same command would do no more. */
const HINTS: { readonly [Cause in NotCheckedCause]?: string } = {
  part_seen: "Run the same command with a superuser's account, or with a database context.",
  sessions_unseen: 'Deactivate the users to end their sessions at once, or add `cache` to the context.',
};

function notVerifiedText({ verification }: RevocationReport): string {
  return verification.result === 'not_checked'
    ? `Not verified: ${verification.why}`
    : 'Not all selected tokens are verified as revoked';
}

function renewedText(renewed: number): string {
  return `${countText(renewed, 'refresh token was', 'refresh tokens were')} issued since the plan`;
}

/** Whether the target refused every token. */
function isRefused(kinds: readonly RevokedKind[]): boolean {
  const failed = kinds.flatMap((kind) => kind.failed);
  const planned = kinds.reduce((total, kind) => total + kind.planned, 0);
  return failed.length > 0 && failed.length === planned && failed.every(({ refused }) => refused);
}

function refused(): TokenctlError {
  return new TokenctlError('permission_refused', 'No permission to revoke any of the selected tokens', {
    hint: "Use a superuser's token with the scope write to revoke other users' tokens",
  });
}

function leftText(kinds: readonly RevokedKind[]): string {
  const left = kinds.filter(({ notTried }) => notTried > 0);
  if (left.length === 0) return 'All tokens were processed';
  return left
    .map(({ name, notTried }) => `${countText(notTried, `${name} was`, `${name}s were`)} not tried`)
    .join(', ');
}

/** The result of the verification, as a line. */
function verificationText(revocation: RevocationReport): string {
  const { verification, ownAccessEnded, sessions } = revocation;
  const found = [...foundTokens(revocation), ...foundSessions(sessions?.stillAlive ?? 0)];
  if (found.length > 0) return `Verification failed: ${found.join('; ')}.`;
  const ended = ownAccessEnded ? ' The credential of this context is now revoked: configure a new one.' : '';
  if (verification.result === 'not_checked')
    return `Not verified: ${printable.value(verification.why)}.${ended}`;
  const gone = goneText(revocation);
  const since = newLoginsText(sessions?.begunSince ?? 0);
  if (!ownAccessEnded && /^1 (?!.* and )/.test(gone))
    return `Verified: the ${gone.slice(2)} is not listed any more.${since}`;
  return ownAccessEnded
    ? `Verified: none of ${gone} is accepted any more.${ended}${since}`
    : `Verified: none of ${gone} is listed any more.${since}`;
}

function foundTokens(revocation: RevocationReport): string[] {
  return revokedKinds(revocation)
    .filter(({ stillAlive }) => stillAlive.length > 0)
    .map(
      ({ name, stillAlive }) =>
        `${countText(stillAlive.length, `${name} is`, `${name}s are`)} still listed: ${idsText(stillAlive)}`,
    );
}

function foundSessions(alive: number): string[] {
  return alive === 0 ? [] : [`${countText(alive, 'session is', 'sessions are')} still listed`];
}

function goneText(revocation: RevocationReport): string {
  const gone = revokedKinds(revocation).map(({ name, revoked, unchanged }) =>
    countOf(revoked + unchanged, name),
  );
  const text = countsText([...gone, countOf(revocation.sessions?.ended ?? 0, 'session')]);
  return text === '' ? 'the selected tokens' : text;
}

/** New logins during the revocation; the plan does not cover their sessions. */
function newLoginsText(sessions: number): string {
  return sessions === 0 ? '' : ` Started since: ${countText(sessions, 'session')}.`;
}

/** The outcome for one kind of token, with its name. */
interface RevokedKind {
  readonly name: 'token' | 'access token' | 'refresh token';
  readonly planned: number;
  readonly revoked: number;
  readonly unchanged: number;
  readonly failed: readonly FailedToken[];
  readonly notTried: number;
  readonly stillAlive: readonly number[];
  /** How many of the planned ones are expired; only of refresh tokens. */
  readonly expired?: number | null;
}

/** The outcomes for access tokens and, if selected, refresh tokens; kinds without tokens are left out. */
function revokedKinds(revocation: RevocationReport): readonly RevokedKind[] {
  const { refreshTokens } = revocation;
  if (refreshTokens === null) return [{ ...revocation, name: 'token' }];
  const kinds: readonly RevokedKind[] = [
    { ...revocation, name: 'access token' },
    { ...refreshTokens, name: 'refresh token' },
  ];
  return kinds.filter(({ planned }) => planned > 0);
}
