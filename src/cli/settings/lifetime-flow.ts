import type { Runtime } from '../../app/runtime.ts';
import { lifetimeCaution } from '../../domain/dialect.ts';
import type { TokenLifetimes } from '../../operations/ports/target-parts.ts';
import { changeSetting, readSettings } from '../../operations/settings/settings.ts';
import { countRevived } from '../../operations/tokens/list-refresh-tokens.ts';
import { facts, lines, type Part, type Text, would } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { countText, secondsText } from '../../reports/tables/text.ts';
import type { ChangeRequest, PlannedChange } from '../change/change.ts';
import type { LifetimeFlags } from './settings-flags.ts';
import { delayText, lifetimeCautionText, type SettingsHold } from './settings-result.ts';

/** What `settings token-lifetime` prints with `--json`. */
export interface LifetimeJson {
  readonly setting: 'OAUTH2_PROVIDER';
  /** In seconds; null if the target has no such settings. */
  readonly lifetimes: TokenLifetimes | null;
  readonly changed: boolean;
  readonly dryRun: boolean;
  readonly holds: SettingsHold;
  /** When application tokens get the new lifetimes. */
  readonly applicationTokens: SettingsHold | 'after_restart';
}

/** The controller's names in display order. */
const SETTINGS = [
  ['access', 'ACCESS_TOKEN_EXPIRE_SECONDS', 'Access tokens'],
  ['refresh', 'REFRESH_TOKEN_EXPIRE_SECONDS', 'Refresh tokens'],
  ['code', 'AUTHORIZATION_CODE_EXPIRE_SECONDS', 'Authorization codes'],
] as const;

const SETTING = 'OAUTH2_PROVIDER' as const;

const NO_SETTINGS =
  'A platform gateway has no settings for token lifetimes. Set OAUTH2_PROVIDER__ACCESS_TOKEN_EXPIRE_SECONDS in its settings file.';

/** Whether a lifetime flag is given. */
export function givesLifetime(flags: LifetimeFlags): boolean {
  return SETTINGS.some(([flag]) => flags[flag] !== undefined);
}

export async function lifetimeStatus(runtime: Runtime): Promise<Report<LifetimeJson>> {
  const { [SETTING]: lifetimes } = await readSettings({ target: await runtime.target() });
  const { capabilities, dialect } = await runtime.description();
  const holds = capabilities.settingsHold;
  const applicationTokens = lifetimeCaution(dialect) === null ? holds : 'after_restart';
  return report({
    json: { setting: SETTING, lifetimes, changed: false, dryRun: false, holds, applicationTokens },
    document: [lifetimes === null ? lines(NO_SETTINGS) : lifetimeFacts(lifetimes)],
  });
}

/**
 * Plans new lifetimes, by a dry run. Lifetimes without a flag keep their values: a controller stores an
 * incomplete set unchanged, and then refuses every refresh.
 * @throws TokenctlError as the operations do.
 */
export async function lifetimeFlow(
  request: ChangeRequest<LifetimeFlags>,
): Promise<PlannedChange<{ readonly changed: boolean }, LifetimeJson>> {
  const { runtime, flags } = request;
  const target = await runtime.target();
  const { [SETTING]: found } = await readSettings({ target });
  const after = merged(found, flags);
  const before = found ?? after;
  const asked = { change: { [SETTING]: after }, operation: 'settings.token-lifetime' };
  const preview = await changeSetting({ ...(await runtime.dryRun()), ...asked });
  const description = await runtime.description();
  const { address, context, capabilities, dialect } = description;
  const holds = capabilities.settingsHold;
  const isCautious = lifetimeCaution(dialect) !== null;
  const revived = await countRevived({
    target,
    clock: await runtime.targetClock(),
    from: before.REFRESH_TOKEN_EXPIRE_SECONDS,
    to: after.REFRESH_TOKEN_EXPIRE_SECONDS,
  });
  const remarks = lines(delayText(holds), lifetimeCautionText(dialect), revivedText(revived));
  const already = [lifetimeFacts(after), lines('Already set. Nothing was changed.')];
  return {
    plan: preview.changed
      ? [lifetimeFacts(after, before, would`set at ${address} (context ${context}):`.text), remarks]
      : [lifetimeFacts(after)],
    question: preview.changed ? { act: 'set them', type: firstChange(before, after) } : null,
    nothing: () => ({ document: already }),
    act: async (begin) => changeSetting({ ...(await begin()), ...asked }),
    ended: ({ changed }) => ({
      document: changed ? [lifetimeFacts(after, before, 'Set:'), remarks] : already,
    }),
    json: ({ dryRun, done }) => ({
      setting: SETTING,
      lifetimes: after,
      changed: done?.changed ?? preview.changed,
      dryRun,
      holds,
      applicationTokens: isCautious ? 'after_restart' : holds,
    }),
  };
}

/**
 * The effect of a longer refresh token lifetime on expired ones, as a line; empty for none; null: unknown.
 */
function revivedText(revived: number | null): string {
  if (revived === 0) return '';
  return revived === null
    ? 'Expired refresh tokens that are younger than the new lifetime become live again. This context cannot list them.'
    : `${countText(revived, 'expired refresh token becomes', 'expired refresh tokens become')} live again.`;
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

/** One line per lifetime, with the previous value if it changes. */
function lifetimeFacts(lifetimes: TokenLifetimes, before = lifetimes, title?: Text): Part {
  return facts(
    SETTINGS.map(([, name, what]) => {
      const was = before[name] === lifetimes[name] ? '' : ` (was ${secondsText(before[name])})`;
      return [`${what} live`, secondsText(lifetimes[name]) + was];
    }),
    title,
  );
}
