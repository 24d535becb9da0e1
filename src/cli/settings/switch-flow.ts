import type { Runtime } from '../../app/runtime.ts';
import { basicAuthCaution } from '../../domain/dialect.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import { patternOf } from '../../domain/selector.ts';
import { externalUserNames, planRevocation } from '../../operations/revocation/plan-revocation.ts';
import { changeSetting, readSettings, refuseLockout } from '../../operations/settings/settings.ts';
import { refusalAhead } from '../../operations/visibility.ts';
import { type Report, report } from '../../reports/tables/result.ts';
import { countText } from '../../reports/tables/text.ts';
import type { Confirmation } from '../confirmation.ts';
import {
  createRescueToken,
  type Rescue,
  type RescueFlags,
  type RescueJson,
  rescueFileFor,
  rescueJson,
  rescuePlanLine,
  rescueText,
} from '../rescue-token.ts';
import { revocationFlow } from '../revocation/revocation-flow.ts';
import type { RevocationJson } from '../revocation/revocation-plan.ts';
import { delayText, type SettingsHold } from './settings-result.ts';

/** A switch and its new state. */
export interface SwitchRequest<More extends object = object> {
  readonly runtime: Runtime;
  readonly confirmation: Confirmation;
  readonly flags: RescueFlags;
  readonly setting: Switch<More>;
  readonly on: boolean;
  /** Whether the change covers other contexts as well. */
  readonly several: boolean;
}

/** What `settings basic-auth` prints with `--json`: the state of a switch after a change, or after a dry run. */
export interface SwitchJson extends SwitchState, RescueJson {}

/** What `settings external-tokens` prints with `--json`. */
export interface ExternalTokensJson extends SwitchJson {
  /** The tokens that external users keep after a change to deny; null otherwise, and with --revoke-existing. */
  readonly existing: Existing | null;
  /** Null unless existing tokens were revoked. */
  readonly revocation: RevocationJson | null;
}

/** The state of a switch after a change, or after a dry run. */
interface SwitchState {
  readonly setting: Switch['setting'];
  readonly enabled: boolean;
  readonly changed: boolean;
  readonly dryRun: boolean;
  /** When a change takes effect. */
  readonly holds: SettingsHold;
}

/** A changed switch. */
interface ChangedSwitch {
  readonly state: SwitchState;
  /** The token that was created first; null if none was needed. */
  readonly rescue: Rescue | null;
  /** A line about the token that a dry run would create first. */
  readonly first?: string;
  /** Why the change would be refused, after a dry run. */
  readonly refusal?: TokenctlError | undefined;
}

/** The current state of a switch. */
export async function switchStatus<More extends object>({
  runtime,
  setting,
}: Pick<SwitchRequest<More>, 'runtime' | 'setting'>): Promise<Report<SwitchJson & More>> {
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
    text: () => `${setting.states[side(enabled)]}.\n`,
  });
}

/**
 * Makes the change as a dry run first, to find out whether it is needed and allowed, then asks for confirmation and
 * makes it.
 *
 * @throws TokenctlError `lockout_refused`, `not_confirmed`, and whatever the operation throws
 */
async function changeSwitch(request: SwitchRequest): Promise<ChangedSwitch> {
  const { runtime, flags, setting, on } = request;
  const change = { [setting.setting]: on };
  const { operation } = setting;
  const preview = await changeSetting({ ...(await runtime.dryRun()), change, operation, mayLockOut: true });
  const description = await runtime.description();
  const { address, context, capabilities } = description;
  const holds = capabilities.settingsHold;
  const state = { setting: setting.setting, enabled: on, changed: preview.changed, holds };
  const dryRun = flags['dry-run'] === true;
  if (!preview.changed) return { state: { ...state, dryRun }, rescue: null };
  const rescueFile = on ? null : await rescueFileFor(request);
  const requireWayIn = () => {
    if (rescueFile === null) refuseLockout(change, description);
  };
  const first = rescueFile === null ? '' : `${rescuePlanLine(rescueFile, description)}\n`;
  if (dryRun)
    return { state: { ...state, dryRun }, rescue: null, first, refusal: refusalAhead(requireWayIn) };
  requireWayIn();
  const act = setting.acts[side(on)];
  await request.confirmation.confirm({
    plan: `Would ${act} at ${address} (context ${context}).\n${first}${await cautionText(request)}${delayText(holds)}`,
    act,
    type: setting.words[side(on)],
  });
  const rescue = rescueFile === null ? null : await createRescueToken({ runtime, flags, file: rescueFile });
  const working = rescue?.runtime ?? runtime;
  const { changed } = await changeSetting({ ...(await working.change(flags)), change, operation });
  return { state: { ...state, changed, dryRun }, rescue };
}

/**
 * The state of a switch after a change, as text.
 *
 * @param words The switch, and a line about the side effects of the change.
 */
function switchText(
  { enabled, changed, dryRun, holds }: SwitchState,
  { setting, caution = '' }: { readonly setting: Switch; readonly caution?: string },
): string {
  const state = setting.states[side(enabled)];
  if (!changed) return `${state} already. Nothing was changed.\n`;
  return dryRun
    ? `Would ${setting.acts[side(enabled)]}.\n${caution}${delayText(holds)}Dry run. Nothing was changed.\n`
    : `${state} now.\n${caution}${delayText(holds)}`;
}

/** Changes a switch and reports. */
export async function switchFlow<More extends object>(
  request: SwitchRequest<More>,
): Promise<Report<SwitchJson & More>> {
  const { state, rescue, refusal, first = '' } = await changeSwitch(request);
  const caution = await cautionText(request);
  const text = first + switchText(state, { setting: request.setting, caution }) + (await rescueText(rescue));
  const json = { ...state, ...rescueJson(rescue), ...request.setting.more };
  return report({ json, text: () => text, failure: refusal });
}

/** The side effects of the change at this kind of target, as a line; empty without side effects. */
async function cautionText({ runtime, setting, on }: SwitchRequest): Promise<string> {
  if (on || setting.setting !== 'AUTH_BASIC_ENABLED') return '';
  const { dialect } = await runtime.description();
  const caution = basicAuthCaution(dialect);
  return caution === null ? '' : `${caution}\n`;
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
  /** What its JSON has beside that of every switch. */
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

/** Whether external users may create tokens. */
export const externalTokens: Switch<Record<'existing' | 'revocation', null>> = {
  operation: 'settings.external-tokens',
  setting: 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS',
  words: { on: 'allow', off: 'deny' },
  states: {
    on: 'New tokens for external users are allowed',
    off: 'New tokens for external users are denied',
  },
  acts: { on: 'allow external users to create tokens', off: 'stop external users from creating tokens' },
  more: { existing: null, revocation: null },
};

/** The number of external users and of their tokens. */
interface Existing {
  readonly users: number;
  readonly tokens: number;
}

/**
 * Rejects `--revoke-existing` unless tokens are denied.
 *
 * @throws TokenctlError `usage`
 */
export function requireDeny(state: string): void {
  const { off } = externalTokens.words;
  if (state === off) return;
  throw new TokenctlError('usage', `--revoke-existing requires ${off}, not ${state}.`);
}

/**
 * Denies tokens to external users. The setting does not affect existing tokens, so they are revoked with
 * `--revoke-existing` and counted without it. The setting changes first, so that no token is created in between.
 */
export async function denyExternalTokens(
  request: SwitchRequest,
  revokeExisting: boolean,
): Promise<Report<ExternalTokensJson>> {
  const { runtime, setting } = request;
  const { state } = await changeSwitch(request);
  const users = await externalUserNames({ target: await runtime.target() });
  if (revokeExisting && users.length > 0) {
    const selection = { users: users.map((name) => ({ pattern: patternOf(name) })) };
    const revocation = await revocationFlow({ ...request, selection });
    return report({
      json: { ...state, rescueToken: null, existing: null, revocation: revocation.json },
      text: async (screen) => `${switchText(state, { setting })}\n${await revocation.text(screen)}`,
      failure: revocation.failure,
    });
  }
  const existing = await countExisting(runtime, users);
  return report({
    json: { ...state, rescueToken: null, existing, revocation: null },
    text: () => switchText(state, { setting }) + existingText(existing),
  });
}

async function countExisting(runtime: Runtime, users: readonly string[]): Promise<Existing> {
  if (users.length === 0) return { users: 0, tokens: 0 };
  const plan: RevocationPlan = await planRevocation({
    target: await runtime.target(),
    selector: { users },
    clock: runtime.clock,
  });
  return { users: users.length, tokens: plan.tokenIds.length + plan.kept.length };
}

function existingText({ users, tokens }: Existing): string {
  if (users === 0) return 'No external users.\n';
  if (tokens === 0) return 'No external user has a token.\n';
  return (
    `Still valid: ${countText(tokens, 'token')} of ${countText(users, 'external user')}.\n` +
    'To revoke them, add --revoke-existing.\n'
  );
}
