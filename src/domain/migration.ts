import type { Application, ApplicationReference, Token, User, UserReference } from './token.ts';

/** By what an account of a gateway was found: the platform's id of the user, which both have, or the same name. */
type MatchedBy = 'resource_id' | 'name';

/** The account on the gateway that a user of the controller has there. */
export interface MatchedAccount {
  readonly account: UserReference;
  readonly by: MatchedBy;
  /** False for a deactivated account; null where the gateway does not tell. */
  readonly isActive: boolean | null;
}

/** The users of one side, and the platform's ids of them; null where those are not there, or were not read. */
export interface SideUsers {
  readonly users: readonly User[];
  readonly resourceIds: ReadonlyMap<number, string> | null;
}

/**
 * Finds the accounts of a controller's users on a gateway: by the platform's id where both have the same,
 * otherwise by name. An account that is someone else's by its id is no one's by its name.
 * @returns By the id of the controller's user; who has no account is missing.
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

/** An application, and the name of its organization: null for none, undefined where it is not known. */
export interface PlacedApplication extends Pick<Application, 'id' | 'name'> {
  readonly organization: string | null | undefined;
}

/** An application of the controller, and the one that takes its place on the gateway. */
export interface ApplicationTwin extends PlacedApplication {
  readonly twin: ApplicationReference | null;
  /** By what it was found; null without one. */
  readonly by: 'name_and_organization' | 'name' | null;
}

/** Finds the gateway's applications of the same name and organization; by name only where an organization is not known. */
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
 * What is to be done about a token that stops: `new_token`: its owner needs one of the gateway. `migrated`: that was made. `no_account`: its
 * owner has none on the gateway. `inactive`: its owner is deactivated, here or there. `unused`: it was not used lately. `application`: its
 * client has to log in at the twin of its application. `no_application`: there is no twin.
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

/** A token of a controller that stops once the gateway alone issues tokens. */
export interface StoppingToken
  extends Pick<Token, 'id' | 'user' | 'application' | 'scope' | 'description' | 'created' | 'expires'> {
  /** A day where only that is known; null for never; undefined where it is not known. */
  readonly lastUsed: Date | null | undefined;
  /** Its owner's account on the gateway; null without one. */
  readonly account: UserReference | null;
  readonly matchedBy: MatchedBy | null;
  readonly next: NextStep;
  /** The id of the gateway's token that takes its place, where tokenctl made one; null otherwise. */
  readonly newToken: number | null;
}

/** What tells what is to be done about a token. */
interface Facts {
  /** The owner on the controller; undefined where that is gone. */
  readonly owner: User | undefined;
  readonly account: MatchedAccount | undefined;
  /** Whether its application has a twin. */
  readonly hasTwin: boolean;
  readonly isMigrated: boolean;
  /** Tokens that were used since are in use; so is one of which that is not known. */
  readonly usedSince: Date;
}

/** What is to be done about a token. */
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
