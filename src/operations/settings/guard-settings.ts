import { isDeepStrictEqual } from 'node:util';
import type { AuthenticationSettings, Target, TokenLifetimes } from '../ports/target.ts';
import { type ChangeSettingOptions, changeSetting } from './change-setting.ts';

/** The required values of settings; undefined means any value. */
export type WantedSettings = Wanted<Omit<AuthenticationSettings, 'OAUTH2_PROVIDER'>> & {
  readonly OAUTH2_PROVIDER?: Wanted<TokenLifetimes> | undefined;
};

type Wanted<Settings> = { readonly [Name in keyof Settings]?: Settings[Name] | undefined };

/** One setting that is not as it should be. */
export interface DriftedSetting {
  /** In the controller's name; `OAUTH2_PROVIDER.` before those in there. */
  readonly setting: string;
  readonly wanted: unknown;
  readonly found: unknown;
}

/**
 * Finds the settings that are not as they should be. Reads only.
 *
 * @throws TokenctlError `permission_refused` where the caller may not read them, and whatever the target throws.
 */
export async function findDrift(target: Target, wanted: WantedSettings): Promise<readonly DriftedSetting[]> {
  const found = flat(await target.settings.read());
  return Object.entries(flat(wanted))
    .filter(([setting, value]) => !isDeepStrictEqual(value, found[setting]))
    .map(([setting, value]) => ({ setting, wanted: value, found: found[setting] ?? null }));
}

/**
 * Makes settings what they should be, and reads them again.
 *
 * @throws TokenctlError as {@link changeSetting}: `lockout_refused` where that would end the caller's way in.
 */
export async function enforceSettings(
  options: Omit<ChangeSettingOptions, 'change' | 'operation'> & { readonly wanted: WantedSettings },
): Promise<void> {
  const { OAUTH2_PROVIDER: lifetimes, ...wanted } = options.wanted;
  const change: Partial<AuthenticationSettings> = {
    ...given(wanted),
    ...(lifetimes !== undefined && {
      OAUTH2_PROVIDER: await whole(options.target, lifetimes),
    }),
  };
  await changeSetting({ ...options, change, operation: 'settings.guard' });
}

/** The lifetimes that are wanted, with the others as they are. A target that has none refuses them. */
async function whole(target: Target, wanted: Wanted<TokenLifetimes>): Promise<TokenLifetimes> {
  const found = (await target.settings.read()).OAUTH2_PROVIDER;
  return { ...found, ...given(wanted) } as TokenLifetimes;
}

/** What is said of the settings, without what is not. */
function given<Settings extends object>(wanted: Wanted<Settings>): Partial<Settings> {
  return Object.fromEntries(
    Object.entries(wanted).filter(([, value]) => value !== undefined),
  ) as Partial<Settings>;
}

function flat(settings: WantedSettings | AuthenticationSettings): Record<string, unknown> {
  const { OAUTH2_PROVIDER: lifetimes, ...others } = settings;
  const inner = Object.entries(lifetimes ?? {}).map(([name, value]) => [`OAUTH2_PROVIDER.${name}`, value]);
  return Object.fromEntries([...Object.entries(others), ...inner].filter(([, value]) => value !== undefined));
}
