import type { SettingsRule } from './rule.ts';

/** Finds that users of an identity provider may make tokens, which the provider cannot end. */
export const externalTokensAllowed: SettingsRule = {
  judges: 'settings',
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
    breaks: (settings) => settings.ALLOW_OAUTH2_FOR_EXTERNAL_USERS,
    message: () => 'Users of an identity provider may make tokens, which the provider cannot end.',
  }),
};
