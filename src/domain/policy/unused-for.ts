import type { Token } from '../token.ts';
import type { Facts } from './facts.ts';
import { DAY, daysBetween, daysText, type TokenRule } from './rule.ts';
import type { WithDays } from './setting.ts';

/**
 * Finds tokens that nobody has used for the policy's days. One that was never used counts from its
 * creation, and is left to `never-used` while that is applied. Where tokens do not carry their last use, the
 * target's own selection decides (`Facts.unusedTokenIds`).
 */
export const unusedFor: TokenRule<WithDays> = {
  judges: 'tokens',
  tokens: 'live',
  defaults: { enabled: true, severity: 'medium', days: 90, exceptions: [] },
  needs: ['unused_tokens'],
  help: {
    finds: 'An access token that was used once, and not for the given days.',
    matters: 'Nobody would notice that it is used by somebody else, and nobody would miss it.',
    remedy: 'tokenctl tokens revoke --finding unused-for.',
    reference: 'NIST SP 800-53 AC-2(3): disable what is inactive',
    parameters: { days: 'How long a token may stay unused.' },
  },
  prepare({ setting: { days }, facts, applied }) {
    const since = facts.now.getTime() - days * DAY;
    const otherFindsNeverUsed = applied('never-used');
    return {
      breaks: (token) => {
        if (otherFindsNeverUsed && neverUsed(token, facts)) return false;
        const { id, lastUsed, created } = token;
        if (lastUsed === undefined) return facts.unusedTokenIds.has(id);
        return (lastUsed ?? created).getTime() < since;
      },
      message: (token) => unusedText(token, { days, now: facts.now }),
    };
  },
};

/** Whether a token was never used, by itself or by the target's own selection. */
export function neverUsed({ id, lastUsed }: Token, facts: Pick<Facts, 'neverUsedTokenIds'>): boolean {
  return lastUsed === undefined ? facts.neverUsedTokenIds.has(id) : lastUsed === null;
}

function unusedText({ created, lastUsed }: Token, { days, now }: { days: number; now: Date }): string {
  if (lastUsed === undefined) return `It has not been used for ${daysText(days)} or more.`;
  return lastUsed === null
    ? `It was made ${daysText(daysBetween(created, now))} ago and has never been used.`
    : `It was used last ${daysText(daysBetween(lastUsed, now))} ago.`;
}
