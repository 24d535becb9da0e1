import { DAY, daysBetween, daysText, type TokenRule } from './rule.ts';
import type { WithDays } from './setting.ts';
import { neverUsed } from './unused-for.ts';

/** Finds tokens that were made some days ago and have never authenticated anything. */
export const neverUsedRule: TokenRule<WithDays> = {
  judges: 'tokens',
  tokens: 'live',
  defaults: { enabled: true, severity: 'medium', days: 30, exceptions: [] },
  needs: ['never_used_tokens'],
  help: {
    finds: 'An access token that was never used, made longer ago than the given days.',
    matters: 'Nobody needs it, and it works. Its value may lie in a file that nobody remembers.',
    remedy: 'tokenctl tokens revoke --finding never-used.',
    reference: 'NIST SP 800-53 AC-2(3): disable what is inactive',
    parameters: { days: 'How long a new token may wait for its first use.' },
  },
  prepare({ setting: { days }, facts }) {
    const since = facts.now.getTime() - days * DAY;
    return {
      breaks: (token) => token.created.getTime() < since && neverUsed(token, facts),
      message: ({ created }) =>
        `It was made ${daysText(daysBetween(created, facts.now))} ago and has never been used.`,
    };
  },
};
