import { numberText } from '@tokenctl/common/text.ts';
import { type AccessPath, closedPath, type PathName, sentenceOf } from '../../domain/access.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import { type Selector, wholeSelection } from '../../domain/selector.ts';
import type { RefreshToken } from '../../domain/token.ts';
import type { LinkedDatabase, ReadTarget } from '../ports/target.ts';
import { requireSameUsers, resolveNames } from '../scope/resolve-names.ts';
import { planSessions } from '../sessions/sessions.ts';

/** How many there are; a sentence where that could not be read. */
type Counts = Partial<Record<PathName, number | string>>;

/** What a revocation over REST was about. */
export interface Revoked {
  readonly plan: Pick<RevocationPlan, 'tokenIds' | 'ownerIds'>;
  /** Undefined if the plan is not of a selection as a whole: then only what is beside its tokens counts. */
  readonly selector: Selector | undefined;
  /** After the act, what was beside a token is not told from other refresh tokens: the count of the plan stays. */
  readonly isDone: boolean;
}

/**
 * The ways in that a revocation over REST leaves open, with what the database lists of refresh tokens, authorization codes and sessions.
 * Changes nothing.
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
    // The owners of an application's refresh tokens are not known over REST: without others, nothing is said of sessions.
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
