import { allowsWriting, type Token } from '../token.ts';
import type { Facts } from './facts.ts';
import { DAY, daysBetween, daysText, type TokenRule } from './rule.ts';
import type { WithDays } from './setting.ts';

/**
 * Finds tokens that may write, are used, and whose owner has changed nothing for the policy's days: they
 * read only, as far as the activity stream tells. What is younger than that is given the time.
 */
export const writeUnneeded: TokenRule<WithDays> = {
  judges: 'tokens',
  tokens: 'live',
  defaults: { enabled: false, severity: 'medium', days: 90, exceptions: [] },
  needs: ['last_changes', 'never_used_tokens'],
  help: {
    finds:
      'An access token of scope write that is in use, while its owner has changed nothing for the given days by the activity stream.',
    matters:
      'It reads only, and could do more: whoever steals it could change things that its owner never does.',
    remedy: 'Replace it by a token of scope read. Off by default: it asks for the activity of every owner.',
    reference:
      'RFC 9700, section 2.3: access token privilege restriction; NIST SP 800-53 AC-6: least privilege',
    parameters: { days: 'How long the owner must have changed nothing; younger tokens are not judged.' },
  },
  prepare({ setting: { days }, facts }) {
    const since = facts.now.getTime() - days * DAY;
    return {
      breaks: (token) =>
        token.user !== null &&
        allowsWriting(token) &&
        token.created.getTime() < since &&
        wasUsed(token, facts) &&
        (facts.lastChanges.get(token.user.id)?.getTime() ?? 0) < since,
      message: ({ user }) =>
        `It may write and is used, and its owner ${user?.username ?? ''} ${idle(user, facts)}.`,
    };
  },
};

function wasUsed({ id, lastUsed }: Token, facts: Facts): boolean {
  return lastUsed === undefined ? !facts.neverUsedTokenIds.has(id) : lastUsed !== null;
}

function idle(user: Token['user'], { lastChanges, now }: Facts): string {
  const last = user === null ? undefined : lastChanges.get(user.id);
  if (last === undefined) return 'has never changed anything';
  return `has changed nothing for ${daysText(daysBetween(last, now))}`;
}
