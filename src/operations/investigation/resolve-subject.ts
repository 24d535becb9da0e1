import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { NameChange } from '../../domain/investigation/deed.ts';
import type { Actor, Investigation, InvestigationSubject } from '../../domain/investigation/investigation.ts';
import type { Evidence, Window } from '../ports/evidence.ts';
import type { Target } from '../ports/target.ts';
import { resolveNames } from '../scope/resolve-names.ts';

/** The subject whose actions are investigated: one of these. */
export interface SubjectRequest {
  readonly user?: string | undefined;
  readonly token?: number | undefined;
  readonly application?: string | undefined;
  /** The assumed owner of a deleted token whose owner no entry names: the only user of its incident. */
  readonly owner?: string | undefined;
}

interface ResolvedSubject {
  readonly subject: InvestigationSubject;
  /** Each with the instant from which it can have acted; null for no limit. */
  readonly actors: readonly { readonly user: Actor; readonly since: Date | null }[];
  /** The default start of the investigation. */
  readonly since: Date | null;
  /** Who gained or lost the user's name in the period, in order. */
  readonly names?: readonly NameChange[];
  /** The requested token, if its owner is the one given in the request. */
  readonly unknownToken?: number;
}

/**
 * Finds the subject: a user, including a deleted one; the owner of a token, including a deleted one; the
 * owners of an application's tokens.
 * @throws TokenctlError `not_found`, `usage` unless exactly one is requested, and as the target does.
 */
export async function resolveSubject(
  source: Window & { readonly target: Target; readonly evidence: Evidence },
  { user, token, application, owner }: SubjectRequest,
): Promise<ResolvedSubject> {
  if (user !== undefined) return await userSubject(source, user);
  if (token !== undefined) return await tokenSubject(source, { id: token, owner });
  if (application !== undefined) return await applicationSubject(source, application);
  throw new TokenctlError('usage', 'No user, token or application selected', {
    hint: 'Add --user NAME, --token NUMBER or --application NAME.',
  });
}

/** The subject of an earlier investigation. It may be deleted by now. */
export function resolvedBefore({ subject, chain, since }: Investigation): ResolvedSubject {
  const actors = chain.flatMap(({ user, how, since: from }) =>
    how === 'subject' ? [{ user, since: new Date(from) }] : [],
  );
  return { subject, actors, since: new Date(since) };
}

async function userSubject(
  source: Parameters<typeof resolveSubject>[0],
  name: string,
): Promise<ResolvedSubject> {
  const changes = await source.evidence.nameChanges(source.since);
  const names = changes.filter(({ from, to }) => from === name || to === name);
  const first = await firstHolder(source, { name, names, changes });
  const users = first === null ? await holdersOf(source, { name, names }) : [first];
  const actors = users.map((user) => ({ user, since: null }));
  return { subject: { kind: 'user', name }, actors, since: null, names };
}

/**
 * The user who had a name when the period began, or was created with it in the period, whatever its current
 * name, and whether it was deleted since. This finds an intruder who gives its name to another user. Null if
 * no entry shows who it was.
 */
async function firstHolder(
  source: Parameters<typeof resolveSubject>[0],
  asked: { name: string; names: readonly NameChange[]; changes: readonly NameChange[] },
): Promise<Actor | null> {
  const { name, names, changes } = asked;
  const [first] = names;
  if (first === undefined || (first.from !== name && first.from !== null)) return null;
  return first.userId === null ? deletedHolder(first, changes) : await named(source, first.userId, name);
}

async function named(
  { evidence }: Parameters<typeof resolveSubject>[0],
  id: number,
  name: string,
): Promise<Actor> {
  const found = await evidence.objects('user', [id]);
  return { id, username: found?.get(id)?.name ?? name };
}

/** The user who has a name now, or had it last; and one who acted under it in the period and was deleted. */
async function holdersOf(
  source: Parameters<typeof resolveSubject>[0],
  { name, names }: { name: string; names: readonly NameChange[] },
): Promise<readonly Actor[]> {
  const deleted = await deletedUser(source.evidence, { name, since: source.since, until: source.until });
  try {
    const { userIds } = await resolveNames(source.target, { users: [name] });
    return [{ id: userIds?.get(name) ?? null, username: name }, ...(deleted === null ? [] : [deleted])];
  } catch (error) {
    if (!(error instanceof TokenctlError) || error.code !== 'not_found') throw error;
    // No user has the name any more.
    const last = names.findLast(({ userId }) => userId !== null)?.userId;
    if (last != null) return [await named(source, last, name)];
    if (deleted === null) throw error;
    return [deleted];
  }
}

/** A user who was renamed and then deleted: only the entry of the deletion has the id and the last name. */
function deletedHolder(first: NameChange, changes: readonly NameChange[]): Actor {
  let username = first.to ?? '';
  for (const { entry, userId, from, to } of changes) {
    if (entry <= first.entry || from !== username) continue;
    if (to === null) return { id: userId, username };
    if (userId === null) username = to;
  }
  return { id: null, username };
}

/** A user of this name who acted in the period and was deleted since. */
async function deletedUser(
  evidence: Evidence,
  { name, ...window }: Window & { name: string },
): Promise<Actor | null> {
  const users = [{ id: null, username: name }];
  for await (const { actor } of evidence.deedsOfDeleted({ ...window, users })) {
    if (actor !== null) return actor;
  }
  return null;
}

async function tokenSubject(
  source: Parameters<typeof resolveSubject>[0],
  { id, owner }: { id: number; owner: string | undefined },
): Promise<ResolvedSubject> {
  const { target, evidence } = source;
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
  if (owner !== undefined) return { ...(await userSubject(source, owner)), unknownToken: id };
  throw new TokenctlError('not_found', `No access token ${id}, and no entry shows its owner`, {
    hint: 'Investigate its owner with --user NAME.',
    details: { kind: 'token', names: [String(id)] },
  });
}

/**
 * The owner of a token by a gateway's entries, which its token endpoint writes in the user's name, or null.
 */
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
