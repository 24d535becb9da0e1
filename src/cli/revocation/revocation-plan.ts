import type { RevocationPlan, StaysAlive, Tally } from '../../domain/plan.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { type Report, report } from '../../reports/tables/result.ts';
import { countText, numberText, printable } from '../../reports/tables/text.ts';
import type { Question } from '../confirmation.ts';

/** Lines shown of a tally before the rest is summed up. */
const SHOWN = 5;

/**
 * A plan for people: how many tokens where, whose, what is left out, and what stays alive.
 *
 * @param before Whether the work follows, whose report says what to do about what stays alive
 */
export function planText(plan: RevocationPlan, description: TargetDescription, before = false): string {
  const { address, context, identity } = description;
  const amounts = amountsOf(plan);
  const lines = [
    isNothing(amounts)
      ? `Nothing to revoke: the selection is ${printable.value(plan.selection)}.`
      : `Would ${questionFor(amounts).act}: ${printable.value(plan.selection)}.`,
    `At ${address} (context ${context}, as ${printable.value(identity.username)}).`,
    ...amountLines(plan),
    ...tallyLines('user', plan.byUser),
    ...tallyLines('application', plan.byApplication),
    ...tallyLines('scope', plan.byScope),
    ...keptLines(plan),
    ...(before ? staysAliveBriefly(plan.staysAlive) : staysAliveLines(plan.staysAlive)),
  ];
  return `${lines.join('\n')}\n`;
}

/** The three numbers, where more than access tokens goes. */
function amountLines(plan: RevocationPlan): string[] {
  const { reach, sessions, refreshTokensBeside: beside, refreshTokenIds } = plan;
  if (!reach.refreshTokens && sessions === null) return [];
  const { accessTokens, refreshTokens } = amountsOf(plan);
  const rows: readonly (readonly [string, number, string])[] = [
    ['Access tokens', accessTokens, ''],
    [
      'Refresh tokens',
      refreshTokens,
      refreshTokenIds.length === 0
        ? ''
        : `: ${numberText(beside)} beside these, ${numberText(refreshTokenIds.length)} without one of them`,
    ],
    ['Sessions', sessions?.count ?? 0, ''],
  ];
  const shown = rows.filter(
    ([name]) =>
      (name !== 'Refresh tokens' || reach.refreshTokens) && (name !== 'Sessions' || sessions !== null),
  );
  const width = Math.max(...shown.map(([, amount]) => numberText(amount).length));
  return [
    '',
    ...shown.map(
      ([name, amount, more]) => `${`${name}:`.padEnd(15)} ${numberText(amount).padStart(width)}${more}`,
    ),
  ];
}

function staysAliveBriefly(staysAlive: readonly StaysAlive[]): string[] {
  if (staysAlive.length === 0) return [];
  const names = staysAlive.map(({ what, count }) => `${whatText(what)}${countSuffix(count)}`.toLowerCase());
  return ['', `Stays alive: ${names.join(', ')}.`];
}

function countSuffix(count: number | null): string {
  return count === null ? '' : ` (${numberText(count)})`;
}

/** What an operation leaves alive, and what to do about it. */
export function staysAliveLines(staysAlive: readonly StaysAlive[]): string[] {
  if (staysAlive.length === 0) return [];
  return [
    '',
    'Stays alive:',
    ...staysAlive.flatMap(({ what, count, why, remedy }) => [
      `  ${whatText(what)}${countSuffix(count)}: ${why}`,
      `    ${remedy}`,
    ]),
  ];
}

function whatText(what: StaysAlive['what']): string {
  return {
    refresh_tokens: 'Refresh tokens',
    sessions: 'Sessions',
    basic_authentication: 'Basic authentication',
    own_token: 'Your own token',
  }[what];
}

/** A tally, largest first: the first few lines, and the rest summed up. */
export function tallyLines(kind: string, tallies: readonly Tally[], unit = 'token'): string[] {
  if (tallies.length === 0) return [];
  const shown = tallies.slice(0, SHOWN);
  const rest = tallies.slice(SHOWN);
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

function keptLines({ kept, absentIds, ownTokenIds }: RevocationPlan): string[] {
  const lines = [
    ...kept.map(({ tokenId, reason }) => `Left out: token ${tokenId}, which ${reason}.`),
    ...(ownTokenIds.length === 0
      ? []
      : [
          `Last: ${countText(ownTokenIds.length, 'token')} (${idsText(ownTokenIds)}) that may be the credential of this ` +
            'context, which then needs another.',
        ]),
  ];
  if (absentIds.length > 0)
    lines.push(`Not found: ${countText(absentIds.length, 'id')} (${idsText(absentIds)}).`);
  return lines.length === 0 ? [] : ['', ...lines];
}

/** Ids for a line: all of them where they are few, else the first ones. */
export function idsText(ids: readonly number[]): string {
  const rest = ids.length - 10;
  return rest <= 0 ? ids.join(', ') : `${ids.slice(0, 10).join(', ')} and ${numberText(rest)} more`;
}

function sum(tallies: readonly Tally[]): number {
  return tallies.reduce((total, { count }) => total + count, 0);
}

/** How much of what a revocation is about. */
interface Amounts {
  readonly accessTokens: number;
  readonly refreshTokens: number;
  readonly sessions: number;
}

/** How much a plan means: its refresh tokens are those beside access tokens and those without one. */
export function amountsOf(plan: RevocationPlan): Amounts {
  return {
    accessTokens: plan.tokenIds.length,
    refreshTokens: plan.refreshTokensBeside + plan.refreshTokenIds.length,
    sessions: plan.sessions?.count ?? 0,
  };
}

/** Whether there is nothing to do. */
export function isNothing({ accessTokens, refreshTokens, sessions }: Amounts): boolean {
  return accessTokens === 0 && refreshTokens === 0 && sessions === 0;
}

/**
 * What has to be typed to agree: the number of access tokens; without any the number of what else there is.
 * And what that does, as a phrase.
 */
export function questionFor(amounts: Amounts): Omit<Question, 'plan'> {
  const { accessTokens, refreshTokens, sessions } = amounts;
  const first = [accessTokens, refreshTokens, sessions].find((amount) => amount > 0) ?? 0;
  return { act: actText(amounts), type: String(first), tokens: accessTokens };
}

function actText({ accessTokens, refreshTokens, sessions }: Amounts): string {
  const tokens = refreshTokens > 0 ? 'access token' : 'token';
  const revoked = [
    ...(accessTokens > 0 ? [countText(accessTokens, tokens)] : []),
    ...(refreshTokens > 0 ? [countText(refreshTokens, 'refresh token')] : []),
  ].join(' and ');
  const ended = sessions > 0 ? [`end ${countText(sessions, 'session')}`] : [];
  return [...(revoked === '' ? [] : [`revoke ${revoked}`]), ...ended].join(', and ');
}

/** Tokens up to which a plan in JSON names them: a million ids would be 40 MB that nobody reads. */
const NAMED = 10_000;

/**
 * A plan as a command's result: of `--dry-run`, and where there is nothing to do. In JSON it is
 * `{ dryRun, plan }`.
 */
export function planResult(plan: RevocationPlan, description: TargetDescription, dryRun: boolean): Report {
  return report({
    json: { dryRun, plan: planToJson(plan) },
    text: () => planText(plan, description) + (dryRun ? '\nDry run: nothing was changed.\n' : ''),
  });
}

/**
 * The JSON form of a plan: as `RevocationPlan` has it, with how many tokens there are of each kind. In a plan of
 * more than {@link NAMED} tokens the lists of ids and of their owners are null; its digest stands for them.
 */
function planToJson(plan: RevocationPlan): object {
  const { accessTokens, refreshTokens } = amountsOf(plan);
  const isNamed = plan.tokenIds.length + plan.refreshTokenIds.length <= NAMED;
  return {
    accessTokens,
    refreshTokens,
    ...plan,
    ...(!isNamed && { tokenIds: null, owners: null, refreshTokenIds: null, refreshTokenOwners: null }),
  };
}
