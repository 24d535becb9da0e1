import { UNRECORDED_WAY_IN } from '../../domain/investigation/collect-items.ts';
import type { Actor, InvestigationItem } from '../../domain/investigation/investigation.ts';
import { shellWord } from '../../domain/remedies.ts';
import type { Token } from '../../domain/token.ts';
import type { Window } from '../ports/evidence.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import { partOf } from '../scope/target-parts.ts';
import type { FollowedChain } from './follow-chain.ts';

/**
 * The tokens that the token endpoint issued in the period to users of the chain or to applications that they
 * created: their entries have no actor. Also the sessions of users of the chain, if they can be listed.
 */
export async function remainingAccess(
  target: Target,
  found: {
    readonly chain: FollowedChain;
    readonly items: readonly InvestigationItem[];
    readonly window: Window;
    readonly description: TargetDescription;
  },
): Promise<{ items: readonly InvestigationItem[]; sessionsListed: boolean }> {
  const { chain, items, window, description } = found;
  const known = new Set(items.map(({ id }) => id));
  const tokens = new Map<number, InvestigationItem>();
  const add = (token: Token, found: Pick<FoundToken, 'why' | 'by'>) => {
    const id = `o_auth2_access_token:${token.id}`;
    if (known.has(id) || tokens.has(token.id)) return;
    tokens.set(token.id, tokenItem(token, { ...found, id, context: description.context }));
  };
  // The tokens of deleted users are deleted.
  const userIds = chain.members.flatMap(({ user }) => user.id ?? []);
  for await (const token of userIds.length === 0 ? [] : target.tokens({ userIds })) {
    const member = chain.members.find(({ user }) => user.id === token.user?.id);
    if (member !== undefined && token.created >= member.since && token.created < window.until) {
      add(token, { why: 'issued by the token endpoint', by: [member.user] });
    }
  }
  // By id: another organization may have an application of this name, and the actor may have changed it.
  const applicationIds = items.flatMap(({ object, act, state }) =>
    object.kind === 'o_auth2_application' && act === 'made' && state === 'there' ? (object.id ?? []) : [],
  );
  for await (const token of applicationIds.length === 0 ? [] : target.tokens({ applicationIds })) {
    add(token, { why: 'issued to an application that the actor created', by: [] });
  }
  const sessionsListed = target.sessions !== undefined;
  const sessions = sessionsListed ? await sessionItems(target, found) : [];
  return { items: [...tokens.values(), ...sessions], sessionsListed };
}

interface FoundToken {
  readonly id: string;
  readonly why: string;
  /** The chain users who received it, if known. */
  readonly by: readonly Actor[];
  readonly context: string;
}

function tokenItem(
  { id: tokenId, user, application, created, description }: Token,
  { id, why, by, context }: FoundToken,
): InvestigationItem {
  const of = user === null ? '' : ` of ${user.username}`;
  const through = application === null ? '' : ` through ${application.name}`;
  return {
    id,
    ...UNRECORDED_WAY_IN,
    object: { kind: 'o_auth2_access_token', id: tokenId, name: description || null },
    summary: `access token ${tokenId}${of}${through}, ${why}`,
    by,
    first: created.toISOString(),
    last: created.toISOString(),
    findings: [
      { rule: 'new-token', severity: 'high', message: 'Anyone who obtained it still has the token.' },
    ],
    risk: 'high',
    remedy: {
      kind: 'command',
      text: `tokenctl tokens revoke --context ${shellWord(context)} --id ${tokenId}`,
    },
  };
}

async function sessionItems(
  target: Target,
  { chain, window, description }: Parameters<typeof remainingAccess>[1],
): Promise<InvestigationItem[]> {
  const userIds = chain.members.flatMap(({ user }) => (user.id === null ? [] : [user.id]));
  const counts = new Map<number, { count: number; first: Date }>();
  if (userIds.length === 0) return [];
  for await (const { user, created } of partOf(target, 'sessions').list({ userIds })) {
    if (user === null) continue;
    const member = chain.members.find((each) => each.user.id === user.id);
    const at = created ?? window.since;
    if (member === undefined || at < member.since || at >= window.until) continue;
    const known = counts.get(user.id);
    counts.set(user.id, {
      count: (known?.count ?? 0) + 1,
      first: known && known.first < at ? known.first : at,
    });
  }
  return [...counts].flatMap(([userId, { count, first }]) => {
    const user = chain.members.find((each) => each.user.id === userId)?.user;
    if (user === undefined) return [];
    const item: InvestigationItem = {
      id: `session:${userId}`,
      ...UNRECORDED_WAY_IN,
      object: { kind: 'session', id: null, name: user.username },
      summary: `${count} ${count === 1 ? 'session' : 'sessions'} of ${user.username}`,
      by: [user],
      first: first.toISOString(),
      last: first.toISOString(),
      findings: [{ rule: 'session', severity: 'high', message: 'Anyone with the cookie is logged in.' }],
      risk: 'high',
      remedy: {
        kind: 'command',
        text: `tokenctl sessions expire --context ${shellWord(description.context)} --user ${shellWord(user.username)}`,
      },
    };
    return [item];
  });
}
