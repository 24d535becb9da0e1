import { refreshTokenState } from '../token.ts';
import { daysBetween, daysText, type RefreshTokenRule } from './rule.ts';

/** Finds refresh tokens whose access token is gone: they mint new ones, and the clean-up never sees them. */
export const refreshOrphaned: RefreshTokenRule = {
  judges: 'refreshTokens',
  defaults: { enabled: true, severity: 'high', exceptions: [] },
  needs: ['refresh_tokens'],
  help: {
    finds: 'A live refresh token whose access token is gone.',
    matters:
      "Revoking the access token has not ended the access: this one mints the next. No list shows it, and the controller's own clean-up never removes it.",
    remedy:
      'tokenctl refresh-tokens list --state orphaned says whose they are; tokenctl tokens revoke --user NAME ends them.',
    reference: 'RFC 7009, section 2.1: revoking a token ends the grant that it belongs to',
  },
  prepare: ({ facts }) => ({
    breaks: (token) => refreshTokenState(token) === 'orphaned',
    message: ({ created }) =>
      `It was made ${daysText(daysBetween(created, facts.now))} ago, its access token is gone, and it mints new ones.`,
  }),
};
