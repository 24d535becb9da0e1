import type { Runtime } from '../../app/runtime.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import type { Selector } from '../../domain/selector.ts';
import type { FailedToken } from '../../operations/journal/batches.ts';
import { planRevocation } from '../../operations/revocation/plan-revocation.ts';
import type { RevocationReport } from '../../operations/revocation/revocation-report.ts';
import { revokeTokens } from '../../operations/revocation/revoke-tokens.ts';
import { type Report, report } from '../../reports/tables/result.ts';
import { countOf, countsText, countText, numberText, printable } from '../../reports/tables/text.ts';
import type { Confirmation } from '../confirmation.ts';
import { unfinishedWork } from '../errors/failure.ts';
import type { ChangeFlags } from '../flags.ts';
import {
  amountsOf,
  idsText,
  isNothing,
  planResult,
  planText,
  questionFor,
  staysAliveLines,
} from './revocation-plan.ts';

/** What a revocation is asked for with. */
export interface RevocationRequest {
  readonly runtime: Runtime;
  readonly selector: Selector;
  readonly confirmation: Confirmation;
  readonly flags: RevocationFlags;
}

/** The flags that a revocation obeys. */
interface RevocationFlags extends ChangeFlags {
  readonly 'at-most'?: number | undefined;
  readonly 'include-own'?: boolean | undefined;
  /** Leaves refresh tokens alive. */
  readonly 'access-only'?: boolean | undefined;
  readonly 'with-sessions'?: boolean | undefined;
  /** Names of rules: of the selected tokens only those that one of them finds. */
  readonly finding?: readonly string[] | undefined;
  /** The file with the policy to judge by, instead of the configuration's. */
  readonly policy?: string | undefined;
}

/**
 * Plans, shows, asks, revokes and reports: the dialogue of every command that revokes tokens.
 *
 * @throws TokenctlError `not_confirmed`, `plan_too_large`, and whatever the operations throw
 */
export async function revocationFlow(request: RevocationRequest): Promise<Report> {
  const { runtime, flags } = request;
  const plan = await planFor(request);
  const description = await runtime.description();
  const dryRun = flags['dry-run'] === true;
  const amounts = amountsOf(plan);
  if (dryRun || isNothing(amounts)) return planResult(plan, description, dryRun);
  await request.confirmation.confirm({ plan: planText(plan, description, true), ...questionFor(amounts) });
  const change = await runtime.change(flags);
  const progress = runtime.progress('Revoking');
  // What a rule finds is no selection that could be read again for tokens made since.
  const selected = flags.finding === undefined ? { selector: request.selector } : {};
  const report = await revokeTokens({ ...change, plan, ...selected, onProgress: progress.step }).finally(
    progress.end,
  );
  return revocationResult(report);
}

async function planFor(request: RevocationRequest): Promise<RevocationPlan> {
  const { runtime, selector, flags } = request;
  const { 'at-most': atMost, 'include-own': includeOwn } = flags;
  const { capabilities } = await runtime.description();
  return await planRevocation({
    target: await runtime.target(),
    selector,
    clock: runtime.clock,
    capabilities,
    accessOnly: flags['access-only'] === true,
    withSessions: flags['with-sessions'] === true,
    findings: await findingsFor(request),
    ...(includeOwn !== undefined && { includeOwn }),
    ...(atMost !== undefined && { atMost }),
  });
}

/** What the rules of `--finding` find among the selected tokens; undefined without the flag. */
async function findingsFor({ runtime, selector, flags }: RevocationRequest) {
  if (flags.finding === undefined) return undefined;
  const { policyOf } = await import('../token-audit/audit-flow.ts');
  const { ruleNamed } = await import('../token-audit/rule-explanation.ts');
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

/** Failed tokens of a kind that are shown one by one. */
const SHOWN = 10;

/** What a revocation did, as a command's result: in JSON as `RevocationReport` has it. */
export function revocationResult(revocation: RevocationReport): Report {
  return report({
    json: revocation,
    text: () => revocationText(revocation),
    failure: unfinished(revocation),
  });
}

/** The report for people; it ends with a line feed. */
function revocationText(revocation: RevocationReport): string {
  const { seconds, run, sessions } = revocation;
  const kinds = revokedKinds(revocation);
  const done = [
    ...kinds.map(revokedText),
    ...(sessions === null
      ? []
      : [`Ended ${numberText(sessions.ended)} of ${countText(sessions.planned, 'session')}`]),
  ];
  const lines = [
    ...done.map((text, index) => `${text}${index === 0 ? `, in ${seconds.toFixed(1)} s` : ''}.`),
    verificationText(revocation),
    ...madeSinceLines(revocation),
    ...kinds.flatMap(failedLines),
    `In the audit log as run ${run}.`,
    ...staysAliveLines(revocation.staysAlive),
  ];
  return `${lines.join('\n')}\n`;
}

function revokedText({ name, revoked, planned, unchanged }: RevokedKind): string {
  const gone = unchanged === 0 ? '' : `, ${numberText(unchanged)} gone already`;
  return `Revoked ${numberText(revoked)} of ${countText(planned, name)}${gone}`;
}

function failedLines({ name, failed }: RevokedKind): string[] {
  return [
    ...failed
      .slice(0, SHOWN)
      .map(({ tokenId, reason }) => `Failed: ${name} ${tokenId}: ${printable.value(reason)}`),
    ...(failed.length > SHOWN ? [`Failed: ${countText(failed.length - SHOWN, 'more', 'more')}.`] : []),
  ];
}

function madeSinceLines({ madeSince }: RevocationReport): string[] {
  if (madeSince === null) return [];
  const { accessTokens, refreshTokens } = madeSince;
  const made = countsText([countOf(accessTokens, 'access token'), countOf(refreshTokens, 'refresh token')]);
  return made === '' ? [] : [`Made since the plan, and alive: ${made}.`];
}

/** What says that not all is done; undefined where all is. */
function unfinished(revocation: RevocationReport): TokenctlError | undefined {
  const { interrupted, stopped, verified } = revocation;
  const kinds = revokedKinds(revocation);
  if (!interrupted && stopped === null && isRefused(kinds)) return refused();
  const open = kinds.some(
    ({ failed, notTried, stillAlive }) => failed.length > 0 || notTried > 0 || stillAlive.length > 0,
  );
  // Somebody refreshed meanwhile, or came by a new pair: it can mint access tokens for weeks.
  const renewed = revocation.madeSince?.refreshTokens ?? 0;
  const left = open || !verified ? 'Not all of them are revoked for certain' : renewedText(renewed);
  return unfinishedWork({
    interrupted,
    stopped,
    left: interrupted || stopped !== null ? leftText(kinds) : left,
    open: open || !verified || renewed > 0,
  });
}

function renewedText(renewed: number): string {
  return `${countText(renewed, 'refresh token was', 'refresh tokens were')} made since the plan`;
}

/** Whether the account may do none of it. */
function isRefused(kinds: readonly RevokedKind[]): boolean {
  const failed = kinds.flatMap((kind) => kind.failed);
  const planned = kinds.reduce((total, kind) => total + kind.planned, 0);
  return failed.length > 0 && failed.length === planned && failed.every(({ refused }) => refused);
}

function refused(): TokenctlError {
  return new TokenctlError(
    'permission_refused',
    'This account, or the scope of its token, may revoke none of them',
    {
      hint: "Revoking other people's tokens takes a superuser, and a token of the scope write",
    },
  );
}

function leftText(kinds: readonly RevokedKind[]): string {
  const left = kinds.filter(({ notTried }) => notTried > 0);
  if (left.length === 0) return 'All tokens were tried';
  return left
    .map(({ name, notTried }) => `${countText(notTried, `${name} was`, `${name}s were`)} not tried`)
    .join(', ');
}

/** What reading again showed, as a line. */
function verificationText(revocation: RevocationReport): string {
  const { verified, ownAccessEnded, sessions } = revocation;
  const found = [...foundTokens(revocation), ...foundSessions(sessions?.stillAlive ?? 0)];
  if (found.length > 0) return `Read again, ${found.join('; ')}.`;
  const ended = ownAccessEnded ? ' The credential of this context is refused now: give it another.' : '';
  if (!verified) return `Not verified: the target could not be read again.${ended}`;
  const gone = goneText(revocation);
  const since = newLoginsText(sessions?.begunSince ?? 0);
  return ownAccessEnded
    ? `Verified: none of ${gone} answers any more.${ended}${since}`
    : `Verified: read again, and none of ${gone} is there.${since}`;
}

function foundTokens(revocation: RevocationReport): string[] {
  return revokedKinds(revocation)
    .filter(({ stillAlive }) => stillAlive.length > 0)
    .map(
      ({ name, stillAlive }) =>
        `${countText(stillAlive.length, `${name} is`, `${name}s are`)} still there: ${idsText(stillAlive)}`,
    );
}

function foundSessions(alive: number): string[] {
  return alive === 0 ? [] : [`${countText(alive, 'session is', 'sessions are')} still there`];
}

function goneText(revocation: RevocationReport): string {
  const gone = revokedKinds(revocation).map(({ name, revoked, unchanged }) =>
    countOf(revoked + unchanged, name),
  );
  const text = countsText([...gone, countOf(revocation.sessions?.ended ?? 0, 'session')]);
  return text === '' ? 'them' : text;
}

/** People who logged in while the work went on: their sessions are none of those that were meant. */
function newLoginsText(sessions: number): string {
  return sessions === 0 ? '' : ` Begun since: ${countText(sessions, 'session')}.`;
}

/** What became of one kind of a revocation's tokens, and what that kind is called. */
interface RevokedKind {
  readonly name: 'token' | 'access token' | 'refresh token';
  readonly planned: number;
  readonly revoked: number;
  readonly unchanged: number;
  readonly failed: readonly FailedToken[];
  readonly notTried: number;
  readonly stillAlive: readonly number[];
}

/**
 * Access tokens, and refresh tokens where they were meant as well; in that case without a kind of which there was
 * none.
 */
function revokedKinds(revocation: RevocationReport): readonly RevokedKind[] {
  const { refreshTokens } = revocation;
  if (refreshTokens === null) return [{ ...revocation, name: 'token' }];
  const kinds: readonly RevokedKind[] = [
    { ...revocation, name: 'access token' },
    { ...refreshTokens, name: 'refresh token' },
  ];
  return kinds.filter(({ planned }) => planned > 0);
}
