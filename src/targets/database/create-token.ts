import { createHash, randomInt } from 'node:crypto';
import type { Queryable } from '@tokenctl/common/db/database.ts';
import { identifier, joined, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import type { CreatedToken, TokenRequest } from '../../operations/ports/target.ts';
import { insertTokenCreated, SYSTEM_USER } from './activity-entries.ts';
import type { Connection } from './connection.ts';
import type { RecognizedLayout } from './layout.ts';
import { dateOf, milliseconds } from './queries.ts';
import { currentSettings } from './settings.ts';
import { HASH_PREFIX, type Layout, TABLES } from './tables.ts';
import { newestForm } from './tokens.ts';
import { providerName } from './users.ts';

/** Letters and digits in a token: about 178 bits, as in the controller's tokens. */
const TOKEN_LENGTH = 30;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** A gateway's default, a year. A different lifetime is in its settings file, which the database does not contain. */
const GATEWAY_LIFETIME_SECONDS = 31_536_000;

/**
 * Creates a personal access token for a user, with the given lifetime or that of the settings. As with the
 * controller's own command, the user may be inactive.
 * @throws TokenctlError `unsupported` without a user, `not_found` for a user that does not exist,
 * `permission_refused` with the provider in its details for an external user if such users may not have tokens.
 */
export async function createPersonalToken(
  connection: Connection,
  request: TokenRequest,
): Promise<CreatedToken> {
  const { scope, description, user } = request;
  if (user === undefined) {
    throw new TokenctlError('unsupported', 'A database role cannot own a token', {
      hint: "Specify the token's owner with --user.",
    });
  }
  const { layout } = connection;
  const value = Array.from({ length: TOKEN_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  const hash = createHash('sha256').update(value).digest('hex');
  return connection.write('create', async (transaction) => {
    const owner = await findOwner(transaction, { recognized: connection.recognized, username: user });
    if (owner === null) throw new TokenctlError('not_found', `No user named ${user}`);
    const settings = await currentSettings(connection, transaction);
    const usual = settings.OAUTH2_PROVIDER?.ACCESS_TOKEN_EXPIRE_SECONDS ?? GATEWAY_LIFETIME_SECONDS;
    const lifetime = request.lifetime ?? usual;
    requireAllowed(owner, settings.ALLOW_OAUTH2_FOR_EXTERNAL_USERS !== false);
    requireLifetime(lifetime);
    const stored = await storedToken(transaction, { layout, value, hash });
    const { id, created, expires } = await insertToken(transaction, {
      layout,
      stored,
      scope,
      description,
      lifetime,
      userId: owner.id,
    });
    return {
      token: {
        id,
        scope,
        description,
        user: { id: owner.id, username: owner.username },
        application: null,
        created: dateOf(created),
        expires: dateOf(expires),
        lastUsed: null,
        hasRefreshToken: false,
        fingerprint: hash.slice(0, 12),
      },
      value: new Secret(value),
    };
  });
}

/** A token in the form that the tables store. */
async function storedToken(
  database: Queryable,
  { layout, value, hash }: { layout: Layout; value: string; hash: string },
): Promise<string> {
  const { storedForm } = TABLES[layout];
  if (storedForm === 'token') return value;
  if (storedForm === 'hash') return hash;
  // A gateway without tokens counts as a recent one, which stores hashes.
  return (await newestForm(database)) === 'clear' ? value : `${HASH_PREFIX}${hash}`;
}

function requireAllowed(owner: Owner, allowExternalUsers: boolean): void {
  if (owner.provider === null || allowExternalUsers) return;
  throw new TokenctlError(
    'permission_refused',
    'Users from an external identity provider cannot have tokens here',
    {
      hint: 'Use a local account, or run `tokenctl settings external-tokens allow`.',
      details: { provider: owner.provider },
    },
  );
}

/** A controller whose stored OAUTH2_PROVIDER lacks the key creates tokens that expire immediately. */
function requireLifetime(seconds: number): void {
  if (seconds > 0) return;
  throw new TokenctlError('unsupported', 'The settings give new tokens a lifetime of 0 seconds', {
    hint: 'Set it with `tokenctl settings token-lifetime`.',
  });
}

interface Owner {
  readonly id: number;
  readonly username: string;
  /** The user's identity provider, as the management command names it; null for a local account. */
  readonly provider: string | null;
}

function findOwner(
  database: Queryable,
  { recognized, username }: { recognized: RecognizedLayout; username: string },
): Promise<Owner | null> {
  return sql`SELECT u.id, u.username, ${providerName(recognized)} AS provider
    FROM ${TABLES[recognized.layout].users} u WHERE u.username = ${username}`.first<Owner>(database);
}

interface NewToken {
  readonly layout: Layout;
  /** The token in the form that the layout stores. */
  readonly stored: string;
  readonly userId: number;
  readonly scope: string;
  readonly description: string;
  /** In seconds. */
  readonly lifetime: number;
}

/** A controller links the entry to the token. */
const LINK_CTE = sql`, link AS (
       INSERT INTO main_activitystream_o_auth2_access_token (activitystream_id, oauth2accesstoken_id)
       SELECT e.id, t.id FROM entry e, token t
     )`;

/** Times are in milliseconds. */
interface InsertedToken {
  readonly id: number;
  readonly created: number;
  readonly expires: number;
}

/** Adds a personal access token and its entry in the activity stream in one statement. */
async function insertToken(database: Queryable, token: NewToken): Promise<InsertedToken> {
  const { layout, stored, userId, scope, description, lifetime } = token;
  const { accessTokens, tokenTimestamps } = TABLES[layout];
  const others: (readonly [column: string, value: Sql])[] = [
    ...tokenTimestamps.map((name) => [name, sql`now()`] as const),
    ...(layout === 'gateway' ? ['created_by_id', 'modified_by_id'] : []).map(
      (name) => [name, SYSTEM_USER] as const,
    ),
  ];
  const row = await sql`WITH token AS (
      INSERT INTO ${accessTokens}
        (token, user_id, scope, description, expires, ${joined(others.map(([name]) => identifier(name)))})
      VALUES (${stored}, ${userId}, ${scope}, ${description}, now() + make_interval(secs => ${lifetime}),
        ${joined(others.map(([, value]) => value))})
      RETURNING id, description, scope, created, expires, user_id, application_id, source_refresh_token_id
    ), entry AS (
      ${insertTokenCreated(layout)}
    )${layout === 'gateway' ? sql`` : LINK_CTE}
    SELECT id, ${milliseconds(sql`created`)} AS created, ${milliseconds(sql`expires`)} AS expires
    FROM token`.first<InsertedToken>(database);
  if (row === null) throw new Error('an INSERT … RETURNING returned no row');
  return row;
}
