import { createHash, randomInt } from 'node:crypto';
import { TokenctlError } from '../../domain/errors.ts';
import { Secret } from '../../domain/secret.ts';
import type { CreatedToken, TokenRequest } from '../../operations/ports/target.ts';
import type { Connection } from './connection.ts';
import { instant } from './instants.ts';
import { findOwner, insertToken, type Owner } from './queries/create-token.ts';
import { currentSettings } from './settings.ts';
import { TABLES } from './tables.ts';

/** Letters and digits in a token's value: some 178 bits, as the controller makes them. */
const VALUE_LENGTH = 30;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** A year, in seconds: what a gateway comes with. What it is set to stands in a file there. */
const GATEWAY_LIFETIME = 31_536_000;

/**
 * Creates a personal access token for a user, with the lifetime that the settings give. As with the
 * controller's own command the user may be deactivated.
 *
 * @throws TokenctlError `unsupported` without a user, `not_found` where there is none of the name,
 * `permission_refused` for a user of an identity provider while such users may have no tokens.
 */
export async function createPersonalToken(
  connection: Connection,
  request: TokenRequest,
): Promise<CreatedToken> {
  const { scope, description, user } = request;
  if (user === undefined) {
    throw new TokenctlError('unsupported', 'A role of the database is no user, and can have no token', {
      hint: 'Say whose it is to be, with --user.',
    });
  }
  const { layout } = connection;
  const value = newValue();
  const digest = createHash('sha256').update(value).digest('hex');
  return connection.change('create', async (transaction) => {
    const owner = await findOwner(transaction, { layout, username: user });
    if (owner === null) throw new TokenctlError('not_found', `There is no user ${user}`);
    const settings = await currentSettings(connection, transaction);
    const lifetime = settings.OAUTH2_PROVIDER?.ACCESS_TOKEN_EXPIRE_SECONDS ?? GATEWAY_LIFETIME;
    requireAllowed(owner, settings.ALLOW_OAUTH2_FOR_EXTERNAL_USERS);
    requireLifetime(lifetime);
    const stored = TABLES[layout].hashed ? digest : value;
    const { id, created, expires } = await insertToken(transaction, {
      ...{ layout, stored, scope, description, lifetime },
      userId: owner.id,
    });
    return {
      token: {
        ...{ id, scope, description },
        user: { id: owner.id, username: owner.username },
        application: null,
        created: instant(created),
        expires: instant(expires),
        lastUsed: null,
        hasRefreshToken: false,
        fingerprint: digest.slice(0, 12),
      },
      value: new Secret(value),
    };
  });
}

function requireAllowed(owner: Owner, externalUsersMay: boolean): void {
  if (owner.external_account === null || externalUsersMay) return;
  throw new TokenctlError(
    'permission_refused',
    'Users of an external identity provider may not have tokens here',
    { hint: 'Use a local account, or run `tokenctl settings external-tokens allow`.' },
  );
}

/** A controller with a stored OAUTH2_PROVIDER that lacks the key makes tokens that are over at once. */
function requireLifetime(seconds: number): void {
  if (seconds > 0) return;
  throw new TokenctlError('unsupported', 'The settings give new tokens no lifetime', {
    hint: 'Set it with `tokenctl settings token-lifetime`.',
  });
}

function newValue(): string {
  return Array.from({ length: VALUE_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}
