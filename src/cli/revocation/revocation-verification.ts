import type { RevocationReport } from '../../operations/revocation/revocation-report.ts';
import { countOf, countsText, countText } from '../../reports/counts.ts';
import { idsText } from './plan-text.ts';
import { revokedKinds } from './revoked-kinds.ts';

/** What reading again showed, as a line. */
export function verificationText(revocation: RevocationReport): string {
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
