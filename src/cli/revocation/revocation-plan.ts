import { TokenctlError } from '../../domain/errors.ts';
import type { RevocationPlan, SavedPlanReference, StaysAlive, Tally } from '../../domain/plan.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import type { RevocationReport } from '../../operations/revocation/revocation-report.ts';
import { revocationRefusal } from '../../operations/revocation/revoke-tokens.ts';
import { type MaybeMade, type NotMade, type Report, report } from '../../reports/tables/result.ts';
import { countText, numberText, printable, timeText } from '../../reports/tables/text.ts';
import type { Question } from '../confirmation.ts';

/** Lines of a tally to show. */
const MAX_TALLY_LINES = 5;

/**
 * A plan as text.
 *
 * @param before Whether the revocation follows; its report then says what stays alive.
 */
export function planText(plan: RevocationPlan, description: TargetDescription, before = false): string {
  const { address, context, identity } = description;
  const amounts = amountsOf(plan);
  const unseen = plan.sessions?.unseen;
  const lines = [
    isNothing(amounts)
      ? `Nothing${plan.notSeen === null && unseen === undefined ? '' : ' visible'} to revoke for ${printable.value(plan.selection)}.`
      : `Would ${questionFor(amounts).act}: ${printable.value(plan.selection)}.`,
    `At ${address} (context ${context}, as ${printable.value(identity.username)}).`,
    ...savedLines(plan),
    ...amountLines(plan),
    ...tallyLines('user', plan.byUser),
    ...tallyLines('application', plan.byApplication),
    ...tallyLines('scope', plan.byScope),
    ...keptLines(plan),
    ...(plan.notSeen === null ? [] : ['', `Not the whole selection: ${printable.value(plan.notSeen)}.`]),
    ...(isNothing(amounts) && unseen !== undefined ? ['', `Not checked. ${unseen}.`] : []),
    ...(before || isNothing(amounts) ? [] : staysAliveBriefly(plan.staysAlive)),
  ];
  return `${lines.join('\n')}\n`;
}

/** The saved plan that is applied, and what is gone of it. */
function savedLines({ saved, notSeen }: RevocationPlan): string[] {
  if (saved === undefined) return [];
  const { made, digest } = saved;
  return [
    `Applies the plan of ${timeText(new Date(made.at))} by ${printable.value(made.by['sudo_user'] ?? made.by['user'] ?? 'an unknown user')}, digest ${digest.slice(0, 12)}.`,
    ...goneLines(saved, notSeen),
  ];
}

/** The tokens of a saved plan that the target does not list any more. */
export function goneLines({ gone }: SavedPlanReference, notSeen: string | null): string[] {
  const kinds: readonly (readonly [string, readonly number[]])[] = [
    ['access token', gone.accessTokens],
    ['refresh token', gone.refreshTokens],
    ['authorization code', gone.authorizationCodes],
  ];
  const what = notSeen === null ? 'Already gone' : 'Already gone, or not visible to this account';
  return kinds
    .filter(([, ids]) => ids.length > 0)
    .map(([name, ids]) => `${what}: ${countText(ids.length, name)} of the plan (${idsText(ids)}).`);
}

/** The number of each kind, if the plan covers more than access tokens. */
function amountLines(plan: RevocationPlan): string[] {
  const { reach, sessions, refreshTokensBeside: beside, refreshTokenIds } = plan;
  if (!reach.refreshTokens && !reach.authorizationCodes && sessions === null) return [];
  const { accessTokens, refreshTokens, authorizationCodes } = amountsOf(plan);
  const rows: readonly (readonly [string, number, string])[] = [
    ['Access tokens', accessTokens, ''],
    [
      'Refresh tokens',
      refreshTokens,
      expiredText(plan.refreshTokensExpired) +
        (refreshTokenIds.length === 0
          ? ''
          : `: ${numberText(beside)} of these access tokens, ${numberText(refreshTokenIds.length)} orphaned`),
    ],
    ['Authorization codes', authorizationCodes, ''],
    ['Sessions', sessions?.count ?? 0, ''],
  ];
  const shown = rows.filter(
    ([name]) =>
      (name !== 'Refresh tokens' || reach.refreshTokens) &&
      (name !== 'Authorization codes' || authorizationCodes > 0) &&
      (name !== 'Sessions' || sessions !== null),
  );
  const width = Math.max(...shown.map(([, amount]) => numberText(amount).length));
  return [
    '',
    ...shown.map(
      ([name, amount, more]) =>
        `${`${name}:`.padEnd(authorizationCodes > 0 ? 20 : 15)} ${numberText(amount).padStart(width)}${more}`,
    ),
  ];
}

/** How many of some refresh tokens are expired, as an addition in brackets; empty for none, and where it is not known. */
export function expiredText(expired: number | null | undefined): string {
  return expired ? ` (${numberText(expired)} expired)` : '';
}

function staysAliveBriefly(staysAlive: readonly StaysAlive[]): string[] {
  if (staysAlive.length === 0) return [];
  const names = staysAlive.map(({ what, count }) => `${whatText(what)}${countSuffix(count)}`.toLowerCase());
  return ['', `Would stay alive: ${names.join(', ')}.`];
}

function countSuffix(count: number | null): string {
  return count === null ? '' : ` (${numberText(count)})`;
}

/** What an operation leaves alive, and how to end it. */
export function staysAliveLines(staysAlive: readonly StaysAlive[]): string[] {
  if (staysAlive.length === 0) return [];
  return [
    '',
    'Stays alive:',
    ...staysAlive.flatMap(({ what, count, why, remedy, until }) => [
      `  ${whatText(what)}${countSuffix(count)}: ${why}${until === undefined ? '' : ` The last one expires at ${timeText(new Date(until))}.`}`,
      `    ${remedy}`,
    ]),
  ];
}

function whatText(what: StaysAlive['what']): string {
  return {
    authorization_codes: 'Authorization codes',
    refresh_tokens: 'Refresh tokens',
    sessions: 'Sessions',
    basic_authentication: 'Basic authentication',
    own_token: 'Your own token',
  }[what];
}

/** The first lines of a tally, largest first, and the sum of the rest. */
export function tallyLines(kind: string, tallies: readonly Tally[], unit = 'token'): string[] {
  if (tallies.length === 0) return [];
  const shown = tallies.slice(0, MAX_TALLY_LINES);
  const rest = tallies.slice(MAX_TALLY_LINES);
  const counts = shown.map(({ count }) => numberText(count));
  const width = Math.max(...counts.map((text) => text.length));
  return [
    '',
    `By ${kind}:`,
    ...shown.map(({ name }, index) => `  ${counts[index]?.padStart(width)}  ${printable.value(name)}`),
    ...(rest.length === 0
      ? []
      : [`  and ${countText(rest.length, 'more', 'more')} with ${countText(sum(rest), unit)}`]),
  ];
}

function keptLines({ kept, absentIds, ownTokenIds, saved }: RevocationPlan): string[] {
  const lines = [
    ...kept.map(({ tokenId, reason }) => `Skipped: token ${tokenId}, which ${reason}.`),
    ...(ownTokenIds.length === 0
      ? []
      : [
          `Last: ${countText(ownTokenIds.length, 'token')} (${idsText(ownTokenIds)}), possibly the credential of this ` +
            'context. The context then needs a new one.',
        ]),
  ];
  if (absentIds.length > 0 && saved === undefined)
    lines.push(`Not found: ${countText(absentIds.length, 'id')} (${idsText(absentIds)}).`);
  return lines.length === 0 ? [] : ['', ...lines];
}

/** The first ten ids, and the number of the rest. */
export function idsText(ids: readonly number[]): string {
  const rest = ids.length - 10;
  return rest <= 0 ? ids.join(', ') : `${ids.slice(0, 10).join(', ')} and ${numberText(rest)} more`;
}

function sum(tallies: readonly Tally[]): number {
  return tallies.reduce((total, { count }) => total + count, 0);
}

/** The amounts of a revocation. */
interface Amounts {
  readonly accessTokens: number;
  readonly refreshTokens: number;
  readonly authorizationCodes: number;
  readonly sessions: number;
}

/** The amounts of a plan. Its refresh tokens include orphaned ones. */
export function amountsOf(plan: RevocationPlan): Amounts {
  return {
    accessTokens: plan.tokenIds.length,
    refreshTokens: plan.refreshTokensBeside + plan.refreshTokenIds.length,
    authorizationCodes: plan.authorizationCodeIds.length,
    sessions: plan.sessions?.count ?? 0,
  };
}

/** Whether all amounts are 0. */
export function isNothing(amounts: Amounts): boolean {
  return Object.values(amounts).every((amount) => amount === 0);
}

/** The answer to type, which is the number of access tokens or, without any, of the other items; and the action as a phrase. */
export function questionFor(amounts: Amounts): Omit<Question, 'plan'> {
  const { accessTokens, refreshTokens, authorizationCodes, sessions } = amounts;
  const first = [accessTokens, refreshTokens, authorizationCodes, sessions].find((amount) => amount > 0) ?? 0;
  return { act: actText(amounts), type: String(first), tokens: accessTokens };
}

function actText({ accessTokens, refreshTokens, authorizationCodes, sessions }: Amounts): string {
  const tokens = refreshTokens > 0 ? 'access token' : 'token';
  const revoked = [
    ...(accessTokens > 0 ? [countText(accessTokens, tokens)] : []),
    ...(refreshTokens > 0 ? [countText(refreshTokens, 'refresh token')] : []),
  ].join(' and ');
  const acts = [
    ...(revoked === '' ? [] : [`revoke ${revoked}`]),
    ...(authorizationCodes > 0 ? [`delete ${countText(authorizationCodes, 'authorization code')}`] : []),
    ...(sessions > 0 ? [`end ${countText(sessions, 'session')}`] : []),
  ];
  return [acts.slice(0, -1).join(', '), acts.at(-1)].filter(Boolean).join(', and ');
}

/** The maximum number of ids in a JSON plan; a million ids would be 40 MB. */
const MAX_IDS = 10_000;

/** A plan as `--json` shows it: with the numbers of what it revokes. A large plan has null instead of ids and owners. */
interface RevocationPlanJson
  extends Omit<RevocationPlan, 'tokenIds' | 'owners' | 'refreshTokenIds' | 'refreshTokenOwners'> {
  readonly accessTokens: number;
  /** Including those that go with access tokens. */
  readonly refreshTokens: number;
  readonly authorizationCodes: number;
  /** In the order of the work; null in a plan of more than 10,000 tokens, which the digest identifies. */
  readonly tokenIds: readonly number[] | null;
  /** `owners[i]` owns `tokenIds[i]`. */
  readonly owners: readonly string[] | null;
  /** Of refresh tokens without a selected access token. */
  readonly refreshTokenIds: readonly number[] | null;
  readonly refreshTokenOwners: readonly string[] | null;
}

/** What `tokens revoke` prints with `--json`. Where nothing was revoked, the members of the report are null. */
export interface RevocationJson extends MaybeMade<Omit<RevocationReport, 'plan'>> {
  readonly dryRun: boolean;
  /** Null where the plan is not known. */
  readonly plan: RevocationPlanJson | null;
  /** The file of --plan-out; null without it. */
  readonly planFile: string | null;
  /** The digest of the saved plan; null without --plan-out. */
  readonly digest: string | null;
  /** The plan that was applied with --plan; null without it. */
  readonly savedPlan: SavedPlanReference | null;
}

/** The JSON of every revocation: what was planned, and what the report says, or null where nothing was to be done. */
export function revocationToJson(parts: {
  readonly dryRun: boolean;
  readonly plan: RevocationPlan | null;
  readonly file?: { readonly path: string; readonly digest: string };
  readonly done?: RevocationReport;
}): RevocationJson {
  const { dryRun, plan, file, done } = parts;
  const { plan: savedPlan = null, ...report } = done ?? NOT_REVOKED;
  return {
    dryRun,
    plan: plan === null ? null : planToJson(plan),
    planFile: file?.path ?? null,
    digest: file?.digest ?? null,
    savedPlan,
    ...report,
  };
}

const NOT_REVOKED: NotMade<RevocationReport> = {
  planned: null,
  revoked: null,
  unchanged: null,
  failed: null,
  notTried: null,
  stillAlive: null,
  refreshTokens: null,
  authorizationCodes: null,
  sessions: null,
  madeSince: null,
  verification: null,
  verified: null,
  ownAccessEnded: null,
  plan: null,
  kept: null,
  staysAlive: null,
  interrupted: null,
  stopped: null,
  run: null,
  seconds: null,
};

/** A plan as a result, for `--dry-run` or if there is nothing to revoke. */
export function planResult(
  plan: RevocationPlan,
  description: TargetDescription,
  dryRun: boolean,
): Report<RevocationJson> {
  const { accessTokens, refreshTokens } = amountsOf(plan);
  return report({
    json: revocationToJson({ dryRun, plan }),
    text: () => planText(plan, description) + (dryRun ? '\nDry run. Nothing was changed.\n' : ''),
    amount: { what: 'token', planned: accessTokens + refreshTokens, done: 0, dryRun },
    failure: (dryRun ? revocationRefusal(plan, description) : unseenFailure(plan)) ?? incomplete(plan),
  });
}

/** The failure if the plan may have only part of the selection. */
function incomplete({ notSeen }: RevocationPlan): TokenctlError | undefined {
  if (notSeen === null) return undefined;
  return new TokenctlError('partly_done', `The plan is incomplete: ${notSeen}`, {
    hint: "Use a superuser's account, or a database context.",
  });
}

/** The failure if nothing is to be done, and sessions may be accepted that are not listed. */
function unseenFailure({ sessions }: RevocationPlan): TokenctlError | undefined {
  if (sessions?.unseen === undefined) return undefined;
  return new TokenctlError('partly_done', `Not checked: ${sessions.unseen}`, {
    hint: 'Deactivate the users to end their sessions at once, or add `cache` to the context.',
  });
}

/** Where a plan was saved, as a line. */
export function savedText({ path, digest }: { readonly path: string; readonly digest: string }): string {
  return `Saved the plan to ${printable.value(path)}, digest ${digest.slice(0, 12)}. Nothing was revoked.\n`;
}

/** A plan that was saved to a file, as a result. */
export function savedPlanResult(
  plan: RevocationPlan,
  {
    description,
    path,
    digest,
  }: { readonly description: TargetDescription; readonly path: string; readonly digest: string },
): Report<RevocationJson> {
  return report({
    json: revocationToJson({ dryRun: false, plan, file: { path, digest } }),
    text: () => `${planText(plan, description)}\n${savedText({ path, digest })}`,
    failure: incomplete(plan),
  });
}

/** The JSON form of a plan. A plan of more than {@link MAX_IDS} tokens has null instead of ids and owners; its digest identifies them. */
function planToJson(plan: RevocationPlan): RevocationPlanJson {
  const { accessTokens, refreshTokens, authorizationCodes } = amountsOf(plan);
  const isNamed = plan.tokenIds.length + plan.refreshTokenIds.length <= MAX_IDS;
  return {
    accessTokens,
    refreshTokens,
    authorizationCodes,
    ...plan,
    ...(!isNamed && { tokenIds: null, owners: null, refreshTokenIds: null, refreshTokenOwners: null }),
  };
}
