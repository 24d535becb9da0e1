import type { SettingsRule } from './rule.ts';

/** Finds that a user may have any number of sessions at a time: the default. */
export const sessionsUnlimited: SettingsRule = {
  judges: 'settings',
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
    breaks: (settings) => (settings.SESSIONS_PER_USER ?? 0) < 0,
    message: () => 'A user may have any number of sessions at a time.',
  }),
};
