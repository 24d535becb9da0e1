import { TokenctlError } from '@tokenctl/common/errors.ts';
import { numberText } from '@tokenctl/common/text.ts';
import type { PlannedSessions, Reach, RevocationPlan } from '../../domain/plan.ts';
import { PlanBuilder } from '../../domain/plan-builder.ts';
import type { RuleName } from '../../domain/policy/policy.ts';
import { selectionOf } from '../../domain/remedies.ts';
import {
  describeSelector,
  EVERY_TOKEN,
  type Selector,
  validateSelector,
  wholeSelection,
  whoseOf,
} from '../../domain/selector.ts';
import { pathsNotCovered } from '../access/not-covered.ts';
import type { Clock } from '../ports/clock.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import type { RefreshTokenSelector } from '../ports/target-parts.ts';
import { knownSettings, refreshLifetimeIn } from '../scope/known-settings.ts';
import { resolveNames } from '../scope/resolve-names.ts';
import { partOf } from '../scope/target-parts.ts';
import { unseenPart } from '../scope/visibility.ts';
import { noSessions, planSessions } from '../sessions/sessions.ts';

export interface PlanRevocationOptions {
  readonly target: Target;
  readonly selector: Selector;
  /** The selection in words; default: those of the selector. */
  readonly words?: string;
  readonly clock: Clock;
  /** The target's description, if known already. Default: it is read. */
  readonly description?: TargetDescription;
  /** Plans the caller's own credential as well, last. Default: it is kept and reported. */
  readonly includeOwn?: boolean;
  /** Keeps refresh tokens, as the bare management command does. Default: they are revoked if possible. */
  readonly accessOnly?: boolean;
  /** Keeps authorization codes, as the management commands do. Default: deleted with refresh tokens. */
  readonly keepCodes?: boolean;
  /** Ends sessions as well: of the named users, of the tokens' owners, or all with `all`. */
  readonly withSessions?: boolean;
  /** Restricts the plan to the selected access tokens that these rules of the policy found. */
  readonly findings?: { readonly rules: readonly RuleName[]; readonly ids: readonly number[] } | undefined;
  /** Refuses a plan of more tokens than this: access tokens, and refresh tokens without one of these. */
  readonly atMost?: number | undefined;
}

/**
 * Computes what a revocation of the selected tokens would do. Reads only.
 *
 * If refresh tokens are revoked as well, and the selector names only users or applications, or everything,
 * the plan also includes refresh tokens without an access token, as the controller's `revoke_oauth2_tokens
 * --all` does, and redeemable authorization codes. With other criteria, it includes only the refresh tokens
 * of the selected access tokens.
 * @throws TokenctlError `usage` for a meaningless selector, `not_found` for a user or application that does
 * not exist, `plan_too_large` for a plan above `atMost`, `unsupported` for sessions if the target has none.
 */
export async function planRevocation(options: PlanRevocationOptions): Promise<RevocationPlan> {
  const { target, selector, findings } = options;
  validateSelector(selector);
  const description = options.description ?? (await target.describe());
  const reach = reachOf(options, description);
  const { userIds } = await resolveNames(target, selector);
  const settings = await knownSettings(target);
  const lifetime = refreshLifetimeIn(settings);
  const builder = new PlanBuilder({
    ...(lifetime !== null && { refreshExpiry: { lifetime, now: options.clock.now() } }),
    selection: inWords(options.words ?? describeSelector(selector), findings?.rules),
    context: description.context,
    ownTokenIds: await target.ownTokenIds(),
    includeOwn: options.includeOwn === true,
    reach,
  });
  const absent = new Set(selector.ids);
  const meant = findings === undefined ? selector : { ids: findings.ids };
  await (target.tokensToPlan?.(meant) ?? target.tokens(meant)).each((page) => {
    for (const token of page) {
      builder.add(token);
      absent.delete(token.id);
    }
  });
  const alone = reach.refreshTokens && !findings ? refreshTokensAlone(selector) : null;
  if (alone !== null)
    for await (const token of partOf(target, 'refreshTokens').list(alone)) builder.addRefreshToken(token);
  await addCodes(builder, {
    target,
    codes: reach.authorizationCodes ? refreshTokenSelector(selector) : null,
  });
  const named = findings ? undefined : userIds;
  const users = selector.all === true && !findings ? 'all' : [...(named?.values() ?? builder.ownerIds)];
  // Every token was named by id and listed: the selection means no other tokens.
  const isSeenById = selector.ids !== undefined && absent.size === 0;
  const plan = builder.build({
    accessPaths: await pathsNotCovered({
      target,
      description,
      settings,
      tokensWithRefreshToken: builder.tokensWithRefreshToken,
      expiredRefreshTokens: builder.expiredRefreshTokens,
      reach,
      selection: selectionOf(findings ? { ids: [] } : selector, builder.ownerNames),
    }),
    absentIds: [...absent],
    notSeen: isSeenById ? null : unseenPart(description, selector),
    sessions: reach.sessions
      ? await planSessions(target, ascending(users), { description, now: options.clock.now() })
      : null,
  });
  refuseTooLarge(plan.tokenIds.length + plan.refreshTokenIds.length, options.atMost);
  return plan;
}

async function addCodes(
  builder: PlanBuilder,
  { target, codes }: { target: Target; codes: RefreshTokenSelector | null },
): Promise<void> {
  if (codes === null) return;
  for await (const code of partOf(target, 'authorizationCodes').list({ ...whoseOf(codes), state: 'live' }))
    builder.addAuthorizationCode(code);
}

function inWords(selection: string, rules: readonly string[] | undefined): string {
  if (rules === undefined) return selection;
  return `${selection === EVERY_TOKEN ? 'tokens' : `${selection},`} with the finding ${rules.join(' or ')}`;
}

function reachOf(options: PlanRevocationOptions, description: TargetDescription): Reach {
  const { target } = options;
  const sessions = options.withSessions === true;
  if (sessions && target.sessions === undefined) throw noSessions(description);
  const along = options.accessOnly !== true;
  const isWhole = !options.findings && refreshTokenSelector(options.selector) !== null;
  return {
    refreshTokens: target.refreshTokens !== undefined && along,
    authorizationCodes:
      target.authorizationCodes !== undefined && along && isWhole && options.keepCodes !== true,
    sessions,
  };
}

/**
 * The refresh tokens to revoke in addition to those of the selected access tokens; or null. With `all`, only
 * orphaned ones: any other has an access token, and every access token is selected.
 */
function refreshTokensAlone(selector: Selector): RefreshTokenSelector | null {
  return selector.all === true ? { states: ['orphaned'] } : refreshTokenSelector(selector);
}

function ascending(userIds: 'all' | number[]): PlannedSessions['userIds'] {
  return userIds === 'all' ? userIds : userIds.sort((a, b) => a - b);
}

/** Refuses a plan of more tokens than allowed. Throws `plan_too_large`. */
export function refuseTooLarge(planned: number, atMost: number | undefined): void {
  if (atMost === undefined || planned <= atMost) return;
  throw new TokenctlError(
    'plan_too_large',
    `The plan revokes ${numberText(planned)} tokens, but at most ${numberText(atMost)} are allowed`,
    { hint: 'Narrow the selection, or raise the limit.', details: { planned, atMost } },
  );
}

/**
 * The live refresh tokens that a selector of access tokens also means; null if it has a criterion that only
 * an access token can match, so that only the refresh tokens of the selected ones are meant.
 */
export function refreshTokenSelector(selector: Selector): RefreshTokenSelector | null {
  const whole = wholeSelection(selector);
  return whole && { states: ['live', 'orphaned'], ...whole };
}

/**
 * The names of all users from an identity provider (those that ALLOW_OAUTH2_FOR_EXTERNAL_USERS applies to),
 * ascending. Reads only. An empty list is not a valid selector.
 */
export async function externalUserNames(options: { target: Target }): Promise<string[]> {
  const names: string[] = [];
  for await (const user of options.target.users.list()) {
    if (user.externalAccount !== null) names.push(user.username);
  }
  return names.sort();
}
