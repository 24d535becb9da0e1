import { createHash } from 'node:crypto';
import fc from 'fast-check';

/** A world of users with roles in organizations 0 to 2, and their tokens, some for applications of these. */
export interface World {
  readonly users: readonly {
    readonly superuser: boolean;
    readonly auditor: boolean;
    /** By organization: none, or the role there. */
    readonly roles: readonly (null | 'admin' | 'auditor' | 'member')[];
    /** By organization: none, or the role in its team. */
    readonly teams: readonly (null | 'admin' | 'member')[];
  }[];
  /** The owner's index, and the organization of the application, null for a personal token. */
  readonly tokens: readonly { readonly owner: number; readonly organization: number | null }[];
}

/** The organizations of a world, by index; each has an application, a team, an inventory and a host. */
export const ORGANIZATIONS = [0, 1, 2] as const;
/** Where the ids of a world's entries of the activity stream begin, above all that requests make. */
export const FIRST_ENTRY = 1_000_000;
/** How many users a world has. */
export const USERS = 5;
/** Where the ids begin, so that a user's is known from the index. */
export const FIRST = 1000;

/** Worlds of every kind. */
export const worlds: fc.Arbitrary<World> = fc.record({
  users: fc.array(
    fc.record({
      superuser: fc.constantFrom(false, false, false, true),
      auditor: fc.constantFrom(false, false, false, true),
      roles: fc.tuple(
        ...ORGANIZATIONS.map(() =>
          fc.constantFrom(null, null, 'admin' as const, 'auditor' as const, 'member' as const),
        ),
      ),
      teams: fc.tuple(
        ...ORGANIZATIONS.map(() => fc.constantFrom(null, null, null, 'admin' as const, 'member' as const)),
      ),
    }),
    { minLength: USERS, maxLength: USERS },
  ),
  tokens: fc.array(
    fc.record({ owner: fc.nat(USERS - 1), organization: fc.constantFrom(null, ...ORGANIZATIONS) }),
    { minLength: 1, maxLength: 8 },
  ),
});

/** What an entry of the activity stream is about. */
type Entry =
  | { readonly user: number }
  | { readonly organization: number }
  | { readonly application: number }
  | { readonly team: number }
  | { readonly token: World['tokens'][number] };

/** All tokens of a world: one personal token of each user, by which he or she asks, then the others. */
export function tokensOf({ users, tokens }: World): World['tokens'] {
  return [...users.map((_user, owner) => ({ owner, organization: null })), ...tokens];
}

/** The entries of the activity stream that {@link sqlFor} makes, in the order of their ids. */
export function entriesOf(world: World): readonly Entry[] {
  return [
    ...world.users.map((_user, user) => ({ user })),
    ...ORGANIZATIONS.map((organization) => ({ organization })),
    ...ORGANIZATIONS.map((application) => ({ application })),
    ...ORGANIZATIONS.map((team) => ({ team })),
    ...tokensOf(world).map((token) => ({ token })),
  ];
}

/** What the rules allow, written down a second time and without SQL. */
export class Rules {
  readonly #world: World;
  constructor(world: World) {
    this.#world = world;
  }

  readonly #user = (index: number) =>
    this.#world.users[index] ?? { superuser: false, auditor: false, roles: [], teams: [] };
  readonly #seesAll = (viewer: number) => this.#user(viewer).superuser || this.#user(viewer).auditor;
  readonly #roles = (viewer: number, ...roles: string[]) =>
    ORGANIZATIONS.filter((organization) => roles.includes(this.#user(viewer).roles[organization] ?? 'none'));

  changesToken(viewer: number, { owner, organization }: World['tokens'][number]): boolean {
    const administers =
      organization !== null && this.#roles(viewer, 'admin').some((each) => each === organization);
    return this.#user(viewer).superuser || owner === viewer || administers;
  }
  seesToken(viewer: number, token: World['tokens'][number]): boolean {
    return this.#seesAll(viewer) || this.changesToken(viewer, token);
  }
  seesUser(viewer: number, other: number): boolean {
    if (this.#seesAll(viewer) || this.#roles(viewer, 'admin').length > 0) return true;
    const shared = this.#roles(viewer, 'member', 'auditor');
    return (
      viewer === other ||
      this.#user(other).superuser ||
      this.#roles(other, 'member').some((each) => shared.includes(each))
    );
  }
  changesUser(viewer: number, other: number): boolean {
    if (this.#user(viewer).superuser || viewer === other) return true;
    const { superuser, auditor } = this.#user(other);
    const mine = this.#roles(viewer, 'admin');
    const theirs = this.#roles(other, 'admin', 'auditor', 'member');
    return !superuser && !auditor && theirs.length > 0 && theirs.every((each) => mine.includes(each));
  }
  seesOrganization(viewer: number, organization: number): boolean {
    return (
      this.#seesAll(viewer) ||
      this.#roles(viewer, 'admin', 'auditor', 'member').some((each) => each === organization)
    );
  }
  seesTeam(viewer: number, team: number): boolean {
    const isAdmin = this.#roles(viewer, 'admin').length > 0;
    return (
      isAdmin || this.seesOrganization(viewer, team) || (this.#user(viewer).teams[team] ?? null) !== null
    );
  }
  changesTeam(viewer: number, team: number): boolean {
    return this.changesApplication(viewer, team) || this.#user(viewer).teams[team] === 'admin';
  }
  seesEntry(viewer: number, entry: Entry): boolean {
    if (this.#seesAll(viewer)) return true;
    const watched = this.#roles(viewer, 'admin', 'auditor');
    if ('token' in entry) return this.changesToken(viewer, entry.token);
    if ('application' in entry) return this.seesOrganization(viewer, entry.application);
    if ('team' in entry) {
      return (
        (this.#user(viewer).teams[entry.team] ?? null) !== null || watched.some((each) => each === entry.team)
      );
    }
    if ('organization' in entry) return watched.some((each) => each === entry.organization);
    return viewer === entry.user || this.#roles(entry.user, 'member').some((each) => watched.includes(each));
  }
  changesApplication(viewer: number, organization: number): boolean {
    return this.#user(viewer).superuser || this.#roles(viewer, 'admin').some((each) => each === organization);
  }
  seesHost(viewer: number, organization: number): boolean {
    return (
      this.#seesAll(viewer) || this.#roles(viewer, 'admin', 'auditor').some((each) => each === organization)
    );
  }
}

/** The bearer token of a world's user. */
export const value = (user: number) => `token-of-user-${user}`;

/** SQL that puts a world in the place of the last one. */
export function sqlFor(world: World): string {
  const sha = (text: string) => createHash('sha256').update(text).digest('hex');
  const users = world.users.map(
    ({ superuser, auditor, roles, teams }, index) => `
      INSERT INTO auth_user (id, username, password, is_superuser) VALUES (${FIRST + index}, 'u${index}', '!', ${superuser});
      INSERT INTO main_oauth2accesstoken (id, token, expires, scope, user_id)
        VALUES (${FIRST + index}, '${sha(value(index))}', '2999-01-01', 'write', ${FIRST + index});
      ${auditor ? `INSERT INTO service_role (user_id, role) VALUES (${FIRST + index}, 'system_auditor');` : ''}
      ${roles
        .map((role, organization) =>
          role === null
            ? ''
            : `INSERT INTO service_role (user_id, role, organization_id) VALUES (${FIRST + index}, '${role}', ${FIRST + organization});`,
        )
        .join('\n')}
      ${teams
        .map((role, team) =>
          role === null
            ? ''
            : `INSERT INTO service_team_role (user_id, role, team_id) VALUES (${FIRST + index}, '${role}', ${FIRST + team});`,
        )
        .join('\n')}`,
  );
  const tokens = world.tokens.map(
    ({ owner, organization }, index) => `
      INSERT INTO main_oauth2accesstoken (id, token, expires, scope, user_id, application_id)
        VALUES (${FIRST + USERS + index}, 'other-${index}', '2999-01-01', 'write', ${FIRST + owner}, ${organization === null ? 'NULL' : FIRST + organization});`,
  );
  return [
    `DELETE FROM main_activitystream WHERE id >= ${FIRST_ENTRY};`,
    `DELETE FROM auth_user WHERE id >= ${FIRST};`,
    ...users,
    ...tokens,
    ...entriesFor(world),
  ].join('\n');
}

/** One entry about each thing, done by one user after the other. */
function entriesFor(world: World): readonly string[] {
  let token = 0;
  return entriesOf(world).map((entry, index) => {
    const [kind, table, column, about] =
      'user' in entry
        ? ['user', 'user', 'user_id', entry.user]
        : 'organization' in entry
          ? ['organization', 'organization', 'organization_id', entry.organization]
          : 'application' in entry
            ? ['o_auth2_application', 'o_auth2_application', 'oauth2application_id', entry.application]
            : 'team' in entry
              ? ['team', 'team', 'team_id', entry.team]
              : ['o_auth2_access_token', 'o_auth2_access_token', 'oauth2accesstoken_id', token++];
    const id = FIRST_ENTRY + index;
    return `
      INSERT INTO main_activitystream (id, operation, changes, object1, actor_id, action_node)
        VALUES (${id}, 'update', '{"description": ["a", "b"]}', '${kind}', ${FIRST + (index % USERS)}, 'node');
      INSERT INTO main_activitystream_${table} (activitystream_id, ${column}) VALUES (${id}, ${FIRST + about});`;
  });
}

/** SQL for what all worlds share. */
export const setting = ORGANIZATIONS.map(
  (n) => `
    INSERT INTO main_organization (id, name) VALUES (${FIRST + n}, 'o${n}');
    INSERT INTO main_inventory (id, name, organization_id) VALUES (${FIRST + n}, 'i${n}', ${FIRST + n});
    INSERT INTO main_team (id, name, organization_id) VALUES (${FIRST + n}, 't${n}', ${FIRST + n});
    INSERT INTO main_host (id, name, inventory_id) VALUES (${FIRST + n}, 'h${n}', ${FIRST + n});
    INSERT INTO main_oauth2application (id, client_id, client_type, authorization_grant_type, client_secret, name, organization_id)
      VALUES (${FIRST + n}, 'c${n}', 'public', 'password', '', 'a${n}', ${FIRST + n});`,
).join('\n');
