import type { SettingsRule } from './rule.ts';
import type { WithHours } from './setting.ts';

/** Finds sessions of the web interface that last longer than the policy's hours. */
export const sessionAgeLong: SettingsRule<WithHours> = {
  judges: 'settings',
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
    breaks: (settings) => settings.SESSION_COOKIE_AGE > hours * 3600,
    message: (settings) =>
      `A session lasts ${Math.round(settings.SESSION_COOKIE_AGE / 360) / 10} hours; the limit is ${hours}.`,
  }),
};
