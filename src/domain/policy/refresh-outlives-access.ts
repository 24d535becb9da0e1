import type { Token } from '../token.ts';
import { daysBetween, daysText, type TokenRule } from './rule.ts';

/**
 * Finds access tokens whose refresh token lives longer than they do, by the controller's setting: it counts
 * a refresh token's life from its creation, which is the access token's. One that is over is no fault.
 */
export const refreshOutlivesAccess: TokenRule = {
  judges: 'tokens',
  tokens: 'all',
  defaults: { enabled: false, severity: 'low', exceptions: [] },
  needs: ['settings', 'token_lifetimes'],
  help: {
    finds:
      'An access token whose refresh token is still good, and will be after the access token has expired.',
    matters:
      'The expiry of the access token is not the end of the access. Off by default: where access tokens live for minutes, this is how OAuth is meant to work.',
    remedy: 'Lower REFRESH_TOKEN_EXPIRE_SECONDS, or revoke such tokens together with their refresh tokens.',
    reference: 'RFC 9700, section 4.14: refresh token protection',
  },
  prepare({ facts }) {
    const lifetime = (facts.settings?.OAUTH2_PROVIDER?.REFRESH_TOKEN_EXPIRE_SECONDS ?? 0) * 1000;
    const end = ({ created }: Token) => created.getTime() + lifetime;
    return {
      breaks: (token) =>
        token.hasRefreshToken && end(token) > facts.now.getTime() && end(token) > token.expires.getTime(),
      message: (token) =>
        `Its refresh token is good for ${daysText(daysBetween(token.expires, new Date(end(token))))} after it has expired.`,
    };
  },
};
