import { isDeepStrictEqual } from 'node:util';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Change } from '../journal/operation-run.ts';
import { recordAct } from '../journal/record-act.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import type { AuthenticationSettings, TokenLifetimes } from '../ports/target-parts.ts';

/**
 * Reads the target's authentication settings.
 * @throws TokenctlError `permission_refused` except for superusers and system auditors.
 */
export function readSettings(options: { target: Target }): Promise<AuthenticationSettings> {
  return options.target.settings.read();
}

type Wished = Partial<AuthenticationSettings>;

export interface ChangeSettingOptions extends Change {
  /** The new values by the controller's names. */
  readonly change: Wished;
  /** The operation in the audit log: `settings.basic-auth`, `settings.external-tokens`. */
  readonly operation: string;
  /** Allows previewing a change that would lock the caller out, at a target that changes nothing. */
  readonly mayLockOut?: boolean;
}

export interface ChangedSetting {
  /** False if they already had the values: nothing was written. */
  readonly changed: boolean;
  readonly before: AuthenticationSettings;
  readonly after: AuthenticationSettings;
}

/**
 * Changes authentication settings, unless they already have the values, and re-reads them to verify the
 * change.
 * @throws TokenctlError `lockout_refused` if the change would lock the caller out, `target_misbehaved` if the
 * target accepted the change but shows other values, `audit_unavailable`, `outcome_unrecorded`.
 */
export async function changeSetting(options: ChangeSettingOptions): Promise<ChangedSetting> {
  const { target, change, description } = options;
  const before = await target.settings.read();
  if (holds(change, before)) return { changed: false, before, after: before };
  if (options.mayLockOut !== true) refuseLockout(change, description);
  const after = await recordAct({
    ...options,
    intent: { before: valuesOf(change, before), after: change },
    act: async () => {
      await target.settings.write(change);
      return await target.settings.read();
    },
    outcome: (found) => ({ now: valuesOf(change, found), verified: holds(change, found) }),
  });
  if (!holds(change, after)) {
    throw new TokenctlError(
      'target_misbehaved',
      `${description.address} accepted the change but reports different values`,
      {
        hint: "Check the controller's settings files: values in files override the API.",
        details: { wanted: change, found: valuesOf(change, after) },
      },
    );
  }
  return { changed: true, before, after };
}

function keysOf(change: Wished): (keyof AuthenticationSettings)[] {
  return Object.keys(change) as (keyof AuthenticationSettings)[];
}

function holds(change: Wished, settings: AuthenticationSettings): boolean {
  return keysOf(change).every((key) => isDeepStrictEqual(change[key], settings[key]));
}

function valuesOf(change: Wished, settings: AuthenticationSettings): Wished {
  return Object.fromEntries(keysOf(change).map((key) => [key, settings[key]]));
}

/** Refuses to disable passwords (two settings do) for a caller with one. Throws `lockout_refused`. */
export function refuseLockout(change: Wished, { credential, identity }: TargetDescription): void {
  const ends = change.AUTH_BASIC_ENABLED === false || change.DISABLE_LOCAL_AUTH === true;
  if (credential !== 'password' || !ends) return;
  throw new TokenctlError(
    'lockout_refused',
    `tokenctl is logged in as ${identity.username} with a password, which would stop working with this change`,
    {
      hint: "Use --rescue-token FILE with `settings basic-auth off` or `incident lockdown` to create a token first. For other commands, create a token with `tokenctl tokens create` and use it as this context's credential.",
    },
  );
}

/** The required values of settings; undefined means any value. */
export type WantedSettings = Wanted<Omit<AuthenticationSettings, 'OAUTH2_PROVIDER'>> & {
  readonly OAUTH2_PROVIDER?: Wanted<TokenLifetimes> | undefined;
};

type Wanted<Settings> = { readonly [Name in keyof Settings]?: Settings[Name] | undefined };

/** A setting that does not have its required value. */
export interface DriftedSetting {
  /** In the controller's name, prefixed with `OAUTH2_PROVIDER.` for those within it. */
  readonly setting: string;
  readonly wanted: unknown;
  readonly found: unknown;
}

/** Finds the settings that do not have their required value. Reads only. Throws `permission_refused`. */
export async function findDrift(target: Target, wanted: WantedSettings): Promise<readonly DriftedSetting[]> {
  const found = flat(await target.settings.read());
  return Object.entries(flat(wanted))
    .filter(([setting, value]) => !isDeepStrictEqual(value, found[setting]))
    .map(([setting, value]) => ({ setting, wanted: value, found: found[setting] ?? null }));
}

/** Sets settings to their required values, and re-reads them. Throws as {@link changeSetting}. */
export async function enforceSettings(
  options: Omit<ChangeSettingOptions, 'change' | 'operation'> & { readonly wanted: WantedSettings },
): Promise<void> {
  const { OAUTH2_PROVIDER: lifetimes, ...wanted } = options.wanted;
  const change: Partial<AuthenticationSettings> = {
    ...given(wanted),
    ...(lifetimes !== undefined && { OAUTH2_PROVIDER: await whole(options.target, lifetimes) }),
  };
  await changeSetting({ ...options, change, operation: 'settings.guard' });
}

/** The required lifetimes, with the others as they are. A target without lifetimes refuses them. */
async function whole(target: Target, wanted: Wanted<TokenLifetimes>): Promise<TokenLifetimes> {
  const found = (await target.settings.read()).OAUTH2_PROVIDER;
  return { ...found, ...given(wanted) } as TokenLifetimes;
}

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
