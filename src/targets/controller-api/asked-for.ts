import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type Comparison, comparisonsOf, meets, type Selector } from '../../domain/selector.ts';
import type { Token } from '../../domain/token.ts';
import type { UserSelector } from '../../operations/ports/target-parts.ts';
import type { Responder } from './responses.ts';

/**
 * Passes on a page of a list from the server, and throws at an item that was not requested. A proxy that drops the
 * query, or a server that ignores a filter, returns everything: then a revocation for one user would affect everyone.
 * @throws TokenctlError `target_misbehaved`.
 */
export function onlyAskedFor<Item extends { readonly id: number }>(list: {
  readonly from: Responder;
  /** For example, `the list of tokens`. */
  readonly what: string;
  readonly isAskedFor: (item: Item) => boolean;
}): (page: readonly Item[]) => readonly Item[] {
  const { from, what, isAskedFor } = list;
  return (page) => {
    for (const item of page) {
      if (isAskedFor(item)) continue;
      throw new TokenctlError(
        'target_misbehaved',
        `${from.address} sent ${what} with entries that were not requested: it ignores filters`,
        {
          hint: 'Check what is between this machine and the controller. It may remove the query from requests.',
          details: { id: item.id },
        },
      );
    }
    return page;
  };
}

/**
 * Whether a token matches the part of a selector that the server filters by, as far as the token shows it: a
 * controller's JSON does not contain the last use. Times have milliseconds, so the limits are inclusive.
 */
export function isAskedForToken(selector: Selector): (token: Token) => boolean {
  const asked = comparisonsOf(selector);
  const ids = setOf(selector.ids);
  const isOfUser = owner('user', selector.userIds, selector.users);
  const isOfApplication = owner('application', selector.applicationIds, selector.applications);
  return (token) =>
    (ids?.has(token.id) ?? true) &&
    isOfUser(token.user?.id, token.user?.username) &&
    isOfApplication(token.application?.id, token.application?.name) &&
    asked.every((comparison) => mayMeet(token, comparison));
}

function mayMeet(token: Token, comparison: Comparison): boolean {
  switch (comparison.column) {
    case 'scope':
    case 'description':
      return meets(token, comparison);
    case 'lastUsed':
      return true;
    case 'used':
      // A token that has not been used since was created before.
      return { '<': token.created <= comparison.to }[comparison.is];
    default:
      return meets(token, comparison) || token[comparison.column].getTime() === comparison.to.getTime();
  }
}

export function isAskedForUser(
  selector: UserSelector,
): (user: { readonly id: number; readonly username: string }) => boolean {
  const ids = setOf(selector.ids);
  const names = setOf(selector.names);
  return ({ id, username }) => (ids?.has(id) ?? true) && (names?.has(username) ?? true);
}

/** Ids select if they are known, otherwise names. A name that the token does not contain is an id in words. */
function owner(
  kind: 'user' | 'application',
  ids: readonly number[] | undefined,
  names: readonly string[] | undefined,
) {
  const [knownIds, knownNames] = [setOf(ids), setOf(ids === undefined ? names : undefined)];
  return (id: number | undefined, name: string | undefined) =>
    (knownIds === undefined || (id !== undefined && knownIds.has(id))) &&
    (knownNames === undefined || (name !== undefined && (knownNames.has(name) || name === `${kind} ${id}`)));
}

function setOf<Value>(values: readonly Value[] | undefined): ReadonlySet<Value> | undefined {
  return values === undefined ? undefined : new Set(values);
}
