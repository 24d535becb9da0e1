import { TokenctlError } from '../core/errors.ts';
import type { RevocationReport } from '../operations/revoke-tokens.ts';
import { countText, numberText } from './counts.ts';
import { idsText, staysAliveLines } from './plan-text.ts';
import { printable } from './printable.ts';
import { type Report, report } from './result.ts';

/** Failed tokens that are shown one by one. */
const SHOWN = 10;

/** What a revocation did, as a command's result: in JSON as `RevocationReport` has it. */
export function revocationResult(revocation: RevocationReport, goOn: string): Report {
  return report({
    json: revocation,
    text: () => revocationText(revocation),
    failure: unfinished(revocation, goOn),
  });
}

/** The report for people; it ends with a line feed. */
function revocationText(revocation: RevocationReport): string {
  const { planned, revoked, unchanged, failed, seconds, run } = revocation;
  const gone = unchanged === 0 ? '' : `, ${numberText(unchanged)} gone already`;
  const lines = [
    `Revoked ${numberText(revoked)} of ${countText(planned, 'token')}${gone}, in ${seconds.toFixed(1)} s.`,
    verificationText(revocation),
    ...failed
      .slice(0, SHOWN)
      .map(({ tokenId, reason }) => `Failed: token ${tokenId}: ${printable.value(reason)}`),
    ...(failed.length > SHOWN ? [`Failed: ${numberText(failed.length - SHOWN)} more.`] : []),
    `In the audit log as run ${run}.`,
    ...staysAliveLines(revocation.staysAlive),
  ];
  return `${lines.join('\n')}\n`;
}

function verificationText(revocation: RevocationReport): string {
  const { verified, stillAlive, ownAccessEnded, revoked, unchanged } = revocation;
  if (stillAlive.length > 0) {
    return `Read again, ${countText(stillAlive.length, 'token is', 'tokens are')} still there: ${idsText(stillAlive)}.`;
  }
  const ended = ownAccessEnded ? ' The credential of this context is refused now: give it another.' : '';
  if (!verified) return `Not verified: the target could not be read again.${ended}`;
  const gone = countText(revoked + unchanged, 'token');
  return ownAccessEnded
    ? `Verified: none of ${gone} answers any more.${ended}`
    : `Verified: read again, and none of ${gone} is there.`;
}

/** What says that not all is done; undefined where all is. */
function unfinished(revocation: RevocationReport, goOn: string): TokenctlError | undefined {
  const { planned, interrupted, stopped, failed, notTried, stillAlive, verified } = revocation;
  const left = `${countText(notTried, 'token was', 'tokens were')} not tried`;
  if (interrupted) {
    return new TokenctlError('interrupted', `Interrupted: ${left}`, { hint: goOn });
  }
  if (stopped !== null) {
    return new TokenctlError('partly_done', `Stopped: ${stopped.message}. ${left}`, {
      hint: stopped.hint ?? goOn,
    });
  }
  if (failed.length > 0 && failed.length === planned && failed.every(({ refused }) => refused)) {
    return new TokenctlError(
      'permission_refused',
      'This account, or the scope of its token, may revoke none of them',
      {
        hint: "Revoking other people's tokens takes a superuser, and a token of the scope write",
      },
    );
  }
  if (failed.length > 0 || notTried > 0 || stillAlive.length > 0 || !verified) {
    return new TokenctlError('partly_done', 'Not all of them are revoked for certain', { hint: goOn });
  }
  return undefined;
}
