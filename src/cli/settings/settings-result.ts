import type { AuthenticationSettings, TargetDescription } from '../../operations/ports/target.ts';
import { type Report, report } from '../../reports/tables/result.ts';
import { secondsText } from '../../reports/tables/text.ts';

/** The settings as a command's result: in JSON under the controller's names. */
export function settingsResult(settings: AuthenticationSettings): Report {
  return report({ json: settings, text: () => settingsText(settings) });
}

function settingsText(settings: AuthenticationSettings): string {
  const { OAUTH2_PROVIDER: lifetimes } = settings;
  const rows: readonly (readonly [string, string])[] = [
    ['Basic authentication', settings.AUTH_BASIC_ENABLED ? 'on' : 'off'],
    ['Local accounts', told(settings.DISABLE_LOCAL_AUTH, (off) => (off ? 'refused' : 'accepted'))],
    ['Tokens of external users', settings.ALLOW_OAUTH2_FOR_EXTERNAL_USERS ? 'allowed' : 'denied'],
    ['Access tokens live', told(lifetimes, (all) => secondsText(all.ACCESS_TOKEN_EXPIRE_SECONDS))],
    ['Refresh tokens live', told(lifetimes, (all) => secondsText(all.REFRESH_TOKEN_EXPIRE_SECONDS))],
    [
      'Authorization codes live',
      told(lifetimes, (all) => secondsText(all.AUTHORIZATION_CODE_EXPIRE_SECONDS)),
    ],
    ['Sessions live', secondsText(settings.SESSION_COOKIE_AGE)],
    [
      'Sessions for each user',
      told(settings.SESSIONS_PER_USER, (count) => (count === -1 ? 'unlimited' : String(count))),
    ],
    ['Sign-in page', settings.LOGIN_REDIRECT_OVERRIDE || 'its own'],
    [
      'Metrics without sign-in',
      told(settings.ALLOW_METRICS_FOR_ANONYMOUS_USERS, (allowed) => (allowed ? 'allowed' : 'denied')),
    ],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join('');
}

/** A value in words; of a setting that the target has not, that. */
function told<Value>(value: Value | null, inWords: (value: Value) => string): string {
  return value === null ? 'no setting here' : inWords(value);
}

/** How soon a changed setting holds. */
export type SettingsHold = TargetDescription['capabilities']['settingsHold'];

/** Says that a change takes a while to hold, as a line; nothing where it holds at once. */
export function delayText(holds: SettingsHold): string {
  return LINES[holds];
}

const LINES: Readonly<Record<SettingsHold, string>> = {
  at_once: '',
  within_a_minute:
    'A running controller reads its settings again after up to a minute: until then the old ones hold.\n',
  within_five_minutes:
    'A running gateway keeps its settings in a cache, five minutes by default: until then the old ones hold.\n',
};
