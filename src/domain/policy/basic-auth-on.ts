import type { SettingsRule } from './rule.ts';

/** Finds Basic authentication switched on: passwords, where tokens could be. */
export const basicAuthOn: SettingsRule = {
  judges: 'settings',
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
    breaks: (settings) => settings.AUTH_BASIC_ENABLED,
    message: () => 'Basic authentication is on: a password is all that a script needs.',
  }),
};
