import { TokenctlError } from '../../domain/errors.ts';
import type { Actor, Investigation, InvestigationSubject } from '../../domain/investigation/investigation.ts';
import type { Evidence, Window } from '../ports/evidence.ts';
import type { Target } from '../ports/target.ts';
import { resolveNames } from '../resolve-names.ts';

/** Whose deeds are asked for: one of these. */
export interface SubjectRequest {
  readonly user?: string | undefined;
  readonly token?: number | undefined;
  readonly application?: string | undefined;
}

/** Who is investigated. */
interface ResolvedSubject {
  readonly subject: InvestigationSubject;
  /** Each with the instant from which it can have acted; null for any. */
  readonly actors: readonly { readonly user: Actor; readonly since: Date | null }[];
  /** From when to investigate, where nothing else is given. */
  readonly since: Date | null;
}

/**
 * Finds out who is meant: a user, also one that was deleted; the owner of a token, also of a deleted one; the owners of an
 * application's tokens.
 *
 * @throws TokenctlError `not_found`, `usage` unless exactly one is asked for, and as the target does.
 */
export async function resolveSubject(
  source: Window & { readonly target: Target; readonly evidence: Evidence },
  { user, token, application }: SubjectRequest,
): Promise<ResolvedSubject> {
  if (user !== undefined) return await userSubject(source, user);
  if (token !== undefined) return await tokenSubject(source, token);
  if (application !== undefined) return await applicationSubject(source, application);
  throw new TokenctlError('usage', 'No user, token or application selected', {
    hint: 'Add --user NAME, --token NUMBER or --application NAME.',
  });
}

/** Whose deeds an investigation was about. They may be deleted by now. */
export function resolvedBefore({ subject, chain, since }: Investigation): ResolvedSubject {
  const actors = chain.flatMap(({ user, how, since: from }) =>
    how === 'subject' ? [{ user, since: new Date(from) }] : [],
  );
  return { subject, actors, since: new Date(since) };
}

async function userSubject(
  { target, evidence, since, until }: Parameters<typeof resolveSubject>[0],
  name: string,
): Promise<ResolvedSubject> {
  const subject = { kind: 'user', name } as const;
  try {
    const { userIds } = await resolveNames(target, { users: [name] });
    const user = { id: userIds?.get(name) ?? null, username: name };
    const namesake = await deletedUser(evidence, { name, since, until });
    const actors = [user, ...(namesake === null ? [] : [namesake])];
    return { subject, actors: actors.map((each) => ({ user: each, since: null })), since: null };
  } catch (error) {
    if (!(error instanceof TokenctlError) || error.code !== 'not_found') throw error;
    const user = await deletedUser(evidence, { name, since, until });
    if (user === null) throw error;
    return { subject, actors: [{ user, since: null }], since: null };
  }
}

/** A user of a name who acted in the period and was deleted since; the name may belong to another user now. */
async function deletedUser(
  evidence: Evidence,
  { name, ...window }: Window & { readonly name: string },
): Promise<Actor | null> {
  const users = [{ id: null, username: name }];
  for await (const { actor } of evidence.deedsOfDeleted({ ...window, users })) {
    if (actor !== null) return { id: null, username: actor.username };
  }
  return null;
}

async function tokenSubject(
  { target }: Parameters<typeof resolveSubject>[0],
  id: number,
): Promise<ResolvedSubject> {
  for await (const { user, created } of target.tokens({ ids: [id] })) {
    if (user === null) break;
    const subject = { kind: 'token', id, user: user.username } as const;
    return { subject, actors: [{ user, since: created }], since: created };
  }
  for await (const { operation, actor, at } of target.activity({ tokenIds: [id] })) {
    if (operation !== 'create' || actor === null) continue;
    const subject = { kind: 'token', id, user: actor.username } as const;
    return { subject, actors: [{ user: actor, since: at }], since: at };
  }
  throw new TokenctlError('not_found', `No access token ${id}, and no entry that says whose it was`, {
    hint: 'Investigate its owner with --user NAME.',
    details: { kind: 'token', names: [String(id)] },
  });
}

async function applicationSubject(
  { target }: Parameters<typeof resolveSubject>[0],
  name: string,
): Promise<ResolvedSubject> {
  await resolveNames(target, { applications: [name] });
  const [found] = await target.applications([name]);
  const owners = new Map<number, { readonly user: Actor; readonly since: Date }>();
  for await (const { user, created } of target.tokens({ applications: [name] })) {
    if (user === null) continue;
    const known = owners.get(user.id);
    if (known === undefined || created < known.since) owners.set(user.id, { user, since: created });
  }
  const actors = [...owners.values()];
  return {
    subject: { kind: 'application', name, users: actors.map(({ user }) => user.username) },
    actors,
    since: found?.created ?? null,
  };
}
