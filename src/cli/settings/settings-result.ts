import type { AuthenticationSettings } from '../../operations/ports/authentication-settings.ts';
import { secondsText } from '../output/durations.ts';
import { type Report, report } from '../output/result.ts';

/** The settings as a command's result: in JSON under the controller's names. */
export function settingsResult(settings: AuthenticationSettings): Report {
  return report({ json: settings, text: () => settingsText(settings) });
}

function settingsText(settings: AuthenticationSettings): string {
  const { OAUTH2_PROVIDER: lifetimes } = settings;
  const rows: readonly (readonly [string, string])[] = [
    ['Basic authentication', settings.AUTH_BASIC_ENABLED ? 'on' : 'off'],
    ['Local accounts', settings.DISABLE_LOCAL_AUTH ? 'refused' : 'accepted'],
    ['Tokens of external users', settings.ALLOW_OAUTH2_FOR_EXTERNAL_USERS ? 'allowed' : 'denied'],
    ['Access tokens live', secondsText(lifetimes.ACCESS_TOKEN_EXPIRE_SECONDS)],
    ['Refresh tokens live', secondsText(lifetimes.REFRESH_TOKEN_EXPIRE_SECONDS)],
    ['Authorization codes live', secondsText(lifetimes.AUTHORIZATION_CODE_EXPIRE_SECONDS)],
    ['Sessions live', secondsText(settings.SESSION_COOKIE_AGE)],
    [
      'Sessions for each user',
      settings.SESSIONS_PER_USER === -1 ? 'unlimited' : String(settings.SESSIONS_PER_USER),
    ],
    ['Sign-in page', settings.LOGIN_REDIRECT_OVERRIDE || "the controller's own"],
    ['Metrics without sign-in', settings.ALLOW_METRICS_FOR_ANONYMOUS_USERS ? 'allowed' : 'denied'],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join('');
}
