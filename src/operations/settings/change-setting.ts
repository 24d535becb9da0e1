import { isDeepStrictEqual } from 'node:util';
import { TokenctlError } from '../../domain/errors.ts';
import { recordAct } from '../journal/record-act.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Clock } from '../ports/scheduler.ts';
import type { AuthenticationSettings, Target, TargetDescription } from '../ports/target.ts';

/**
 * Reads the target's authentication settings.
 *
 * @throws TokenctlError `permission_refused` for anybody but superusers and system auditors, and whatever
 * else the target throws.
 */
export function readSettings(options: { target: Target }): Promise<AuthenticationSettings> {
  return options.target.settings.read();
}

type Change = Partial<AuthenticationSettings>;

/** What to change, and who says so. */
export interface ChangeSettingOptions {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly log: AuditLog;
  readonly clock: Clock;
  readonly actor: Readonly<Record<string, string>>;
  /** The new values by the controller's names. */
  readonly change: Change;
  /** What the audit log calls it: `settings.basic-auth`, `settings.external-tokens`. */
  readonly operation: string;
  readonly reason?: string;
  readonly ticket?: string;
  /** Previews a change that would end the caller's own way in, at a target that changes nothing. */
  readonly mayLockOut?: boolean;
}

/** What became of the settings. */
export interface ChangedSetting {
  /** False where they had the values already: nothing was written. */
  readonly changed: boolean;
  readonly before: AuthenticationSettings;
  readonly after: AuthenticationSettings;
}

/**
 * Changes authentication settings, unless they have the values already, and reads them again to see that
 * the change holds.
 *
 * @throws TokenctlError `lockout_refused` where the change would end the caller's own way in,
 * `target_misbehaved` where the target took the change and reads otherwise, `audit_unavailable`,
 * `outcome_unrecorded`, and whatever the target throws.
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
      `${description.address} accepted the change but reports other values`,
      {
        hint: 'Check the settings files of the controller: a value in a file overrides the API.',
        details: { wanted: change, found: valuesOf(change, after) },
      },
    );
  }
  return { changed: true, before, after };
}

function keysOf(change: Change): (keyof AuthenticationSettings)[] {
  return Object.keys(change) as (keyof AuthenticationSettings)[];
}

function holds(change: Change, settings: AuthenticationSettings): boolean {
  return keysOf(change).every((key) => isDeepStrictEqual(change[key], settings[key]));
}

function valuesOf(change: Change, settings: AuthenticationSettings): Change {
  return Object.fromEntries(keysOf(change).map((key) => [key, settings[key]]));
}

/**
 * Refuses what would be the caller's last change: with a password as the credential there are two.
 *
 * @throws TokenctlError `lockout_refused`
 */
export function refuseLockout(change: Change, { credential, identity }: TargetDescription): void {
  const ends = change.AUTH_BASIC_ENABLED === false || change.DISABLE_LOCAL_AUTH === true;
  if (credential !== 'password' || !ends) return;
  throw new TokenctlError(
    'lockout_refused',
    `tokenctl signs in as ${identity.username} with a password, which would stop working with this change`,
    {
      hint: 'Give --rescue-token FILE to `settings basic-auth off` or `incident lockdown`, to create a token first. For other commands, create one with `tokenctl tokens create` and use it as the credential of this context.',
    },
  );
}
