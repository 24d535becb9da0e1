import { TokenctlError } from '../../domain/errors.ts';
import type { Rename } from '../../domain/investigation/deed.ts';
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
  /** Who got or gave up the name of the user in the period, in order. */
  readonly renames?: readonly Rename[];
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
  const renames = (await evidence.renames(since)).filter(({ from, to }) => from === name || to === name);
  const namesake = await deletedUser(evidence, { name, since, until });
  const user = await holderOf({ target, evidence, name, renames }).catch((error: unknown) => {
    if (namesake === null || !(error instanceof TokenctlError) || error.code !== 'not_found') throw error;
    return null;
  });
  const actors = [user, namesake].filter((each) => each !== null);
  return { subject, actors: actors.map((each) => ({ user: each, since: null })), since: null, renames };
}

/**
 * The user of a name: the one who had it when the period began, whatever the name is now. Otherwise an intruder who gives its name
 * to another user would not be found by it.
 */
async function holderOf(asked: {
  readonly target: Target;
  readonly evidence: Evidence;
  readonly name: string;
  readonly renames: readonly Rename[];
}): Promise<Actor> {
  const { target, evidence, name, renames } = asked;
  const [first] = renames;
  const named = async (id: number): Promise<Actor> => {
    const found = await evidence.objects('user', [id]);
    return { id, username: found?.get(id)?.name ?? name };
  };
  if (first?.from === name) return await named(first.userId);
  try {
    const { userIds } = await resolveNames(target, { users: [name] });
    return { id: userIds?.get(name) ?? null, username: name };
  } catch (error) {
    // Nobody has it any more.
    const last = renames.at(-1);
    if (last === undefined || !(error instanceof TokenctlError) || error.code !== 'not_found') throw error;
    return await named(last.userId);
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
  { target, evidence }: Parameters<typeof resolveSubject>[0],
  id: number,
): Promise<ResolvedSubject> {
  for await (const { user, created } of target.tokens({ ids: [id] })) {
    if (user === null) break;
    const subject = { kind: 'token', id, user: user.username } as const;
    return { subject, actors: [{ user, since: created }], since: created };
  }
  for await (const { operation, actor, at, changes } of target.activity.list({ tokenIds: [id] })) {
    const user = operation === 'create' ? ((await recordedOwner(evidence, changes)) ?? actor) : null;
    if (user === null) continue;
    const subject = { kind: 'token', id, user: user.username } as const;
    return { subject, actors: [{ user, since: at }], since: at };
  }
  throw new TokenctlError('not_found', `No access token ${id}, and no entry that says whose it was`, {
    hint: 'Investigate its owner with --user NAME.',
    details: { kind: 'token', names: [String(id)] },
  });
}

/** The owner of a token as a gateway records it, whose token endpoint writes in the name of another user; null at a controller. */
async function recordedOwner(
  evidence: Evidence,
  { user }: Readonly<Record<string, unknown>>,
): Promise<Actor | null> {
  const id = typeof user === 'string' && /^\d{1,15}$/.test(user) ? Number(user) : user;
  if (typeof id !== 'number') return null;
  const found = await evidence.objects('user', [id]);
  return { id, username: found?.get(id)?.name ?? `user ${id}` };
}

async function applicationSubject(
  { target }: Parameters<typeof resolveSubject>[0],
  name: string,
): Promise<ResolvedSubject> {
  await resolveNames(target, { applications: [name] });
  const [found] = await target.applications.list([name]);
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
