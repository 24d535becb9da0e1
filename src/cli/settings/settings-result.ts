import { lifetimeCaution } from '../../domain/dialect.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import type { AuthenticationSettings } from '../../operations/ports/target-parts.ts';
import { facts, lines } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { secondsText } from '../../reports/tables/text.ts';

/** The result of `settings show`; the JSON has the controller's names. */
export function settingsResult(
  settings: AuthenticationSettings,
  { dialect }: Pick<TargetDescription, 'dialect'>,
): Report<AuthenticationSettings> {
  const { OAUTH2_PROVIDER: lifetimes } = settings;
  return report({
    json: settings,
    document: [
      facts([
        ['Basic authentication', settings.AUTH_BASIC_ENABLED ? 'on' : 'off'],
        ['Local accounts', told(settings.DISABLE_LOCAL_AUTH, (off) => (off ? 'refused' : 'accepted'))],
        [
          'Tokens of external users',
          told(settings.ALLOW_OAUTH2_FOR_EXTERNAL_USERS, (allowed) => (allowed ? 'allowed' : 'denied')),
        ],
        ['Access token lifetime', told(lifetimes, (all) => secondsText(all.ACCESS_TOKEN_EXPIRE_SECONDS))],
        ['Refresh token lifetime', told(lifetimes, (all) => secondsText(all.REFRESH_TOKEN_EXPIRE_SECONDS))],
        [
          'Authorization code lifetime',
          told(lifetimes, (all) => secondsText(all.AUTHORIZATION_CODE_EXPIRE_SECONDS)),
        ],
        ['Session lifetime', secondsText(settings.SESSION_COOKIE_AGE)],
        ['Sessions for each user', sessionsText(settings)],
        ['Sign-in page', settings.LOGIN_REDIRECT_OVERRIDE || 'default'],
        [
          'Anonymous metrics',
          told(settings.ALLOW_METRICS_FOR_ANONYMOUS_USERS, (allowed) => (allowed ? 'allowed' : 'denied')),
        ],
      ]),
      lines(lifetimes !== null && lifetimeCautionText(dialect)),
    ],
  });
}

/** A gateway's limit excludes the newest session. */
function sessionsText({
  SESSIONS_PER_USER: most,
  MAX_EXTRA_SESSIONS_PER_USER: extra,
}: AuthenticationSettings): string {
  if (extra !== null) return extra < 0 ? 'unlimited' : `${extra + 1} (the newest and ${extra} more)`;
  return told(most, (count) => (count === -1 ? 'unlimited' : String(count)));
}

/** A value as text, if the target has the setting. */
function told<Value>(value: Value | null, inWords: (value: Value) => string): string {
  return value === null ? 'not available here' : inWords(value);
}

/** When a changed setting takes effect. */
export type SettingsHold = TargetDescription['capabilities']['settingsHold'];

/** A line about the delay of a change; empty if it takes effect at once. */
export function delayText(holds: SettingsHold): string {
  return LINES[holds];
}

/** A line about tokens that a changed lifetime does not affect; empty if it affects all. */
export function lifetimeCautionText(dialect: TargetDescription['dialect']): string {
  const caution = lifetimeCaution(dialect);
  return caution === null ? '' : `${caution.why} ${caution.remedy}`;
}

const LINES: Readonly<Record<SettingsHold, string>> = {
  at_once: '',
  within_seconds: 'The other workers of a running controller apply the change within five seconds.',
  within_a_minute: 'A running controller applies the change within a minute.',
  within_five_minutes:
    'A running gateway applies the change when its settings cache expires, by default within five minutes.',
};
