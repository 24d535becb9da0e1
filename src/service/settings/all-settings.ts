import type { Queryable } from '../../db/database.ts';
import type { ServiceContext } from '../context.ts';
import { readSettings } from '../store/settings.ts';
import { DEFINITIONS, type SettingDefinition } from './definitions.ts';
import { MASK } from './secret-box.ts';
import { SSO_DEFINITIONS } from './sso-definitions.ts';

/** Every setting the service knows. */
export const ALL_DEFINITIONS: readonly SettingDefinition[] = [...DEFINITIONS, ...SSO_DEFINITIONS];

/** The settings of single sign-on: those of all providers, and those of each. */
export const SSO_SETTINGS: readonly SettingDefinition[] = ALL_DEFINITIONS.filter(({ key }) =>
  key.startsWith('SOCIAL_AUTH_'),
);

/**
 * The settings of single sign-on as they are in force, by name: what the environment fixes goes before what
 * is stored. A secret that cannot be opened with the service's key is null.
 */
export async function ssoSettings(
  service: Pick<ServiceContext, 'fixedSettings' | 'secrets'>,
  database: Queryable,
): Promise<ReadonlyMap<string, unknown>> {
  const stored = await readSettings(database);
  return new Map(
    SSO_SETTINGS.map(({ key, secret, defaultValue }) => {
      if (service.fixedSettings.has(key)) return [key, service.fixedSettings.get(key)];
      const value = stored.has(key) ? stored.get(key) : defaultValue;
      return [
        key,
        secret && typeof value === 'string' && value !== '' ? service.secrets.open(key, value) : value,
      ];
    }),
  );
}

/** A value as the API shows it. */
export function shown({ secret }: Pick<SettingDefinition, 'secret'>, value: unknown): unknown {
  return secret && value !== '' ? MASK : value;
}
