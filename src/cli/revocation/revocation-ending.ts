import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { OutcomeCounts } from '../../operations/journal/batches.ts';
import type { RevocationReport, Verification } from '../../operations/revocation/revocation-report.ts';
import { accessParts } from '../../reports/access-lines.ts';
import { bad, emphasized, good, type Line, lines, warning } from '../../reports/document.ts';
import { type Count, countOf, countsText, countText, numberText } from '../../reports/tables/text.ts';
import type { Ending } from '../change/change.ts';
import { failedLines, runLine, tookText, unfinishedWork } from '../change/ending.ts';
import { idsText } from '../change/plan-text.ts';
import { expiredText, goneLines } from './revocation-plan.ts';

/** The maximum number of failed tokens of a kind to list. */
const MAX_FAILED_LINES = 10;

export function revocationEnding(revocation: RevocationReport): Ending {
  const { seconds, run, sessions } = revocation;
  const kinds = revokedKinds(revocation);
  const [first, ...others] = [
    ...kinds.map(revokedText),
    ...codesText(revocation.authorizationCodes),
    ...(sessions === null
      ? []
      : [`Ended ${numberText(sessions.ended)} of ${countText(sessions.planned, 'session')}`]),
  ];
  return {
    document: [
      lines(
        first !== undefined && emphasized`${first} ${tookText(seconds)}.`,
        others.map((text) => `${text}.`),
        verificationText(revocation),
        revocation.plan !== undefined &&
          goneLines(
            revocation.plan,
            revocation.verification.result === 'not_checked' ? revocation.verification.why : null,
          ),
        madeSinceText(revocation),
        kinds.map(({ name, failed }) => failedLines(name, failed, MAX_FAILED_LINES)),
        runLine(run),
      ),
      ...accessParts(revocation.accessPaths),
    ],
    amount: {
      what: 'token',
      planned: kinds.reduce((sum, { planned }) => sum + planned, 0),
      done: kinds.reduce((sum, { revoked, unchanged }) => sum + revoked + unchanged, 0),
    },
    failure: unfinished(revocation),
  };
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

function madeSinceText({ madeSince }: RevocationReport): Line | '' {
  const made = countsText(tokensSince(madeSince));
  return made === '' ? '' : warning`Created since the plan and still valid: ${made}.`;
}

function tokensSince(madeSince: RevocationReport['madeSince']) {
  return [
    countOf(madeSince?.accessTokens ?? 0, 'access token'),
    countOf(madeSince?.refreshTokens ?? 0, 'refresh token'),
  ];
}

/** The failure of a selection that is not empty: tokens were created, or users logged in, since the plan. */
function notEmpty({ madeSince, sessions }: RevocationReport): TokenctlError | undefined {
  const made = [...tokensSince(madeSince), countOf(sessions?.begunSince ?? 0, 'session')];
  const text = countsText(made);
  if (text === '') return undefined;
  const one = made.reduce((sum, { number }) => sum + number, 0) === 1;
  return new TokenctlError('partly_done', `${text} ${one ? 'was' : 'were'} created since the plan`, {
    hint: 'Run the same command again. If clients keep creating tokens, use `tokenctl incident lockdown`, which closes every access path first.',
  });
}

/** The failure of a revocation that did not finish; undefined if it did. */
function unfinished(revocation: RevocationReport): TokenctlError | undefined {
  const { interrupted, stopped, verified, verification } = revocation;
  const kinds = revokedKinds(revocation);
  if (!interrupted && stopped === null && isRefused(kinds))
    return new TokenctlError('permission_refused', 'No permission to revoke any of the selected tokens', {
      hint: "Use a superuser's token with scope write to revoke other users' tokens",
    });
  const { authorizationCodes: codes } = revocation;
  const codesLeft = codes !== null && codes.failed.length + codes.notTried > 0;
  const open =
    codesLeft ||
    kinds.some(
      ({ failed, notTried, stillAlive }) => failed.length > 0 || notTried > 0 || stillAlive.length > 0,
    );
  if (!interrupted && stopped === null && !open && verification.result === 'not_checked') {
    return notVerified(revocation, verification.cause);
  }
  const unfinishedFailure = unfinishedWork({
    interrupted,
    stopped,
    left: interrupted || stopped !== null ? leftText(kinds) : notVerifiedText(revocation),
    open: open || !verified,
  });
  return unfinishedFailure ?? notEmpty(revocation);
}

type NotCheckedCause = Extract<Verification, { readonly result: 'not_checked' }>['cause'];

/** The failure if everything was tried, but not re-read. */
function notVerified(revocation: RevocationReport, cause: NotCheckedCause): TokenctlError {
  const code = cause === 'interrupted' ? 'interrupted' : 'partly_done';
  return new TokenctlError(code, notVerifiedText(revocation), {
    hint: HINTS[cause] ?? 'Run the same command again to check what remains.',
  });
}

/** What to do if running the same command again would not help. */
const HINTS: { readonly [Cause in NotCheckedCause]?: string } = {
  part_seen: 'Run the same command with an account that can see all tokens, or with a database context.',
  sessions_unseen: 'To end their sessions immediately, deactivate the users, or add `cache` to the context.',
};

function notVerifiedText({ verification }: RevocationReport): string {
  return verification.result === 'not_checked'
    ? `Not verified: ${verification.why}`
    : 'Could not verify that all selected tokens are revoked';
}

/** Whether the target refused every token. */
function isRefused(kinds: readonly RevokedKind[]): boolean {
  const failed = kinds.flatMap((kind) => kind.failed);
  const planned = kinds.reduce((total, kind) => total + kind.planned, 0);
  return failed.length > 0 && failed.length === planned && failed.every(({ refused }) => refused);
}

function leftText(kinds: readonly RevokedKind[]): string {
  const left = kinds.filter(({ notTried }) => notTried > 0);
  if (left.length === 0) return 'All tokens were processed';
  return left
    .map(({ name, notTried }) => `${countText(notTried, `${name} was`, `${name}s were`)} not tried`)
    .join(', ');
}

function verificationText(revocation: RevocationReport): Line {
  const { verification, ownAccessEnded, sessions } = revocation;
  const found = [...foundTokens(revocation), ...foundSessions(sessions?.stillAlive ?? 0)];
  if (found.length > 0) return bad`Verification failed: ${found.join('; ')}.`;
  const ended = ownAccessEnded ? ' The credential of this context is now revoked. Configure a new one.' : '';
  if (verification.result === 'not_checked') return warning`Not verified: ${verification.why}.${ended}`;
  const gone = goneOf(revocation);
  const text = countsText(gone) || 'the selected tokens';
  const since = newLoginsText(sessions?.begunSince ?? 0);
  const [only, ...others] = gone;
  if (!ownAccessEnded && only?.number === 1 && others.length === 0)
    return good`Verified: the ${only.one} is no longer listed.${since}`;
  return ownAccessEnded
    ? good`Verified: none of ${text} is accepted any more.${ended}${since}`
    : good`Verified: none of ${text} is listed any more.${since}`;
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

function goneOf(revocation: RevocationReport): readonly Count[] {
  const gone = revokedKinds(revocation).map(({ name, revoked, unchanged }) =>
    countOf(revoked + unchanged, name),
  );
  return [...gone, countOf(revocation.sessions?.ended ?? 0, 'session')].filter(({ number }) => number > 0);
}

/** New logins during the revocation; the plan does not cover their sessions. */
function newLoginsText(sessions: number): string {
  return sessions === 0 ? '' : ` Started since: ${countText(sessions, 'session')}.`;
}

interface RevokedKind extends OutcomeCounts {
  readonly name: 'token' | 'access token' | 'refresh token';
  readonly stillAlive: readonly number[];
  /** Number of planned ones that are expired; only for refresh tokens. */
  readonly expired?: number | null;
}

/** The outcomes for access tokens and, if selected, refresh tokens; kinds without tokens are omitted. */
function revokedKinds(revocation: RevocationReport): readonly RevokedKind[] {
  const { refreshTokens } = revocation;
  if (refreshTokens === null) return [{ ...revocation, name: 'token' }];
  const kinds: readonly RevokedKind[] = [
    { ...revocation, name: 'access token' },
    { ...refreshTokens, name: 'refresh token' },
  ];
  return kinds.filter(({ planned }) => planned > 0);
}
