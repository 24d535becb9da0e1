import type { Lock, LockValue, Measures } from '../../domain/incident/incident.ts';
import type { OperationRun, StepReport } from '../journal/operation-run.ts';
import type { AuthenticationSettings, TokenLifetimes } from '../ports/target-parts.ts';

export interface SettingsStep {
  readonly name: string;
  readonly title: string;
  readonly incident: string;
  /** The locks to set, computed from the settings when the step runs. */
  readonly locks: (settings: AuthenticationSettings) => readonly Lock[];
  /** Receives the locks that were set, with the previous values. */
  readonly locked: Lock[];
}

/**
 * Sets settings in one step and re-reads them. The intent records the previous values, read at the same
 * moment: those are restored in the end.
 * @throws TokenctlError as {@link OperationRun.step}; and what reading the settings throws before anything
 * was recorded.
 */
export async function lockSettings(work: OperationRun, step: SettingsStep): Promise<StepReport | null> {
  const { name, title, incident } = step;
  const before = await work.target.settings.read();
  const locks = step.locks(before);
  if (locks.length === 0) return null;
  const open = locks.filter(({ before: found, locked }) => found !== locked);
  step.locked.push(...locks);
  return await work.step({
    name,
    title,
    common: { incident },
    intent: { locks },
    act: async () => {
      const values = open.map(({ name: setting, locked: value }) => ({ name: setting, value }));
      if (open.length > 0) await work.target.settings.write(changeTo(values, before));
      const after = await work.target.settings.read();
      const left = locks.filter((lock) => settingNamed(after, lock.name) !== lock.locked);
      const now = Object.fromEntries(locks.map((lock) => [lock.name, settingNamed(after, lock.name)]));
      return {
        result: left.length > 0 ? 'partly' : open.length > 0 ? 'done' : 'unchanged',
        message: settingsText(locks, { open: open.length, left }),
        data: { now },
      };
    },
  });
}

function settingsText(locks: readonly Lock[], { open, left }: { open: number; left: readonly Lock[] }) {
  if (left.length > 0) {
    return `The target accepted the change but reports different values: ${left.map(({ name }) => name).join(', ')}.`;
  }
  const values = locks.map(({ name, locked }) => `${name} ${locked === false ? 'off' : locked}`).join(', ');
  return open > 0 ? `Set ${values}.` : `${values}: already set.`;
}

/** The settings that a lockdown turns off before it revokes, so that no new access is created meanwhile. */
const SWITCHES = ['AUTH_BASIC_ENABLED', 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS'] as const;

/** The maximum lifetime of new tokens and codes while an incident is open, in seconds. */
const SHORT: TokenLifetimes = {
  ACCESS_TOKEN_EXPIRE_SECONDS: 3600,
  REFRESH_TOKEN_EXPIRE_SECONDS: 3600,
  AUTHORIZATION_CODE_EXPIRE_SECONDS: 60,
};

export function wantedSwitches(measures: Measures): readonly (typeof SWITCHES)[number][] {
  const wanted = {
    AUTH_BASIC_ENABLED: measures.basicAuthentication,
    ALLOW_OAUTH2_FOR_EXTERNAL_USERS: measures.externalTokens,
  };
  return SWITCHES.filter((name) => wanted[name]);
}

/** The locks on switches that stop issuing tokens, from the current settings. */
export function switchLocks(settings: AuthenticationSettings, measures: Measures): readonly Lock[] {
  return wantedSwitches(measures).flatMap((name) => {
    const before = settings[name];
    // Not a setting of this version.
    return before === null ? [] : { what: 'setting', name, before, locked: false };
  });
}

/** The locks on lifetimes of new tokens, from the current settings: none is raised. May be empty. */
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

/** The value of a setting by its name in locks. Undefined for a setting that no lockdown changes. */
export function settingNamed(settings: AuthenticationSettings, name: string): LockValue | undefined {
  const value: unknown = name.startsWith(LIFETIMES)
    ? settings.OAUTH2_PROVIDER?.[name.slice(LIFETIMES.length) as keyof TokenLifetimes]
    : settings[name as keyof AuthenticationSettings];
  return typeof value === 'boolean' || typeof value === 'number' ? value : undefined;
}

/** The change that sets these values, by their names in locks; OAUTH2_PROVIDER keeps its other members. */
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
