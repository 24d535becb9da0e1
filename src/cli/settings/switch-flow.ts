import type { Runtime } from '../../app/runtime.ts';
import { basicAuthCaution } from '../../domain/dialect.ts';
import { changeSetting, readSettings } from '../../operations/settings/change-setting.ts';
import { type Report, report } from '../../reports/result.ts';
import type { Confirmation } from '../consent.ts';
import type { ChangeFlags } from '../flags.ts';
import { delayText, type SettingsHold } from './settings-delay.ts';
import type { Switch } from './switches.ts';

/** A switch, and the state that it is to have. */
export interface SwitchRequest {
  readonly runtime: Runtime;
  readonly consent: Confirmation;
  readonly flags: ChangeFlags;
  readonly setting: Switch;
  readonly on: boolean;
}

/** What a switch is, or has become. In a dry run, what it would become. */
export interface SwitchState {
  readonly setting: Switch['setting'];
  readonly enabled: boolean;
  readonly changed: boolean;
  readonly dryRun: boolean;
  /** How soon a change holds. */
  readonly holds: SettingsHold;
}

/** Where a switch stands, as a command's result. */
export async function switchStatus({
  runtime,
  setting,
}: Pick<SwitchRequest, 'runtime' | 'setting'>): Promise<Report> {
  const settings = await readSettings({ target: await runtime.target() });
  const enabled = settings[setting.setting];
  return report({
    json: { setting: setting.setting, enabled },
    text: () => `${setting.states[side(enabled)]}.\n`,
  });
}

/**
 * Rehearses a change, which finds out whether there is anything to do and whether it is refused; asks;
 * and changes it.
 *
 * @throws TokenctlError `lockout_refused`, `not_confirmed`, and whatever the operation throws
 */
export async function changeSwitch(request: SwitchRequest): Promise<SwitchState> {
  const { runtime, flags, setting, on } = request;
  const change = { [setting.setting]: on };
  const { operation } = setting;
  const rehearsed = await changeSetting({ ...(await runtime.rehearsal()), change, operation });
  const { address, context, capabilities } = await runtime.description();
  const holds = capabilities.settingsHold;
  const state = { setting: setting.setting, enabled: on, changed: rehearsed.changed, holds };
  const dryRun = flags['dry-run'] === true;
  if (dryRun || !rehearsed.changed) return { ...state, dryRun };
  const act = setting.acts[side(on)];
  await request.consent.confirm({
    plan: `Would ${act} at ${address} (context ${context}).\n${await cautionText(request)}${delayText(holds)}`,
    act,
    type: setting.words[side(on)],
  });
  const { changed } = await changeSetting({ ...(await runtime.change(flags)), change, operation });
  return { ...state, changed, dryRun };
}

/**
 * A changed switch for people, in lines.
 *
 * @param words The switch; and what changing it does besides, as a line.
 */
export function switchText(
  { enabled, changed, dryRun, holds }: SwitchState,
  { setting, caution = '' }: { readonly setting: Switch; readonly caution?: string },
): string {
  const state = setting.states[side(enabled)];
  if (!changed) return `${state} already: nothing was changed.\n`;
  return dryRun
    ? `Would ${setting.acts[side(enabled)]}.\n${caution}${delayText(holds)}Dry run: nothing was changed.\n`
    : `${state} now.\n${caution}${delayText(holds)}`;
}

/** A changed switch as a command's result. */
export async function switchFlow(request: SwitchRequest): Promise<Report> {
  const state = await changeSwitch(request);
  const caution = await cautionText(request);
  return report({ json: state, text: () => switchText(state, { setting: request.setting, caution }) });
}

/** What this change does besides at such a target, as a line; nothing where it does nothing else. */
async function cautionText({ runtime, setting, on }: SwitchRequest): Promise<string> {
  if (on || setting.setting !== 'AUTH_BASIC_ENABLED') return '';
  const { dialect } = await runtime.description();
  const caution = basicAuthCaution(dialect);
  return caution === null ? '' : `${caution}\n`;
}

function side(on: boolean): 'on' | 'off' {
  return on ? 'on' : 'off';
}
