import type { Lock, LockValue, Measures } from '../../domain/incident/incident.ts';
import type { AuthenticationSettings, TokenLifetimes } from '../ports/target.ts';

/** The settings that a lockdown sets before it revokes anything: whoever is out stays out. */
const DOORS = ['AUTH_BASIC_ENABLED', 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS'] as const;

/** The most that new tokens and codes live while an incident is open, in seconds. */
const SHORT: TokenLifetimes = {
  ACCESS_TOKEN_EXPIRE_SECONDS: 3600,
  REFRESH_TOKEN_EXPIRE_SECONDS: 3600,
  AUTHORIZATION_CODE_EXPIRE_SECONDS: 60,
};

/** The locks on switches that stop the issuing of tokens, as the settings are now. */
export function doorLocks(settings: AuthenticationSettings, measures: Measures): readonly Lock[] {
  const wanted = {
    AUTH_BASIC_ENABLED: measures.basicAuthentication,
    ALLOW_OAUTH2_FOR_EXTERNAL_USERS: measures.externalTokens,
  };
  return DOORS.filter((name) => wanted[name]).map((name) => ({
    what: 'setting',
    name,
    before: settings[name],
    locked: false,
  }));
}

/** The locks on the lifetimes of new tokens, as the settings are now: none is made longer. None where they are no settings. */
export function lifetimeLocks(settings: AuthenticationSettings, measures: Measures): readonly Lock[] {
  const { OAUTH2_PROVIDER: lifetimes } = settings;
  if (!measures.lifetimes || lifetimes === null) return [];
  return (Object.keys(SHORT) as (keyof TokenLifetimes)[]).map((name) => {
    const before = lifetimes[name];
    return {
      what: 'setting',
      name: `OAUTH2_PROVIDER.${name}`,
      before,
      locked: Math.min(before, SHORT[name]),
    };
  });
}

/** The value of a setting by the name that locks have. Undefined for one that no lockdown sets. */
export function settingNamed(settings: AuthenticationSettings, name: string): LockValue | undefined {
  const value: unknown = name.startsWith(LIFETIMES)
    ? settings.OAUTH2_PROVIDER?.[name.slice(LIFETIMES.length) as keyof TokenLifetimes]
    : settings[name as keyof AuthenticationSettings];
  return typeof value === 'boolean' || typeof value === 'number' ? value : undefined;
}

/** The change that gives settings these values, by the names that locks have; OAUTH2_PROVIDER is kept whole. */
export function changeTo(
  values: readonly { readonly name: string; readonly value: LockValue }[],
  settings: AuthenticationSettings,
): Partial<AuthenticationSettings> {
  const lifetimes = values.filter(({ name }) => name.startsWith(LIFETIMES));
  const others = values.filter(({ name }) => !name.startsWith(LIFETIMES));
  return {
    ...Object.fromEntries(others.map(({ name, value }) => [name, value])),
    ...(settings.OAUTH2_PROVIDER !== null &&
      lifetimes.length > 0 && {
        OAUTH2_PROVIDER: {
          ...settings.OAUTH2_PROVIDER,
          ...Object.fromEntries(lifetimes.map(({ name, value }) => [name.slice(LIFETIMES.length), value])),
        },
      }),
  };
}

const LIFETIMES = 'OAUTH2_PROVIDER.';
