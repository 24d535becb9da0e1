import type { Runtime } from '../../app/runtime.ts';
import { lifetimeCaution } from '../../domain/dialect.ts';
import type { TokenLifetimes } from '../../operations/ports/target.ts';
import { changeSetting, readSettings } from '../../operations/settings/settings.ts';
import { countRevived } from '../../operations/tokens/list-refresh-tokens.ts';
import { type Report, report } from '../../reports/tables/result.ts';
import { countText, secondsText } from '../../reports/tables/text.ts';
import type { Confirmation } from '../confirmation.ts';
import type { ChangeFlags } from '../flags.ts';
import { delayText, lifetimeCautionText, type SettingsHold } from './settings-result.ts';

/** The lifetime flags, in seconds. */
export interface LifetimeFlags {
  readonly access?: number | undefined;
  readonly refresh?: number | undefined;
  readonly code?: number | undefined;
}

/** What `settings token-lifetime` prints with `--json`. */
export interface LifetimeJson {
  readonly setting: 'OAUTH2_PROVIDER';
  /** In seconds; null where the target has no such settings. */
  readonly lifetimes: TokenLifetimes | null;
  readonly changed: boolean;
  readonly dryRun: boolean;
  readonly holds: SettingsHold;
  /** When application tokens get the new lifetimes. */
  readonly applicationTokens: SettingsHold | 'after_restart';
}

export interface LifetimeRequest {
  readonly runtime: Runtime;
  readonly confirmation: Confirmation;
  readonly flags: ChangeFlags & LifetimeFlags;
}

/** The controller's names in display order. */
const SETTINGS = [
  ['access', 'ACCESS_TOKEN_EXPIRE_SECONDS', 'Access tokens'],
  ['refresh', 'REFRESH_TOKEN_EXPIRE_SECONDS', 'Refresh tokens'],
  ['code', 'AUTHORIZATION_CODE_EXPIRE_SECONDS', 'Authorization codes'],
] as const;

const SETTING = 'OAUTH2_PROVIDER' as const;

const NO_SETTINGS =
  'A platform gateway has no settings for token lifetimes. Set OAUTH2_PROVIDER__ACCESS_TOKEN_EXPIRE_SECONDS in its settings file.\n';

/** Whether a lifetime flag is given. */
export function givesLifetime(flags: LifetimeFlags): boolean {
  return SETTINGS.some(([flag]) => flags[flag] !== undefined);
}

/** The current lifetimes. */
export async function lifetimeStatus(runtime: Runtime): Promise<Report<LifetimeJson>> {
  const { [SETTING]: lifetimes } = await readSettings({ target: await runtime.target() });
  const { capabilities, dialect } = await runtime.description();
  const holds = capabilities.settingsHold;
  const applicationTokens = lifetimeCaution(dialect) === null ? holds : 'after_restart';
  return report({
    json: { setting: SETTING, lifetimes, changed: false, dryRun: false, holds, applicationTokens },
    text: () => (lifetimes === null ? NO_SETTINGS : lifetimeLines(lifetimes)),
  });
}

/**
 * Sets lifetimes: a dry run, the confirmation, the change. Lifetimes without a flag keep their values: a controller
 * stores an incomplete set as it is, and then refuses every refresh.
 *
 * @throws TokenctlError `not_confirmed`, and the errors of the operations
 */
export async function lifetimeFlow({
  runtime,
  confirmation,
  flags,
}: LifetimeRequest): Promise<Report<LifetimeJson>> {
  const { [SETTING]: found } = await readSettings({ target: await runtime.target() });
  const after = merged(found, flags);
  const before = found ?? after;
  const change = { [SETTING]: after };
  const operation = 'settings.token-lifetime';
  const preview = await changeSetting({ ...(await runtime.dryRun()), change, operation });
  const { address, context, capabilities, dialect } = await runtime.description();
  const holds = capabilities.settingsHold;
  const dryRun = flags['dry-run'] === true;
  const isCautious = lifetimeCaution(dialect) !== null;
  const applicationTokens = isCautious ? ('after_restart' as const) : holds;
  const state = {
    setting: SETTING,
    lifetimes: after,
    changed: preview.changed,
    dryRun,
    holds,
    applicationTokens,
  };
  const revived = await countRevived({
    ...{ target: await runtime.target(), description: await runtime.description(), clock: runtime.clock },
    from: before.REFRESH_TOKEN_EXPIRE_SECONDS,
    to: after.REFRESH_TOKEN_EXPIRE_SECONDS,
  });
  const delay = delayText(holds) + lifetimeCautionText(dialect) + revivedText(revived);
  if (dryRun || !preview.changed) return lifetimeResult(state, delay);
  await confirmation.confirm({
    plan: `Would set at ${address} (context ${context}):\n${lifetimeLines(after, before)}${delay}`,
    act: 'set them',
    type: firstChange(before, after),
  });
  const { changed } = await changeSetting({ ...(await runtime.change(flags)), change, operation });
  return lifetimeResult({ ...state, changed }, delay);
}

/** What a longer lifetime of refresh tokens does to expired ones, as a line; empty if nothing, and null is unknown. */
function revivedText(revived: number | null): string {
  if (revived === 0) return '';
  return revived === null
    ? 'Expired refresh tokens that are younger than the new lifetime become live again. This context cannot list them.\n'
    : `${countText(revived, 'expired refresh token becomes', 'expired refresh tokens become')} live again.\n`;
}

/** The current lifetimes with the flags applied. */
function merged(before: TokenLifetimes | null, flags: LifetimeFlags): TokenLifetimes {
  const given = SETTINGS.flatMap(([flag, name]) => (flags[flag] === undefined ? [] : [[name, flags[flag]]]));
  return { ...before, ...Object.fromEntries(given) };
}

/** The first new value, in seconds. */
function firstChange(before: TokenLifetimes, after: TokenLifetimes): string {
  const changed = SETTINGS.find(([, name]) => before[name] !== after[name]);
  return changed === undefined ? '' : String(after[changed[1]]);
}

function lifetimeResult(
  state: LifetimeJson & { readonly lifetimes: TokenLifetimes },
  delay: string,
): Report<LifetimeJson> {
  const { lifetimes, changed, dryRun } = state;
  return report({
    json: state,
    text: () => {
      if (!changed) return `${lifetimeLines(lifetimes)}Already set. Nothing was changed.\n`;
      const end = dryRun ? 'Dry run. Nothing was changed.\n' : '';
      return `${dryRun ? 'Would set' : 'Set'}:\n${lifetimeLines(lifetimes)}${delay}${end}`;
    },
  });
}

/** One line per lifetime, with the previous value if it changes. */
function lifetimeLines(lifetimes: TokenLifetimes, before: TokenLifetimes = lifetimes): string {
  return SETTINGS.map(([, name, what]) => {
    const was = before[name] === lifetimes[name] ? '' : ` (was ${secondsText(before[name])})`;
    return `${`${what} live`.padEnd(24)}  ${secondsText(lifetimes[name])}${was}\n`;
  }).join('');
}
