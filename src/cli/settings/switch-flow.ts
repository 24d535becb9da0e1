import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { untilText } from '../../domain/access.ts';
import { basicAuthCaution } from '../../domain/dialect.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import { patternOf } from '../../domain/selector.ts';
import { appliedAt } from '../../operations/access/check-paths.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { externalUserNames, planRevocation } from '../../operations/revocation/plan-revocation.ts';
import type { RevocationReport } from '../../operations/revocation/revocation-report.ts';
import { changeSetting, readSettings, refuseLockout } from '../../operations/settings/settings.ts';
import { lines, would } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { countText } from '../../reports/tables/text.ts';
import type { ChangeRequest, Planned, PlannedChange } from '../change/change.ts';
import { type RevocationJson, revocationFlow } from '../revocation/revocation-flow.ts';
import {
  createRescueToken,
  type Rescue,
  type RescueJson,
  rescueFileFor,
  rescueJson,
  rescueLines,
  rescuePlanLine,
} from './rescue-token.ts';
import type { RescueFlags } from './settings-flags.ts';
import { delayText, type SettingsHold } from './settings-result.ts';
import { type SourceJson, watchingSources } from './watching-sources.ts';

/** A switch and its new state. */
export interface SwitchRequest<More extends object = object> extends ChangeRequest<RescueFlags> {
  readonly setting: Switch<More>;
  readonly on: boolean;
  /** Whether the change covers other contexts as well. */
  readonly several: boolean;
  /** Further lines of the plan and the result. */
  readonly remarks?: readonly string[];
}

/**
 * What `settings basic-auth` prints with `--json`: the state of a switch after a change, or after a dry run.
 */
export interface SwitchJson extends SwitchState, RescueJson {}

/** What `settings external-tokens` prints with `--json`. */
export interface ExternalTokensJson extends SwitchJson {
  /**
   * The tokens that external users keep after a change to deny; null otherwise, and with --revoke-existing.
   */
  readonly existing: Existing | null;
  /** Null unless existing tokens were revoked. */
  readonly revocation: RevocationJson | null;
  /**
   * With --revoke-existing, until when a controller may still issue tokens to external users; otherwise null.
   */
  readonly issuedUntil: string | null;
  /** The directories that answered who has left, with their last answers; null if not read, and for deny. */
  readonly sources: readonly SourceJson[] | null;
}

/** The state of a switch after a change, or after a dry run. */
interface SwitchState {
  readonly setting: Switch['setting'];
  /** Null for a setting that this version does not have. */
  readonly enabled: boolean | null;
  readonly changed: boolean;
  readonly dryRun: boolean;
  readonly holds: SettingsHold;
}

/** The current state of a switch. */
export async function switchStatus<More extends object>(
  request: Pick<SwitchRequest<More>, 'runtime' | 'setting'>,
): Promise<Report<SwitchJson & More>> {
  const { runtime, setting } = request;
  const settings = await readSettings({ target: await runtime.target() });
  const enabled = settings[setting.setting];
  const { capabilities } = await runtime.description();
  const holds = capabilities.settingsHold;
  return report({
    json: {
      setting: setting.setting,
      enabled,
      changed: false,
      dryRun: false,
      holds,
      rescueToken: null,
      ...setting.more,
    },
    document: [
      lines(
        enabled === null ? `${setting.setting} is not available here.` : `${setting.states[side(enabled)]}.`,
      ),
    ],
  });
}

type SwitchChange<More extends object> = PlannedChange<Switched, SwitchJson & More>;

interface Switched {
  readonly changed: boolean;
  readonly rescue: Rescue | null;
}

/** Plans a change of a switch by a dry run: whether it is needed and allowed. Throws `lockout_refused`. */
export async function switchFlow<More extends object>(
  request: SwitchRequest<More>,
): Promise<SwitchChange<More>> {
  const { runtime, flags, setting, on } = request;
  const asked = { change: { [setting.setting]: on }, operation: setting.operation };
  const preview = await changeSetting({ ...(await runtime.dryRun()), ...asked, mayLockOut: true });
  const description = await runtime.description();
  const holds = description.capabilities.settingsHold;
  const rescueFile = on || !preview.changed ? null : await rescueFileFor(request);
  const { remarks: more = [] } = request;
  const remarks = [cautionOf(request, description), delayText(holds), ...more];
  const act = setting.acts[side(on)];
  const state = setting.states[side(on)];
  return {
    plan: [
      lines(
        preview.changed
          ? would`${act} at ${description.address} (context ${description.context}).`
          : `${state} already.`,
        rescueFile !== null && rescuePlanLine(rescueFile, description),
        preview.changed && remarks,
      ),
    ],
    question: preview.changed ? { act, type: setting.words[side(on)] } : null,
    require: () => {
      if (rescueFile === null) refuseLockout(asked.change, description);
    },
    nothing: () => ({ document: [lines(`${state} already. Nothing was changed.`, more)] }),
    async act(begin) {
      const rescue =
        rescueFile === null ? null : await createRescueToken({ runtime, flags, file: rescueFile });
      const { changed } = await changeSetting({ ...(await begin(rescue?.runtime)), ...asked });
      return { changed, rescue };
    },
    ended: async ({ changed, rescue }) => ({
      document: [
        lines(
          changed ? [`${state} now.`, ...remarks] : `${state} already. Nothing was changed.`,
          await rescueLines(rescue),
        ),
      ],
    }),
    json: ({ dryRun, done }) => ({
      setting: setting.setting,
      enabled: on,
      changed: done?.changed ?? preview.changed,
      dryRun,
      holds,
      ...rescueJson(done?.rescue ?? null),
      ...setting.more,
    }),
  };
}

/** The side effects of the change at this kind of target; empty if there are none. */
function cautionOf({ setting, on }: SwitchRequest, { dialect }: TargetDescription): string | null {
  return on || setting.setting !== 'AUTH_BASIC_ENABLED' ? null : basicAuthCaution(dialect);
}

function side(on: boolean): 'on' | 'off' {
  return on ? 'on' : 'off';
}

/** A boolean setting of the controller. */
export interface Switch<More extends object = object> {
  /** The operation's name in the audit log. */
  readonly operation: string;
  /** The controller's name for the setting. */
  readonly setting: 'AUTH_BASIC_ENABLED' | 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS';
  /** The words of the command line for true and for false. */
  readonly words: { readonly on: string; readonly off: string };
  /** Each state as a phrase that "now" or "already" can follow. */
  readonly states: { readonly on: string; readonly off: string };
  /** Each change as a phrase: `turn basic authentication off`. */
  readonly acts: { readonly on: string; readonly off: string };
  /** The additional members of its JSON. */
  readonly more: More;
}

/** Whether requests may use a user name and password (RFC 7617). */
export const basicAuthentication: Switch = {
  operation: 'settings.basic-auth',
  setting: 'AUTH_BASIC_ENABLED',
  words: { on: 'on', off: 'off' },
  states: { on: 'Basic authentication is on', off: 'Basic authentication is off' },
  acts: { on: 'turn basic authentication on', off: 'turn basic authentication off' },
  more: {},
};

/** The JSON members about external users that the switch itself does not set. */
type ExternalTokens = Record<'existing' | 'revocation' | 'issuedUntil' | 'sources', null>;

/** Whether external users may create tokens. */
export const externalTokens: Switch<ExternalTokens> = {
  operation: 'settings.external-tokens',
  setting: 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS',
  words: { on: 'allow', off: 'deny' },
  states: {
    on: 'New tokens for external users are allowed',
    off: 'New tokens for external users are denied',
  },
  acts: { on: 'allow external users to create tokens', off: 'stop external users from creating tokens' },
  more: { existing: null, revocation: null, issuedUntil: null, sources: null },
};

/** The number of external users and of their tokens. */
interface Existing {
  readonly users: number;
  readonly tokens: number;
}

/** Rejects `--revoke-existing` unless tokens are denied. Throws `usage`. */
export function requireDeny(state: string): void {
  const { off } = externalTokens.words;
  if (state === off) return;
  throw new TokenctlError('usage', `--revoke-existing requires ${off}, not ${state}.`);
}

/** Shows whether external users may create tokens, and whether a directory checks for departed ones. */
export async function externalTokensStatus(runtime: Runtime): Promise<Report<ExternalTokensJson>> {
  const shown = await switchStatus({ runtime, setting: externalTokens });
  const { sources, remarks } = await watchingSources(runtime);
  if (shown.json.enabled !== true) return shown;
  return report({
    json: { ...shown.json, sources },
    text: async (screen) => `${await shown.text(screen)}${remarks.map((line) => `${line}\n`).join('')}`,
    failure: shown.failure,
  });
}

/** Allows tokens for external users, and says whether a directory checks for departed ones. */
export async function allowExternalTokens(
  request: SwitchRequest<ExternalTokens>,
): Promise<PlannedChange<Switched, ExternalTokensJson>> {
  const { sources, remarks } = await watchingSources(request.runtime);
  const change = await switchFlow<Omit<ExternalTokensJson, keyof SwitchJson>>({ ...request, remarks });
  return { ...change, json: (outcome) => ({ ...change.json(outcome), sources }) };
}

/**
 * Plans to deny tokens to external users. The setting does not affect existing tokens, so they are revoked
 * with `--revoke-existing` and counted without it. The setting changes first, so that no token is created in
 * between: the revocation is a separate change after it.
 */
export async function denyExternalTokens(
  request: SwitchRequest<ExternalTokens>,
  revokeExisting: boolean,
): Promise<Planned<ExternalTokensJson>> {
  const change = await switchFlow<Omit<ExternalTokensJson, keyof SwitchJson>>(request);
  const existing = revokeExisting ? await revocationOf(request) : null;
  return {
    ...change,
    // Nothing is changed without the approval that the revocation after it needs.
    guard: existing?.guard && { ...existing.guard, command: null, instead: WITHOUT_APPROVAL },
    after: (switched) => afterDenial(request, { switched, revokeExisting }),
  };
}

const WITHOUT_APPROVAL =
  'Deny without --revoke-existing, and revoke the tokens with a plan of `tokenctl tokens revoke`.';

/** The revocation of the tokens of all external users; null if there are none. */
async function revocationOf(request: SwitchRequest<ExternalTokens>) {
  const users = await externalUserNames({ target: await request.runtime.target() });
  if (users.length === 0) return null;
  return await revocationFlow({
    ...request,
    selection: { users: users.map((name) => ({ pattern: patternOf(name) })) },
  });
}

async function afterDenial(
  request: SwitchRequest<ExternalTokens>,
  done: { readonly switched: Report<ExternalTokensJson>; readonly revokeExisting: boolean },
): Promise<Planned<ExternalTokensJson>> {
  const { runtime } = request;
  const { switched, revokeExisting } = done;
  const { changed, dryRun, holds } = switched.json;
  const now = (await runtime.targetClock()).now();
  const set = changed ? now : await lastRecordedChange(runtime);
  const applied = dryRun ? null : appliedAt(set, { settingsHold: holds, now });
  const revocation = revokeExisting ? await revocationOf(request) : null;
  if (revocation !== null) {
    const issuedUntil = applied?.toISOString() ?? null;
    const still =
      applied === null
        ? ''
        : `\nA running controller may issue tokens to external users until ${untilText(applied)}.\n`;
    const following: PlannedChange<RevocationReport, ExternalTokensJson> = {
      ...revocation,
      json: (outcome) => ({ ...switched.json, revocation: revocation.json(outcome), issuedUntil }),
      after: async ({ json, text, failure }) =>
        report({
          json,
          text: async (screen) => `${await switched.text(screen)}\n${await text(screen)}${still}`,
          failure: switched.failure ?? failure ?? (applied === null ? undefined : issuedFailure(applied)),
        }),
    };
    return following;
  }
  const existing = await countExisting(runtime);
  return report({
    json: { ...switched.json, existing },
    text: async (screen) => (await switched.text(screen)) + existingText(existing),
    failure: switched.failure,
  });
}

/**
 * The last change of the setting at this address in the audit log, by any operation; null if there is none. A
 * run may find the setting already set before running servers have applied the earlier run's change.
 */
async function lastRecordedChange(runtime: Runtime): Promise<Date | null> {
  const { log, description } = await runtime.reading();
  let last: string | null = null;
  for await (const { kind, at, target, data } of log.entries()) {
    if (kind === 'outcome' && target?.address === description.address && hasKey(data, externalTokens.setting))
      last = at;
  }
  return last === null ? null : new Date(last);
}

/** Whether a value has a member of this name, at any depth. */
function hasKey(value: unknown, name: string): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.hasOwn(value, name) || Object.values(value).some((each) => hasKey(each, name));
}

/** The setting was changed but not yet applied: tokens issued in the meantime were not revoked. */
function issuedFailure(applied: Date): TokenctlError {
  return new TokenctlError(
    'partly_done',
    'Tokens that are issued before the change takes effect stay valid',
    { hint: `Run the same command again after ${untilText(applied)}.` },
  );
}

async function countExisting(runtime: Runtime): Promise<Existing> {
  const users = await externalUserNames({ target: await runtime.target() });
  if (users.length === 0) return { users: 0, tokens: 0 };
  const plan: RevocationPlan = await planRevocation({
    target: await runtime.target(),
    selector: { users },
    clock: await runtime.targetClock(),
  });
  return { users: users.length, tokens: plan.tokenIds.length + plan.kept.length };
}

function existingText({ users, tokens }: Existing): string {
  if (users === 0) return 'No external users.\n';
  if (tokens === 0) return 'No external user has a token.\n';
  const valid = `${countText(tokens, 'token')} of ${countText(users, 'external user')}`;
  return `Still valid: ${valid}.\nTo revoke them, add --revoke-existing.\n`;
}
