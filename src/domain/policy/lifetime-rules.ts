import type { Token } from '../token.ts';
import { DAY, type TokenRule } from './rule.ts';

const HUNDRED_YEARS = 36_525 * DAY;

/** Finds tokens that outlive everybody: the controller's default lifetime is a thousand years. */
export const neverExpires: TokenRule = {
  judges: 'tokens',
  tokens: 'live',
  defaults: { enabled: true, severity: 'high', exceptions: [] },
  needs: [],
  help: {
    finds: 'An access token that expires more than a hundred years from now: in effect never.',
    matters:
      'Whoever copies it once has access for good. Controllers make every token so unless their setting says otherwise.',
    remedy:
      'Set a lifetime with tokenctl settings token-lifetime, then have the owners replace these tokens and revoke them: tokenctl tokens revoke --finding never-expires.',
    reference: 'RFC 6750, section 5.3: issue short-lived bearer tokens',
  },
  prepare({ facts }) {
    const limit = facts.now.getTime() + HUNDRED_YEARS;
    return {
      breaks: ({ expires }) => expires.getTime() > limit,
      message: ({ expires }) => `It expires in the year ${expires.getUTCFullYear()}: never.`,
    };
  },
};

/** Whether a token expires more than a hundred years from now. */
export function expiresNever(token: Pick<Token, 'expires'>, now: Date): boolean {
  return token.expires.getTime() - now.getTime() > HUNDRED_YEARS;
}
