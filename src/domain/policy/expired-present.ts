import { daysBetween, daysText, type TokenRule } from './rule.ts';

/** Finds expired tokens: nothing removes them until `cleanup_tokens` runs, if it does. */
export const expiredPresent: TokenRule = {
  judges: 'tokens',
  tokens: 'expired',
  defaults: { enabled: true, severity: 'low', exceptions: [] },
  needs: [],
  help: {
    finds: 'An access token that has expired and is still in the database.',
    matters:
      'It authenticates nothing, but it clutters every listing, and the refresh token beside it may still be alive.',
    remedy: 'tokenctl tokens cleanup, or tokenctl tokens revoke --expired.',
    reference: 'NIST SP 800-53 IA-5: authenticators are removed at the end of their lifetime',
  },
  prepare: ({ facts }) => ({
    breaks: () => true,
    message: ({ expires }) =>
      `It expired ${daysText(daysBetween(expires, facts.now))} ago and is still there.`,
  }),
};
