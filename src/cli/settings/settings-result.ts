import { lifetimeCaution } from '../../domain/dialect.ts';
import type { AuthenticationSettings, TargetDescription } from '../../operations/ports/target.ts';
import { type Report, report } from '../../reports/tables/result.ts';
import { secondsText } from '../../reports/tables/text.ts';

/** The result of `settings show`; the JSON has the controller's names. */
export function settingsResult(
  settings: AuthenticationSettings,
  { dialect }: Pick<TargetDescription, 'dialect'>,
): Report<AuthenticationSettings> {
  const caution = settings.OAUTH2_PROVIDER === null ? '' : lifetimeCautionText(dialect);
  return report({ json: settings, text: () => settingsText(settings) + caution });
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
    ['Sign-in page', settings.LOGIN_REDIRECT_OVERRIDE || 'default'],
    [
      'Metrics without sign-in',
      told(settings.ALLOW_METRICS_FOR_ANONYMOUS_USERS, (allowed) => (allowed ? 'allowed' : 'denied')),
    ],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join('');
}

/** A value as text; `not available` if the target does not have the setting. */
function told<Value>(value: Value | null, inWords: (value: Value) => string): string {
  return value === null ? 'not available' : inWords(value);
}

/** When a changed setting takes effect. */
export type SettingsHold = TargetDescription['capabilities']['settingsHold'];

/** A line about the delay of a change; empty if it takes effect at once. */
export function delayText(holds: SettingsHold): string {
  return LINES[holds];
}

/** A line about tokens that a changed lifetime does not reach; empty where it reaches all. */
export function lifetimeCautionText(dialect: TargetDescription['dialect']): string {
  const caution = lifetimeCaution(dialect);
  return caution === null ? '' : `${caution.why} ${caution.remedy}\n`;
}

const LINES: Readonly<Record<SettingsHold, string>> = {
  at_once: '',
  within_seconds: 'The other workers of a running controller apply the change within five seconds.\n',
  within_a_minute: 'A running controller applies the change within a minute.\n',
  within_five_minutes:
    'A running gateway applies the change when its settings cache expires, by default within five minutes.\n',
};
