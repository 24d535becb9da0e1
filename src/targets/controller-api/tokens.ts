import { createHash } from 'node:crypto';
import { z } from 'zod';
import { TokenctlError } from '../../domain/errors.ts';
import { Secret } from '../../domain/secret.ts';
import type { ApplicationReference, Token, UserReference } from '../../domain/token.ts';
import type { CreatedToken, TokenRequest } from '../../operations/ports/target.ts';
import { readCaller } from './account.ts';
import type { Api } from './api.ts';
import type { Listing } from './listing.ts';
import { parseJson } from './responses.ts';
import { tokenForOtherUserUnsupported, tokenLifetimeUnsupported } from './unsupported.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The list of access tokens. */
export const TOKEN_LISTING: Listing<Token> = {
  path: 'tokens/',
  what: 'the list of tokens',
  read: readToken,
};

/**
 * Reads a token from the controller's JSON; null if it is invalid. Without a schema, because there may be a million
 * tokens.
 */
function readToken(body: unknown): Token | null {
  if (!isFields(body)) return null;
  const { id, scope, description } = body;
  const created = dateOf(body['created']);
  const expires = dateOf(body['expires']);
  if (!isId(id) || typeof scope !== 'string' || created === null || expires === null) return null;
  const summary = isFields(body['summary_fields']) ? body['summary_fields'] : {};
  return {
    id,
    user: userReference(body['user'], summary['user']),
    application: applicationReference(body['application'], summary['application']),
    scope,
    description: typeof description === 'string' ? description : '',
    created,
    expires,
    lastUsed: 'last_used' in body ? dateOf(body['last_used']) : undefined,
    // The controller masks an existing refresh token, and shows null for a missing one.
    hasRefreshToken: typeof body['refresh_token'] === 'string' && body['refresh_token'] !== '',
    fingerprint: null,
  };
}

function userReference(id: unknown, summary: unknown): UserReference | null {
  if (!isId(id)) return null;
  const name = isFields(summary) ? summary['username'] : undefined;
  return { id, username: typeof name === 'string' ? name : `user ${id}` };
}

function applicationReference(id: unknown, summary: unknown): ApplicationReference | null {
  if (!isId(id)) return null;
  const name = isFields(summary) ? summary['name'] : undefined;
  return { id, name: typeof name === 'string' ? name : `application ${id}` };
}

function dateOf(value: unknown): Date | null {
  if (typeof value !== 'string') return null;
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? null : date;
}

function isId(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

const createdToken = z.object({ token: z.string().min(1) });

/**
 * Creates a personal access token for the caller.
 *
 * @throws TokenctlError as requests do; `unsupported` for another user or a lifetime; `permission_refused` with the setting's name if the
 * caller is an external user and such users may not have tokens.
 */
export async function createPersonalToken(api: Api, request: TokenRequest): Promise<CreatedToken> {
  const { scope, description, user, lifetime } = request;
  if (lifetime !== undefined) throw tokenLifetimeUnsupported();
  if (user !== undefined && user !== (await readCaller(api)).user.username) {
    throw tokenForOtherUserUnsupported(user, api.dialect.name);
  }
  const response = await api.send({ method: 'POST', path: 'tokens/', json: { scope, description } });
  if (response.status === 403 && response.body.includes('external authentication provider')) {
    throw new TokenctlError(
      'permission_refused',
      'Users of an external identity provider may not have tokens here',
      {
        hint: 'Use a local account, or ask an administrator to run `tokenctl settings external-tokens allow`.',
      },
    );
  }
  const body = parseJson(response, api, 'a new token');
  const token = readToken(body);
  const value = createdToken.safeParse(body).data?.token;
  if (token === null || value === undefined) {
    throw new TokenctlError('target_misbehaved', `${api.address} did not return the new token`, {
      hint: 'The token may have been created. Check with `tokenctl tokens list`.',
    });
  }
  const fingerprint = createHash('sha256').update(value).digest('hex').slice(0, 12);
  return { token: { ...token, fingerprint }, value: new Secret(value) };
}
