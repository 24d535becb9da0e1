import type { Application, ApplicationReference, Token, User, UserReference } from './token.ts';

/** How a gateway's account was matched: by the platform's user id, which both sides have, or by name. */
type MatchedBy = 'resource_id' | 'name';

/** A controller's user's account on the gateway. */
export interface MatchedAccount {
  readonly account: UserReference;
  readonly by: MatchedBy;
  /** False for a deactivated account; null if the gateway does not show it. */
  readonly isActive: boolean | null;
}

/** The users of one side, and their platform ids; null if these do not exist or were not read. */
export interface SideUsers {
  readonly users: readonly User[];
  readonly resourceIds: ReadonlyMap<number, string> | null;
}

/**
 * Matches a controller's users with a gateway's accounts: by platform id if both have the same, otherwise by
 * name. An account with another user's platform id is not matched by name.
 * @returns By the id of the controller's user. Users without an account are missing.
 */
export function matchAccounts(from: SideUsers, to: SideUsers): ReadonlyMap<number, MatchedAccount> {
  const byResource = new Map(
    to.users.flatMap((user) => {
      const id = to.resourceIds?.get(user.id);
      return id === undefined ? [] : [[id, user] as const];
    }),
  );
  const matched = new Map<number, MatchedAccount>();
  const claimed = new Set<number>();
  const match = (user: User, account: User | undefined, by: MatchedBy) => {
    if (account === undefined) return;
    const { id, username, isActive } = account;
    claimed.add(id);
    matched.set(user.id, { account: { id, username }, by, isActive });
  };
  for (const user of from.users) {
    const id = from.resourceIds?.get(user.id);
    if (id !== undefined) match(user, byResource.get(id), 'resource_id');
  }
  const byName = new Map(
    to.users.filter(({ id }) => !claimed.has(id)).map((user) => [user.username, user] as const),
  );
  for (const user of from.users) {
    if (!matched.has(user.id)) match(user, byName.get(user.username), 'name');
  }
  return matched;
}

/** An application, and its organization's name: null for none, undefined if unknown. */
export interface PlacedApplication extends Pick<Application, 'id' | 'name'> {
  readonly organization: string | null | undefined;
}

/** A controller's application, and its replacement on the gateway. */
export interface ApplicationTwin extends PlacedApplication {
  readonly twin: ApplicationReference | null;
  /** How it was matched; null without a match. */
  readonly by: 'name_and_organization' | 'name' | null;
}

/** Matches applications by name and organization; by name only if an organization is unknown. */
export function matchApplications(
  from: readonly PlacedApplication[],
  to: readonly PlacedApplication[],
): readonly ApplicationTwin[] {
  const byName = Map.groupBy(to, ({ name }) => name);
  return from.map((application) => {
    const { id, name, organization } = application;
    const named = byName.get(name) ?? [];
    const sure =
      organization === undefined ? undefined : named.find((each) => each.organization === organization);
    const twin = sure ?? named.find((each) => organization === undefined || each.organization === undefined);
    const by = twin === undefined ? null : sure === undefined ? 'name' : 'name_and_organization';
    return {
      ...{ id, name, organization, by },
      twin: twin === undefined ? null : { id: twin.id, name: twin.name },
    };
  });
}

/**
 * What to do about a token that stops working. `new_token`: its owner needs a token of the gateway.
 * `migrated`: one was created. `no_account`: its owner has no account on the gateway. `inactive`: its owner
 * is deactivated on either side. `unused`: it was not used recently. `application`: its client must log in at
 * the application's counterpart. `no_application`: there is no counterpart.
 */
export const NEXT_STEPS = [
  'new_token',
  'migrated',
  'no_account',
  'inactive',
  'unused',
  'application',
  'no_application',
] as const;

export type NextStep = (typeof NEXT_STEPS)[number];

/** A controller's token that stops working once only the gateway issues tokens. */
export interface StoppingToken
  extends Pick<Token, 'id' | 'user' | 'application' | 'scope' | 'description' | 'created' | 'expires'> {
  /** A date if only that is known; null for never; undefined if unknown. */
  readonly lastUsed: Date | null | undefined;
  /** Its owner's account on the gateway; null if there is none. */
  readonly account: UserReference | null;
  readonly matchedBy: MatchedBy | null;
  readonly next: NextStep;
  /** The id of the gateway's token that replaces it, if tokenctl created one; null otherwise. */
  readonly newToken: number | null;
}

interface Facts {
  /** The owner on the controller; undefined if deleted. */
  readonly owner: User | undefined;
  readonly account: MatchedAccount | undefined;
  /** Whether its application has a counterpart. */
  readonly hasTwin: boolean;
  readonly isMigrated: boolean;
  /** Tokens used since then, or with an unknown last use, count as in use. */
  readonly usedSince: Date;
}

export function nextStepOf(
  { application, lastUsed }: Pick<StoppingToken, 'application' | 'lastUsed'>,
  { owner, account, hasTwin, isMigrated, usedSince }: Facts,
): NextStep {
  if (application !== null) return hasTwin ? 'application' : 'no_application';
  if (isMigrated) return 'migrated';
  if (owner?.isActive === false || account?.isActive === false) return 'inactive';
  const isUsed = lastUsed === undefined || (lastUsed !== null && lastUsed >= usedSince);
  if (!isUsed) return 'unused';
  return account === undefined ? 'no_account' : 'new_token';
}
