import type { Visibility } from '../../domain/claims.ts';
import type { User } from '../../domain/token.ts';
import { unreadSessions } from '../../operations/access/cached-sessions.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import type { ListedApplication, ListedUser, ShownUser } from '../../operations/users/users.ts';
import { facts } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { type Column, type Listing, listing, timeColumn } from '../../reports/tables/listing.ts';
import { countText, dayText, numberText, timeText } from '../../reports/tables/text.ts';

/** A user as `--json` shows it. */
export type UserJson = Omit<User, 'created'>;

/** What `users show` prints with `--json`. */
export interface ShownUserJson extends Omit<ShownUser, 'user' | 'lastChange'> {
  readonly user: UserJson;
  /** From the activity stream; null for none, and if unreadable. */
  readonly lastChange: Date | null;
  readonly visibility: Visibility;
}

export function userToJson<Shown extends User>({ created: _, ...user }: Shown): Omit<Shown, 'created'> {
  return user;
}

export function userListing(
  rows: AsyncIterable<ListedUser>,
): Listing<ListedUser, Omit<ListedUser, 'created'>> {
  return listing({
    rows,
    columns: [
      { name: 'id', cell: ({ id }) => String(id), whole: true },
      { name: 'user', cell: ({ username }) => username, whole: true },
      { name: 'state', cell: stateText, whole: true },
      { name: 'role', cell: roleText, only: 'unlessEmpty' },
      { name: 'external', cell: ({ externalAccount }) => externalAccount ?? '', only: 'unlessEmpty' },
      {
        name: 'last_login',
        cell: ({ lastLogin }) => (lastLogin === null ? 'never' : timeText(lastLogin)),
        csv: ({ lastLogin }) => (lastLogin === null ? '' : timeText(lastLogin)),
        short: ({ lastLogin }) => (lastLogin === null ? 'never' : dayText(lastLogin)),
        whole: true,
      },
      tokensColumn(),
    ],
    json: userToJson,
    none: 'No users.',
  });
}

function tokensColumn<Row extends { readonly accessTokens?: number }>(): Column<Row> {
  return {
    name: 'tokens',
    cell: ({ accessTokens }) => (accessTokens === undefined ? '' : numberText(accessTokens)),
    csv: ({ accessTokens }) => String(accessTokens ?? ''),
    only: 'unlessEmpty',
    whole: true,
  };
}

function stateText({ isActive }: User): string {
  if (isActive === null) return 'unknown';
  return isActive ? 'active' : 'deactivated';
}

/** State, role and identity provider of a user, in a few words. */
export function ownerStateText(user: User): string {
  const external = user.externalAccount === null ? '' : `external: ${user.externalAccount}`;
  return [stateText(user), roleText(user), external].filter((part) => part !== '').join(', ');
}

function roleText({ isSuperuser, isSystemAuditor }: User): string {
  if (isSuperuser) return 'superuser';
  return isSystemAuditor === true ? 'system auditor' : '';
}

export function applicationListing(
  rows: readonly ListedApplication[],
): Listing<ListedApplication, ListedApplication> {
  return listing<ListedApplication, ListedApplication>({
    rows,
    columns: [
      { name: 'id', cell: ({ id }) => String(id), whole: true },
      { name: 'application', cell: ({ name }) => name, whole: true },
      { name: 'client_type', cell: ({ clientType }) => clientType },
      { name: 'grant_type', cell: ({ grantType }) => grantType },
      timeColumn('created', ({ created }) => created),
      tokensColumn(),
    ],
    json: (application) => application,
    none: 'No applications.',
  });
}

export function shownUserResult(
  shown: ShownUser,
  description: Pick<TargetDescription, 'visibility' | 'sessionCache' | 'credential'>,
): Report<ShownUserJson> {
  const { visibility } = description;
  const notListed = notListedText(description, shown.database);
  const from = shown.database === null ? '' : ` (read in the database context ${shown.database.context})`;
  const unread = unreadSessions(description);
  const { user, lastChange, accessTokens, refreshTokens, sessions, database } = shown;
  return report({
    json: {
      user: userToJson(user),
      lastChange: lastChange ?? null,
      accessTokens,
      refreshTokens,
      sessions,
      database,
      visibility,
    },
    document: [
      facts(
        [
          ['State', stateText(user)],
          ['Role', roleText(user) || 'normal user'],
          ['Account', user.externalAccount === null ? 'local' : `external (${user.externalAccount})`],
          ['Last login', user.lastLogin === null ? 'never' : timeText(user.lastLogin)],
          ['Last change', lastChangeText(lastChange)],
          ['Access tokens', accessTokensText(accessTokens)],
          ['Issued to', issuedText(accessTokens.byApplication)],
          ['Refresh tokens', refreshTokens === null ? notListed : `${statesText(refreshTokens)}${from}`],
          [
            'Sessions',
            sessions === null ? notListed : `${sessionsText(sessions, unread !== undefined)}${from}`,
          ],
        ],
        `User ${user.username} (ID ${user.id})`,
      ),
    ],
    failure: unread,
  });
}

function sessionsText(count: number, isPart: boolean): string {
  return isPart ? `${numberText(count)} in the database; the session cache was not read` : numberText(count);
}

function notListedText(
  { credential }: Pick<TargetDescription, 'credential'>,
  database: ShownUser['database'],
): string {
  if (database === null) return credential === 'database_role' ? NOT_ALLOWED : NOT_LISTED;
  const { context, problem } = database;
  return `not read in the database context ${context}: ${problem ?? 'the role there lacks permissions, or its tables do not contain it'}`;
}

const NOT_LISTED = 'not listed by this target; use a database context';
const NOT_ALLOWED = 'not read: this role lacks permissions, which `tokenctl context check` lists';

function lastChangeText(lastChange: Date | null | undefined): string {
  if (lastChange === undefined) return 'unknown: no permission to read the activity stream';
  return lastChange === null ? 'never, according to the activity stream' : timeText(lastChange);
}

function accessTokensText({ total, write, neverExpire, expired }: ShownUser['accessTokens']): string {
  const parts = [
    ...(write === 0 ? [] : [`${numberText(write)} with scope write`]),
    ...(neverExpire === 0 ? [] : [`${numberText(neverExpire)} that never expire`]),
    ...(expired === 0 ? [] : [`${numberText(expired)} expired`]),
  ];
  return parts.length === 0 ? numberText(total) : `${numberText(total)} (${parts.join(', ')})`;
}

/** The maximum number of applications to name. */
const MAX_NAMED = 5;

function issuedText(groups: ShownUser['accessTokens']['byApplication']): string {
  const named = groups
    .slice(0, MAX_NAMED)
    .map(({ name, tokens }) => `${name ?? '(personal)'} ${numberText(tokens)}`);
  const more = groups.length - named.length;
  return [...named, ...(more === 0 ? [] : [countText(more, 'more application')])].join(', ');
}

function statesText({ live, expired, orphaned }: NonNullable<ShownUser['refreshTokens']>): string {
  const parts = [
    `${numberText(live)} live`,
    ...(expired === 0 ? [] : [`${numberText(expired)} expired`]),
    ...(orphaned === 0 ? [] : [`${numberText(orphaned)} orphaned`]),
  ];
  return parts.join(', ');
}
