import { comparisonsOf, isLeftOut, meets, type Selector, type Whose } from '../../src/domain/selector.ts';
import type { Activity, AuthorizationCode, Token } from '../../src/domain/token.ts';
import type { ActivitySelector, AuthorizationCodeSelector } from '../../src/operations/ports/target-parts.ts';

/** What the activity stream calls access tokens. */
export const ACCESS_TOKEN = 'o_auth2_access_token';

/** Whether an entry of the activity stream matches all criteria. */
export function isMeantActivity(each: Activity, selector: ActivitySelector): boolean {
  const { actorIds, tokenIds, since, until } = selector;
  const { id } = each.changes;
  const isToken = each.object === ACCESS_TOKEN && typeof id === 'number';
  return (
    (actorIds === undefined || (each.actor !== null && actorIds.includes(each.actor.id))) &&
    (tokenIds === undefined || (isToken && tokenIds.includes(id))) &&
    (since === undefined || each.at >= since) &&
    (until === undefined || each.at < until)
  );
}

/** Whether it belongs to a user and an application of the selector: by ids where it has ids, else by names. */
export function isOf({ user, application }: Pick<Token, 'user' | 'application'>, whose: Whose): boolean {
  const { users, userIds, applications, applicationIds } = whose;
  return (
    (userIds?.includes(user?.id ?? 0) ?? users?.includes(user?.username ?? '') ?? true) &&
    (applicationIds?.includes(application?.id ?? 0) ??
      applications?.includes(application?.name ?? '') ??
      true)
  );
}

/** Whether an authorization code matches all criteria at an instant. */
export function isMeantCode(
  each: AuthorizationCode,
  selector: AuthorizationCodeSelector,
  now: Date,
): boolean {
  const { ids, state } = selector;
  return (
    (ids?.includes(each.id) ?? true) && isOf(each, selector) && each.expires > now === (state === 'live')
  );
}

/** Whether an access token matches all criteria. One whose last use is not told was used when it was made. */
export function isMeantToken(each: Token, selector: Selector): boolean {
  const token = { ...each, lastUsed: each.lastUsed === undefined ? each.created : each.lastUsed };
  return (
    selector.none === undefined &&
    !isLeftOut(selector, each) &&
    (selector.ids?.includes(each.id) ?? true) &&
    isOf(each, selector) &&
    comparisonsOf(selector).every((comparison) => meets(token, comparison))
  );
}
