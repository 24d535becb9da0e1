import { expiresNever } from './never-expires.ts';
import { DAY, daysBetween, daysText, type TokenRule } from './rule.ts';
import type { WithDays } from './setting.ts';

/**
 * Finds tokens made to live longer than the policy's days. One that never expires is left to the rule of
 * that name while that is applied: one fault, one finding.
 */
export const lifetimeOver: TokenRule<WithDays> = {
  judges: 'tokens',
  tokens: 'live',
  defaults: { enabled: true, severity: 'medium', days: 366, exceptions: [] },
  needs: [],
  help: {
    finds: 'An access token that is valid for longer than the allowed days, counted from its creation.',
    matters: 'The longer a token lives, the longer a leaked copy of it works.',
    remedy: 'Have the owner replace it by one of a shorter lifetime, and revoke it.',
    reference: 'RFC 6750, section 5.3: issue short-lived bearer tokens',
    parameters: { days: 'The longest lifetime that is allowed.' },
  },
  prepare({ setting: { days }, facts, applied }) {
    const otherFindsEndless = applied('never-expires');
    return {
      breaks: (token) =>
        token.expires.getTime() - token.created.getTime() > days * DAY &&
        !(otherFindsEndless && expiresNever(token, facts.now)),
      message: ({ created, expires }) =>
        `It is valid for ${daysText(daysBetween(created, expires))}; the limit is ${days}.`,
    };
  },
};
