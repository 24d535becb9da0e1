import { createHash } from 'node:crypto';
import { TokenctlError } from '../../domain/errors.ts';
import { Secret } from '../../domain/secret.ts';
import type { CreatedToken, TokenRequest } from '../../operations/ports/target.ts';
import { jsonOf } from './answer-failure.ts';
import type { Api } from './api.ts';
import { readTokenValue } from './bodies.ts';
import { caller } from './caller.ts';
import { notForOthers } from './not-over-rest.ts';
import { readToken } from './token-body.ts';

/**
 * Creates a personal access token for the caller.
 *
 * @throws TokenctlError as requests do; `unsupported` for another user; `permission_refused` with the setting's name where the caller
 * comes from an identity provider and such users may have no tokens.
 */
export async function createPersonalToken(api: Api, request: TokenRequest): Promise<CreatedToken> {
  const { scope, description, user } = request;
  if (user !== undefined && user !== (await caller(api)).user.username) {
    throw notForOthers(user, api.dialect.name);
  }
  const answer = await api.send({ method: 'POST', path: 'tokens/', json: { scope, description } });
  if (answer.status === 403 && answer.body.includes('external authentication provider')) throw externalUser();
  const body = jsonOf(answer, api, 'a new token');
  const token = readToken(body);
  const value = readTokenValue(body);
  if (token === null || value === null) {
    throw new TokenctlError(
      'target_misbehaved',
      `${api.address} answered with something else than a new token`,
      {
        hint: 'It may have been created nevertheless: look with `tokenctl tokens list`.',
      },
    );
  }
  const fingerprint = createHash('sha256').update(value).digest('hex').slice(0, 12);
  return { token: { ...token, fingerprint }, value: new Secret(value) };
}

function externalUser(): TokenctlError {
  return new TokenctlError(
    'permission_refused',
    'Users of an external identity provider may not have tokens here',
    {
      hint: 'Use a local account, or have an administrator run `tokenctl settings external-tokens allow`.',
    },
  );
}
