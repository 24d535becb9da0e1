import { TokenctlError } from '../../domain/errors.ts';
import type { RevocationReport } from '../../operations/revocation/revocation-report.ts';
import { countOf, countsText, countText, numberText } from '../../reports/counts.ts';
import { printable } from '../../reports/printable.ts';
import { type Report, report } from '../../reports/result.ts';
import { unfinishedWork } from '../errors/unfinished-work.ts';
import { staysAliveLines } from './plan-text.ts';
import { verificationText } from './revocation-verification.ts';
import { type RevokedKind, revokedKinds } from './revoked-kinds.ts';

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
