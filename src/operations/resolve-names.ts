import { limitText } from '../domain/claims.ts';
import { TokenctlError } from '../domain/errors.ts';
import { nearestName } from '../domain/nearest-name.ts';
import type { Selector } from '../domain/selector.ts';
import type { Target } from './ports/target.ts';

/**
 * Makes sure that the users and applications that are named exist: a typing error must not pass for "this
 * user has no tokens".
 *
 * @returns The users' ids, by name as given; null where no users are named.
 * @throws TokenctlError `not_found` naming what is missing, and the nearest name; `permission_refused` for an account
 * that sees only part, which cannot tell what is missing from what is hidden.
 */
export async function resolveNames(
  target: Target,
  selector: Pick<Selector, 'users' | 'applications'>,
): Promise<{ readonly userIds: ReadonlyMap<string, number> | null }> {
  const userIds = selector.users === undefined ? null : await idsOf(target, selector.users);
  if (selector.applications !== undefined) {
    const found = await target.applications(selector.applications);
    await refuseMissing(target, 'application', {
      names: selector.applications,
      found: new Set(found.map(({ name }) => name)),
    });
  }
  return { userIds };
}

/**
 * Makes sure that tokens that are named by id existed: an id that the target does not list must at least be known from
 * its activity stream, as that of a token that was deleted.
 *
 * @param ids Those that the target does not list.
 * @throws TokenctlError `not_found`; `permission_refused` for an account that sees only part.
 */
export async function resolveTokenIds(target: Target, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  const description = await target.describe();
  const limit = limitText(description);
  if (limit === null && (await areKnown(target, ids))) return;
  const named = namesText(ids);
  const noun = `token with id ${named}`;
  if (limit !== null) {
    throw new TokenctlError(
      'permission_refused',
      `No ${noun} is visible to ${description.identity.username}`,
      {
        hint: `${limit}. Use a superuser's account to see others.`,
        details: { kind: 'token', ids },
      },
    );
  }
  throw new TokenctlError('not_found', `No ${noun}`, {
    hint: 'Check the id with `tokenctl tokens list`.',
    details: { kind: 'token', ids },
  });
}

/** How many ids are looked up in the activity stream, which is slow. */
const MAX_LOOKED_UP = 200;

/** Whether the activity stream names each of these tokens, the first of them; true where it cannot be read. */
async function areKnown(target: Target, ids: readonly number[]): Promise<boolean> {
  const unknown = new Set(ids.slice(0, MAX_LOOKED_UP));
  // One that other criteria leave out exists.
  for await (const { id } of target.tokens({ ids: [...unknown] })) unknown.delete(id);
  if (unknown.size === 0) return true;
  try {
    for await (const { changes } of target.activity({ tokenIds: [...unknown] })) {
      if (typeof changes['id'] === 'number') unknown.delete(changes['id']);
      if (unknown.size === 0) return true;
    }
    return false;
  } catch (error) {
    if (error instanceof TokenctlError) return true;
    throw error;
  }
}

async function idsOf(target: Target, names: readonly string[]): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for await (const { id, username } of target.users({ names })) found.set(username, id);
  await refuseMissing(target, 'user', { names, found });
  return found;
}

async function refuseMissing(
  target: Target,
  kind: 'user' | 'application',
  { names, found }: { readonly names: readonly string[]; readonly found: Pick<Set<string>, 'has'> },
): Promise<void> {
  const missing = names.filter((name) => !found.has(name));
  const [first] = missing;
  if (first === undefined) return;
  const description = await target.describe();
  const details = { kind, names: missing };
  const what = `No ${kind} named ${namesText(missing.map((name) => `"${name}"`))}`;
  const limit = limitText(description, `${kind}s`);
  if (limit !== null) {
    throw new TokenctlError('permission_refused', `${what} is visible to ${description.identity.username}`, {
      hint: `Check the spelling. ${limit}: use a superuser's account to see others.`,
      details,
    });
  }
  const nearest = nearestName(first, await namesOf(target, kind));
  throw new TokenctlError('not_found', what, {
    hint:
      nearest === undefined
        ? `Check the spelling, including upper and lower case. Deleting a ${kind} also deletes its tokens.`
        : `Did you mean "${nearest}"?`,
    details,
  });
}

/** How many names are compared with a misspelled one: ten requests over REST. */
const MAX_COMPARED = 2000;

/** Names of users or applications, the first of them; none where the target does not tell. */
async function namesOf(target: Target, kind: 'user' | 'application'): Promise<string[]> {
  const names: string[] = [];
  try {
    if (kind === 'application') return (await target.applications()).map(({ name }) => name);
    for await (const { username } of target.users()) {
      if (names.push(username) === MAX_COMPARED) break;
    }
  } catch (error) {
    // The missing name is the error to report.
    if (!(error instanceof TokenctlError)) throw error;
  }
  return names;
}

function namesText(values: readonly (string | number)[]): string {
  return values.length < 3 ? values.join(' or ') : `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`;
}
