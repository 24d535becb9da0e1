import type { FastifyReply, FastifyRequest } from 'fastify';
import { isExternal } from '../access.ts';
import { storedForm } from '../auth/digest.ts';
import type { ServiceContext } from '../context.ts';
import { currentSettings } from '../settings/settings.ts';
import { insertCode } from '../store/grants.ts';
import { issuePair } from '../store/issued-tokens.ts';
import type { UserRecord } from '../store/users.ts';
import type { AnswerAddress, AuthorizationRequest } from './authorization-request.ts';
import { issuerOf } from './metadata.ts';
import { newAccessToken, newValue } from './new-tokens.ts';
import { OAuthError } from './oauth-error.ts';
import { withAnswer } from './redirect-uri.ts';

/** What the user granted, and to whom. */
export interface Consent {
  readonly service: ServiceContext;
  readonly user: UserRecord;
  readonly address: AnswerAddress;
  readonly asked: AuthorizationRequest;
}

/** The parameters of the answer to a user's consent: a code, or with the implicit grant an access token. */
export function grantAccess(consent: Consent): Promise<Readonly<Record<string, string>>> {
  return consent.asked.responseType === 'code' ? issueCode(consent) : issueAccessToken(consent);
}

/** An authorization code: bound to the client, the redirect URI and the code challenge, for minutes. */
async function issueCode({ service, user, address, asked }: Consent): Promise<{ code: string }> {
  const { OAUTH2_PROVIDER } = await currentSettings(service.database);
  const code = newValue();
  const created = service.now();
  await insertCode(service.database, {
    storedForm: storedForm(code),
    created,
    expires: new Date(created.getTime() + OAUTH2_PROVIDER.AUTHORIZATION_CODE_EXPIRE_SECONDS * 1000),
    applicationId: address.client.id,
    userId: user.id,
    redirectUri: address.redirectUri,
    redirectUriGiven: address.redirectUriGiven,
    scope: asked.scope,
    codeChallenge: asked.codeChallenge,
    codeChallengeMethod: asked.codeChallengeMethod,
  });
  return { code };
}

/** The implicit grant (RFC 6749 §4.2.2): an access token at once, and never a refresh token. */
async function issueAccessToken({ service, user, address, asked }: Consent): Promise<Record<string, string>> {
  const settings = await currentSettings(service.database);
  if (isExternal(user) && !settings.ALLOW_OAUTH2_FOR_EXTERNAL_USERS) throw new OAuthError('access_denied');
  const { pair, response } = newAccessToken({
    service,
    settings,
    client: address.client,
    scope: asked.scope,
  });
  if (!(await issuePair(service.database, pair, { id: user.id, password: null }))) {
    throw new OAuthError('access_denied');
  }
  return { ...response, expires_in: String(response.expires_in) };
}

/** Sends the user back to the client with an answer, which says who gave it (`iss`, RFC 9207). */
export function answerClient(
  request: FastifyRequest,
  reply: FastifyReply,
  { address, answer }: { readonly address: AnswerAddress; readonly answer: Readonly<Record<string, string>> },
): FastifyReply {
  const { redirectUri, mode, state } = address;
  const parameters = new URLSearchParams(answer);
  if (state !== undefined) parameters.set('state', state);
  parameters.set('iss', issuerOf(request));
  return reply
    .code(302)
    .header('Location', withAnswer(redirectUri, mode, parameters))
    .type('text/html; charset=utf-8')
    .send('');
}

/** The parameters of an error that goes to the client (RFC 6749 §4.1.2.1). */
export function errorAnswer({ code, description }: OAuthError): Record<string, string> {
  return { error: code, ...(description !== undefined && { error_description: description }) };
}
