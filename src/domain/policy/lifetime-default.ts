import type { JudgedSettings } from './facts.ts';
import type { SettingsRule } from './rule.ts';

/** A hundred years, in seconds. */
const HUNDRED_YEARS = 3_155_760_000;
const YEAR = 31_536_000;

/** Finds the lifetime that controllers come with: a thousand years. */
export const lifetimeDefault: SettingsRule = {
  judges: 'settings',
  about: 'OAUTH2_PROVIDER',
  defaults: { enabled: true, severity: 'high', exceptions: [] },
  needs: ['settings', 'token_lifetimes'],
  help: {
    finds: 'ACCESS_TOKEN_EXPIRE_SECONDS is more than a hundred years. The default is a thousand.',
    matters: 'Every new token never expires.',
    remedy: 'tokenctl settings token-lifetime. Tokens that exist keep their expiry: see never-expires.',
    reference: 'RFC 6750, section 5.3: issue short-lived bearer tokens',
  },
  prepare: () => ({
    breaks: (settings) => lifetimeOf(settings) > HUNDRED_YEARS,
    message: (settings) =>
      `New access tokens are valid for ${Math.round(lifetimeOf(settings) / YEAR)} years.`,
  }),
};

function lifetimeOf({ OAUTH2_PROVIDER }: JudgedSettings): number {
  return OAUTH2_PROVIDER?.ACCESS_TOKEN_EXPIRE_SECONDS ?? 0;
}
