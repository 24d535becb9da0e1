import { TokenctlError } from '../domain/errors.ts';
import type { Selector } from '../domain/selector.ts';
import type { Target } from './ports/target.ts';

/**
 * Makes sure that the users and applications that are named exist: a typing error must not pass for "this
 * user has no tokens".
 *
 * @returns The users' ids, by name as given; null where no users are named.
 * @throws TokenctlError `not_found` naming what is missing.
 */
export async function resolveNames(
  target: Target,
  selector: Pick<Selector, 'users' | 'applications'>,
): Promise<{ readonly userIds: ReadonlyMap<string, number> | null }> {
  const userIds = selector.users === undefined ? null : await idsOf(target, selector.users);
  if (selector.applications !== undefined) {
    const found = await target.applications(selector.applications);
    refuseMissing('application', selector.applications, new Set(found.map(({ name }) => name)));
  }
  return { userIds };
}

async function idsOf(target: Target, names: readonly string[]): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for await (const { id, username } of target.users({ names })) found.set(username, id);
  refuseMissing('user', names, found);
  return found;
}

function refuseMissing(kind: string, names: readonly string[], found: Pick<Set<string>, 'has'>): void {
  const missing = names.filter((name) => !found.has(name));
  if (missing.length === 0) return;
  throw new TokenctlError('not_found', `No ${kind} named ${missing.join(', ')} is visible to you`, {
    hint: `Check the spelling, including upper and lower case. Deleting a ${kind} also deletes its tokens.`,
    details: { kind, names: missing },
  });
}
