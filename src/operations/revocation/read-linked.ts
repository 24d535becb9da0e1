import { numberText } from '@tokenctl/common/text.ts';
import { type AccessPath, closedPath, type PathName, sentenceOf } from '../../domain/access.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import { type Selector, wholeSelection } from '../../domain/selector.ts';
import type { RefreshToken } from '../../domain/token.ts';
import type { LinkedDatabase, ReadTarget } from '../ports/target.ts';
import { requireSameUsers, resolveNames } from '../scope/resolve-names.ts';
import { planSessions } from '../sessions/sessions.ts';

/** The counts; a sentence if one could not be read. */
type Counts = Partial<Record<PathName, number | string>>;

/** What a revocation over REST covered. */
export interface Revoked {
  readonly plan: Pick<RevocationPlan, 'tokenIds' | 'ownerIds'>;
  /** Undefined if the plan is not for a whole selection: then only the plan's tokens count. */
  readonly selector: Selector | undefined;
  /** After the revocation, its refresh tokens are indistinguishable from others: the plan's count is kept. */
  readonly isDone: boolean;
}

/**
 * The access paths that a revocation over REST leaves open, with the refresh tokens, authorization codes and
 * sessions that the database lists. Changes nothing.
 */
export async function readLinked(
  paths: readonly AccessPath[],
  linked: LinkedDatabase,
  revoked: Revoked,
): Promise<readonly AccessPath[]> {
  const answer = await linked.ask((at) => countLeft(at, revoked));
  return paths.map((each) => {
    if (each.covered || !LISTED.has(each.path)) return each;
    const found = 'found' in answer ? answer.found[each.path] : answer.problem;
    return found === undefined ? each : withCount(each, linked.context, found);
  });
}

const LISTED: ReadonlySet<PathName> = new Set(['refresh_tokens', 'authorization_codes', 'sessions']);

function withCount(each: AccessPath, context: string, found: number | string): AccessPath {
  if (typeof found === 'string') {
    const why = `Not read in the database context ${context}: ${found}.`;
    const how = each.how.endsWith(why) ? each.how : `${each.how} ${why}`;
    return { ...each, state: 'not_checked', basis: 'not_checked', how };
  }
  if (found === 0)
    return { ...closedPath(each.path, `The database context ${context} lists none.`), covered: false };
  const how = `The database context ${context} lists ${numberText(found)}, which the REST API leaves unchanged.`;
  return { ...each, state: 'open', basis: 'checked', how, count: found };
}

async function countLeft(
  { target, description, clock }: ReadTarget,
  { plan, selector, isDone }: Revoked,
): Promise<Counts> {
  const whole = selector === undefined ? null : wholeSelection(selector);
  const isAll = whole !== null && selector?.all === true;
  const { users = isAll ? undefined : Object.keys(plan.ownerIds), applications } = whole ?? {};
  const isByUser = whole === null || whole.users !== undefined;
  const whose = {
    ...(isByUser && users !== undefined && { users }),
    ...(applications !== undefined && { applications }),
  };
  if (applications !== undefined) await resolveNames(target, { applications });
  const userIds = users === undefined ? 'all' : await requireSameUsers(target, users, plan.ownerIds);
  const tokens = new Set(plan.tokenIds);
  const isMeant = ({ accessTokenId: id }: RefreshToken) => whole !== null || (id !== null && tokens.has(id));
  const { refreshTokens, authorizationCodes, sessions } = target;
  return {
    ...((whole !== null || !isDone) && {
      refresh_tokens: refreshTokens
        ? await countOf(refreshTokens.list({ ...whose, states: ['live', 'orphaned'] }), isMeant)
        : NOT_TOLD,
    }),
    authorization_codes: authorizationCodes
      ? await countOf(authorizationCodes.list({ ...whose, state: 'live' }))
      : NOT_TOLD,
    // Over REST, owners of an application's refresh tokens are unknown: without other users, omit sessions.
    ...(userIds.length > 0 && { sessions: sessions ? await sessionsLeft() : NOT_TOLD }),
  };

  async function sessionsLeft(): Promise<number | string> {
    const { count, unseen } = await planSessions(target, userIds, { description, now: clock.now() });
    return count === 0 && unseen !== undefined ? sentenceOf(unseen).replace(/\.$/, '') : count;
  }
}

const NOT_TOLD =
  'the database does not show it, or its role lacks permissions that `tokenctl context check` lists';

async function countOf<Item>(
  items: AsyncIterable<Item>,
  isMeant: (item: Item) => boolean = () => true,
): Promise<number> {
  let count = 0;
  for await (const item of items) count += Number(isMeant(item));
  return count;
}
