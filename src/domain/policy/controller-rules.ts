import {
  type ApplicationRule,
  DAY,
  daysBetween,
  daysText,
  type PolicySettings,
  type SettingsRule,
  type WithDays,
  type WithHours,
} from './rule.ts';

/** Finds applications of the implicit grant, which hands tokens out in an address. */
export const applicationImplicit: ApplicationRule = {
  appliesTo: 'applications',
  defaults: { enabled: true, severity: 'high', exceptions: [] },
  needs: ['applications'],
  help: {
    finds: 'An application of the implicit grant.',
    matters: 'Its tokens come in an address, which browsers keep, send as referrer, and anybody can put in.',
    remedy: 'Register it again with the authorization code grant and PKCE.',
    reference: 'RFC 9700, section 2.1.2: clients SHOULD NOT use the implicit grant',
  },
  prepare: () => ({
    violates: ({ grantType }) => grantType === 'implicit',
    message: () => 'It uses the implicit grant, which hands its tokens out in an address.',
  }),
};

/** Finds public clients of the authorization code grant: the controller lets them do without PKCE. */
export const applicationPublicWithoutPkce: ApplicationRule = {
  appliesTo: 'applications',
  defaults: { enabled: true, severity: 'medium', exceptions: [] },
  needs: ['applications', 'pkce'],
  help: {
    finds:
      'A public application of the authorization code grant, on a controller that does not require PKCE.',
    matters: 'It has no secret, so that whoever intercepts a code can change it for tokens.',
    remedy: 'Make sure that the program sends a code challenge (S256), and record that as an exception.',
    reference: 'RFC 9700, section 2.1.1: public clients MUST use PKCE',
  },
  prepare: () => ({
    violates: ({ clientType, grantType }) => clientType === 'public' && grantType === 'authorization-code',
    message: () => 'It is public and uses authorization codes, and this controller does not require PKCE.',
  }),
};

/** Finds confidential applications with an old secret: a controller's application keeps its first one. */
export const applicationSecretOlderThan: ApplicationRule<WithDays> = {
  appliesTo: 'applications',
  defaults: { enabled: true, severity: 'low', days: 365, exceptions: [] },
  needs: ['applications'],
  help: {
    finds: 'A confidential application whose secret is older than the given days.',
    matters: 'Everybody who ever configured the program knows it, and controllers cannot change it.',
    remedy: 'Register the application again, move the program over, and delete the old one with its tokens.',
    reference: 'NIST SP 800-53 IA-5: authenticators are changed after a time',
    parameters: { days: 'How old a secret may be.' },
  },
  prepare: ({ setting: { days }, facts }) => ({
    violates: ({ clientType, created }) =>
      clientType === 'confidential' && facts.now.getTime() - created.getTime() > days * DAY,
    message: ({ created }) =>
      `Its secret is ${daysText(daysBetween(created, facts.now))} old; the limit is ${days}.`,
  }),
};

/** Finds Basic authentication switched on: passwords, where tokens could be. */
export const basicAuthOn: SettingsRule = {
  appliesTo: 'settings',
  about: 'AUTH_BASIC_ENABLED',
  defaults: { enabled: true, severity: 'medium', exceptions: [] },
  needs: ['settings'],
  help: {
    finds: 'AUTH_BASIC_ENABLED is true.',
    matters:
      'Scripts then hold passwords, which have no scope and no expiry and open the web interface as well.',
    remedy: 'Move scripts to tokens, then: tokenctl settings basic-auth off.',
    reference: 'RFC 7617, section 4: security considerations of Basic authentication',
  },
  prepare: () => ({
    violates: (settings) => settings.AUTH_BASIC_ENABLED,
    message: () => 'Basic authentication is on: a password is all that a script needs.',
  }),
};

/** Finds that users of an identity provider may make tokens, which the provider cannot end. */
export const externalTokensAllowed: SettingsRule = {
  appliesTo: 'settings',
  about: 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS',
  defaults: { enabled: true, severity: 'medium', exceptions: [] },
  needs: ['settings'],
  help: {
    finds: 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS is true.',
    matters: 'Users of an identity provider can make tokens that live on when the provider locks them out.',
    remedy: 'tokenctl settings external-tokens deny --revoke-existing.',
    reference: 'OWASP Non-Human Identities Top 10, NHI1: improper offboarding',
  },
  prepare: () => ({
    violates: (settings) => settings.ALLOW_OAUTH2_FOR_EXTERNAL_USERS,
    message: () => 'Users of an identity provider may make tokens, which the provider cannot end.',
  }),
};

/** A hundred years, in seconds. */
const HUNDRED_YEARS_S = 3_155_760_000;
const YEAR_S = 31_536_000;

/** Finds the lifetime that controllers come with: a thousand years. */
export const lifetimeDefault: SettingsRule = {
  appliesTo: 'settings',
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
    violates: (settings) => lifetimeOf(settings) > HUNDRED_YEARS_S,
    message: (settings) =>
      `New access tokens are valid for ${Math.round(lifetimeOf(settings) / YEAR_S)} years.`,
  }),
};

function lifetimeOf({ OAUTH2_PROVIDER }: PolicySettings): number {
  return OAUTH2_PROVIDER?.ACCESS_TOKEN_EXPIRE_SECONDS ?? 0;
}

/** Finds sessions of the web interface that last longer than the policy's hours. */
export const sessionAgeLong: SettingsRule<WithHours> = {
  appliesTo: 'settings',
  about: 'SESSION_COOKIE_AGE',
  defaults: { enabled: true, severity: 'low', hours: 12, exceptions: [] },
  needs: ['settings'],
  help: {
    finds: 'SESSION_COOKIE_AGE is more than the given hours. The default is half an hour.',
    matters: 'A browser that is left open, and a cookie that is stolen, work for that long.',
    remedy: 'Lower SESSION_COOKIE_AGE; tokenctl sessions expire ends those that exist.',
    reference: 'NIST SP 800-53 AC-12: session termination',
    parameters: { hours: 'How long a session may last.' },
  },
  prepare: ({ setting: { hours } }) => ({
    violates: (settings) => settings.SESSION_COOKIE_AGE > hours * 3600,
    message: (settings) =>
      `A session lasts ${Math.round(settings.SESSION_COOKIE_AGE / 360) / 10} hours; the limit is ${hours}.`,
  }),
};

/** Finds that a user may have any number of sessions at a time: the default. */
export const sessionsUnlimited: SettingsRule = {
  appliesTo: 'settings',
  about: 'SESSIONS_PER_USER',
  defaults: { enabled: true, severity: 'low', exceptions: [] },
  needs: ['settings', 'session_limit'],
  help: {
    finds: 'SESSIONS_PER_USER is -1: no limit. That is the default.',
    matters: 'A stolen password can be used beside its owner, who notices nothing.',
    remedy: 'Set SESSIONS_PER_USER to a small number: one login more ends the oldest session.',
    reference: 'NIST SP 800-53 AC-10: concurrent session control',
  },
  prepare: () => ({
    violates: (settings) => (settings.SESSIONS_PER_USER ?? 0) < 0,
    message: () => 'A user may have any number of sessions at a time.',
  }),
};
