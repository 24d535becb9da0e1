import { numberText } from '@tokenctl/common/text.ts';
import {
  type AggregateRule,
  type ApplicationRule,
  DAY,
  daysBetween,
  daysText,
  type PolicySettings,
  type SettingsRule,
  type WithDays,
  type WithHours,
} from './rule.ts';

/** Finds applications with the implicit grant, which passes tokens in a URL. */
export const applicationImplicit: ApplicationRule = {
  appliesTo: 'applications',
  defaults: { enabled: true, severity: 'high', exceptions: [] },
  needs: ['applications'],
  help: {
    finds: 'An application that uses the implicit grant.',
    matters:
      'Tokens are returned in a URL, which is leaked through the browser history and referrers and can be injected.',
    remedy: 'Register it again with the authorization code grant and PKCE.',
    reference: 'RFC 9700, section 2.1.2: clients SHOULD NOT use the implicit grant',
  },
  prepare: () => ({
    violates: ({ grantType }) => grantType === 'implicit',
    message: () => 'It uses the implicit grant, which returns tokens in a URL.',
  }),
};

/** Finds public clients of the authorization code grant: the controller does not require PKCE. */
export const applicationPublicWithoutPkce: ApplicationRule = {
  appliesTo: 'applications',
  defaults: { enabled: true, severity: 'medium', exceptions: [] },
  needs: ['applications', 'pkce'],
  help: {
    finds:
      'A public application that uses the authorization code grant, on a controller that does not require PKCE.',
    matters: 'It has no client secret: an intercepted code is enough to obtain tokens.',
    remedy: 'Make sure that the program sends a code challenge (S256), and then add an exception.',
    reference: 'RFC 9700, section 2.1.1: public clients MUST use PKCE',
  },
  prepare: () => ({
    violates: ({ clientType, grantType }) => clientType === 'public' && grantType === 'authorization-code',
    message: () =>
      'It is a public client that uses authorization codes, but this controller does not require PKCE.',
  }),
};

/** Finds confidential applications with an old secret: a controller's application keeps its first one. */
export const applicationSecretOlderThan: ApplicationRule<WithDays> = {
  appliesTo: 'applications',
  defaults: { enabled: true, severity: 'low', days: 365, exceptions: [] },
  needs: ['applications'],
  help: {
    finds: 'A confidential application whose secret is older than the given number of days.',
    matters: 'Everyone who has ever configured the program knows it, and a controller cannot rotate it.',
    remedy: 'Register a new application, switch the program to it, and delete the old one with its tokens.',
    reference: 'NIST SP 800-53 IA-5: authenticators are changed periodically',
    parameters: { days: 'The maximum age of a secret.' },
  },
  prepare: ({ setting: { days }, facts }) => ({
    violates: ({ clientType, created }) =>
      clientType === 'confidential' && facts.now.getTime() - created.getTime() > days * DAY,
    message: ({ created }) =>
      `Its secret is ${daysText(daysBetween(created, facts.now))} old; the limit is ${days}.`,
  }),
};

/** Finds Basic authentication turned on: passwords are used instead of tokens. */
export const basicAuthOn: SettingsRule = {
  appliesTo: 'settings',
  about: 'AUTH_BASIC_ENABLED',
  defaults: { enabled: true, severity: 'medium', exceptions: [] },
  needs: ['settings'],
  help: {
    finds: 'AUTH_BASIC_ENABLED is true.',
    matters:
      'Scripts can use passwords, which have no scope and no expiry and also allow logging in to the web interface.',
    remedy: 'Switch scripts to tokens, then run tokenctl settings basic-auth off.',
    reference: 'RFC 7617, section 4: security considerations of Basic authentication',
  },
  prepare: () => ({
    violates: (settings) => settings.AUTH_BASIC_ENABLED,
    message: () => 'Basic authentication is on: a password is enough to call the API.',
  }),
};

/** Finds that users of an identity provider may create tokens, which the provider cannot revoke. */
export const externalTokensAllowed: SettingsRule = {
  appliesTo: 'settings',
  about: 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS',
  defaults: { enabled: true, severity: 'medium', exceptions: [] },
  needs: ['settings', 'external_tokens'],
  help: {
    finds: 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS is true.',
    matters:
      'Users from an identity provider can create tokens that still work after the provider locks them out.',
    remedy: 'Run tokenctl settings external-tokens deny --revoke-existing.',
    reference: 'OWASP Non-Human Identities Top 10, NHI1: improper offboarding',
  },
  prepare: () => ({
    violates: (settings) => settings.ALLOW_OAUTH2_FOR_EXTERNAL_USERS === true,
    message: () => 'Users from an identity provider can create tokens, which the provider cannot revoke.',
  }),
};

const HUNDRED_YEARS_S = 3_155_760_000;
const YEAR_S = 31_536_000;

/** Finds the controllers' default token lifetime: a thousand years. */
export const lifetimeDefault: SettingsRule = {
  appliesTo: 'settings',
  about: 'OAUTH2_PROVIDER',
  defaults: { enabled: true, severity: 'high', exceptions: [] },
  needs: ['settings', 'token_lifetimes'],
  help: {
    finds: 'ACCESS_TOKEN_EXPIRE_SECONDS is more than a hundred years. The default is a thousand years.',
    matters: 'New tokens never expire in practice.',
    remedy: 'Run tokenctl settings token-lifetime. Existing tokens keep their expiry: see never-expires.',
    reference: 'RFC 6750, section 5.3: issue short-lived bearer tokens',
  },
  prepare: () => ({
    violates: (settings) => lifetimeOf(settings) > HUNDRED_YEARS_S,
    message: (settings) =>
      `New access tokens are valid for ${numberText(Math.round(lifetimeOf(settings) / YEAR_S))} years.`,
  }),
};

function lifetimeOf({ OAUTH2_PROVIDER }: PolicySettings): number {
  return OAUTH2_PROVIDER?.ACCESS_TOKEN_EXPIRE_SECONDS ?? 0;
}

/** Finds web interface sessions that last longer than the policy's hours. */
export const sessionAgeLong: SettingsRule<WithHours> = {
  appliesTo: 'settings',
  about: 'SESSION_COOKIE_AGE',
  defaults: { enabled: true, severity: 'low', hours: 12, exceptions: [] },
  needs: ['settings'],
  help: {
    finds: 'SESSION_COOKIE_AGE exceeds the given number of hours. The default is half an hour.',
    matters: 'An unattended browser or a stolen cookie works for that long.',
    remedy: 'Lower SESSION_COOKIE_AGE, and end existing sessions with tokenctl sessions expire.',
    reference: 'NIST SP 800-53 AC-12: session termination',
    parameters: { hours: 'The maximum lifetime of a session.' },
  },
  prepare: ({ setting: { hours } }) => ({
    violates: (settings) => settings.SESSION_COOKIE_AGE > hours * 3600,
    message: (settings) =>
      `A session lasts ${Math.round(settings.SESSION_COOKIE_AGE / 360) / 10} hours; the limit is ${hours}.`,
  }),
};

/** Finds that a user may have any number of concurrent sessions: the default. */
export const sessionsUnlimited: SettingsRule = {
  appliesTo: 'settings',
  about: 'SESSIONS_PER_USER',
  defaults: { enabled: true, severity: 'low', exceptions: [] },
  needs: ['settings', 'session_limit'],
  help: {
    finds:
      'SESSIONS_PER_USER, or MAX_EXTRA_SESSIONS_PER_USER of a gateway, is -1 (no limit), which is the default.',
    matters: 'An attacker with a stolen password can stay logged in without the owner noticing.',
    remedy: 'Set it to a small number. A login that exceeds the limit ends the oldest session.',
    reference: 'NIST SP 800-53 AC-10: concurrent session control',
  },
  prepare: () => ({
    violates: ({ SESSIONS_PER_USER: most, MAX_EXTRA_SESSIONS_PER_USER: extra }) => (most ?? extra ?? 0) < 0,
    message: () => 'The number of concurrent sessions per user is not limited.',
  }),
};

/** Finds a gateway whose database contains working tokens in clear text. */
export const tokensInClear: AggregateRule = {
  appliesTo: 'aggregates',
  defaults: { enabled: true, severity: 'critical', exceptions: [] },
  needs: ['token_storage'],
  help: {
    finds: 'A platform gateway that stores working tokens in clear text, as the first 2.5 releases do.',
    matters: 'Everyone who can read the database or its backups can use the tokens.',
    remedy:
      'Upgrade the gateway so that it hashes stored tokens, and then revoke tokens that backups contain.',
    reference: 'RFC 6819, section 5.1.4.1.3: credentials are stored as hashes',
  },
  prepare: ({ facts }) => ({
    add: () => undefined,
    violations: () =>
      facts.tokensInClear
        ? [
            {
              subject: { kind: 'setting', setting: 'token storage' },
              message: 'The gateway stores working tokens in clear text.',
            },
          ]
        : [],
  }),
};
