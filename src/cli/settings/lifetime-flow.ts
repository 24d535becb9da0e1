import type { Runtime } from '../../app/runtime.ts';
import type { TokenLifetimes } from '../../operations/ports/target.ts';
import { changeSetting, readSettings } from '../../operations/settings/change-setting.ts';
import { type Report, report } from '../../reports/tables/result.ts';
import { secondsText } from '../../reports/tables/text.ts';
import type { Confirmation } from '../confirmation.ts';
import type { ChangeFlags } from '../flags.ts';
import { delayText, type SettingsHold } from './settings-result.ts';

/** The lifetimes that flags give, in seconds. */
export interface LifetimeFlags {
  readonly access?: number | undefined;
  readonly refresh?: number | undefined;
  readonly code?: number | undefined;
}

/** TokenLifetimes that are to be set. */
export interface LifetimeRequest {
  readonly runtime: Runtime;
  readonly confirmation: Confirmation;
  readonly flags: ChangeFlags & LifetimeFlags;
}

/** The controller's names, in the order in which they are shown. */
const SETTINGS = [
  ['access', 'ACCESS_TOKEN_EXPIRE_SECONDS', 'Access tokens'],
  ['refresh', 'REFRESH_TOKEN_EXPIRE_SECONDS', 'Refresh tokens'],
  ['code', 'AUTHORIZATION_CODE_EXPIRE_SECONDS', 'Authorization codes'],
] as const;

const SETTING = 'OAUTH2_PROVIDER';

const NO_SETTINGS =
  'They are no settings here: a platform gateway reads them from its settings file, as OAUTH2_PROVIDER__ACCESS_TOKEN_EXPIRE_SECONDS.\n';

/** Whether the flags change anything. */
export function givesLifetime(flags: LifetimeFlags): boolean {
  return SETTINGS.some(([flag]) => flags[flag] !== undefined);
}

/** The lifetimes as they are, as a command's result. */
export async function lifetimeStatus(runtime: Runtime): Promise<Report> {
  const { [SETTING]: lifetimes } = await readSettings({ target: await runtime.target() });
  return report({
    json: { setting: SETTING, lifetimes },
    text: () => (lifetimes === null ? NO_SETTINGS : lifetimeLines(lifetimes)),
  });
}

/**
 * Rehearses, asks and sets lifetimes. What no flag gives keeps its value: a controller stores an incomplete
 * set as it is, and then refuses every refresh.
 *
 * @throws TokenctlError `not_confirmed`, and whatever the operations throw
 */
export async function lifetimeFlow({ runtime, confirmation, flags }: LifetimeRequest): Promise<Report> {
  const { [SETTING]: found } = await readSettings({ target: await runtime.target() });
  const after = merged(found, flags);
  const before = found ?? after; // where there are none, the rehearsal refuses the change
  const change = { [SETTING]: after };
  const operation = 'settings.token-lifetime';
  const rehearsed = await changeSetting({ ...(await runtime.dryRun()), change, operation });
  const { address, context, capabilities } = await runtime.description();
  const holds = capabilities.settingsHold;
  const dryRun = flags['dry-run'] === true;
  const state = { setting: SETTING, lifetimes: after, changed: rehearsed.changed, dryRun, holds };
  if (dryRun || !rehearsed.changed) return lifetimeResult(state);
  await confirmation.confirm({
    plan: `Would set at ${address} (context ${context}):\n${lifetimeLines(after, before)}${delayText(holds)}`,
    act: 'set them',
    type: firstChange(before, after),
  });
  const { changed } = await changeSetting({ ...(await runtime.change(flags)), change, operation });
  return lifetimeResult({ ...state, changed });
}

/** What flags give, over what there is. */
function merged(before: TokenLifetimes | null, flags: LifetimeFlags): TokenLifetimes {
  const given = SETTINGS.flatMap(([flag, name]) => (flags[flag] === undefined ? [] : [[name, flags[flag]]]));
  return { ...before, ...Object.fromEntries(given) };
}

/** The first new value, in seconds. */
function firstChange(before: TokenLifetimes, after: TokenLifetimes): string {
  const changed = SETTINGS.find(([, name]) => before[name] !== after[name]);
  return changed === undefined ? '' : String(after[changed[1]]);
}

function lifetimeResult(state: {
  readonly lifetimes: TokenLifetimes;
  readonly changed: boolean;
  readonly dryRun: boolean;
  readonly holds: SettingsHold;
}): Report {
  const { lifetimes, changed, dryRun, holds } = state;
  return report({
    json: state,
    text: () => {
      if (!changed) return `${lifetimeLines(lifetimes)}They are so already: nothing was changed.\n`;
      const end = dryRun ? 'Dry run: nothing was changed.\n' : '';
      return `${dryRun ? 'Would be' : 'Are now'}:\n${lifetimeLines(lifetimes)}${delayText(holds)}${end}`;
    },
  });
}

/** A line each; where it changes, with what it was. */
function lifetimeLines(lifetimes: TokenLifetimes, before: TokenLifetimes = lifetimes): string {
  return SETTINGS.map(([, name, what]) => {
    const was = before[name] === lifetimes[name] ? '' : `; so far ${secondsText(before[name])}`;
    return `${`${what} live`.padEnd(24)}  ${secondsText(lifetimes[name])}${was}\n`;
  }).join('');
}
