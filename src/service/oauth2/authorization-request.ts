import type { ServiceContext } from '../context.ts';
import { type ClientRecord, findClient } from '../store/clients.ts';
import { OAuthError } from './oauth-error.ts';
import type { Parameters, SentParameters } from './parameters.ts';
import { type CodeChallenge, readChallenge } from './pkce.ts';
import { redirectUriOf } from './redirect-uri.ts';
import { askedScope } from './scope.ts';

/** Where and how an authorization request is answered: known before anything else of it is looked at. */
export interface AnswerAddress {
  readonly client: ClientRecord;
  readonly redirectUri: string;
  readonly redirectUriGiven: boolean;
  readonly mode: 'query' | 'fragment';
  /** Passed through as it came (RFC 6749 §4.1.1). */
  readonly state: string | undefined;
}

/** What a client asks a user for (RFC 6749 §4.1.1 and §4.2.1). */
export interface AuthorizationRequest extends CodeChallenge {
  readonly responseType: 'code' | 'token';
  readonly scope: string;
  /** Whether the user need not be asked again for what was granted before. */
  readonly auto: boolean;
}

/** An authorization request that cannot be answered to the client: the user is told instead. */
export class UnanswerableRequest extends Error {
  override readonly name = 'UnanswerableRequest';
}

/**
 * Finds out where the answer goes. Only to a registered redirect URI: anything else would let anybody send
 * users wherever he likes in the service's name (RFC 6749 §10.15).
 *
 * @throws UnanswerableRequest
 */
export async function readAnswerAddress(
  service: ServiceContext,
  sent: SentParameters,
): Promise<AnswerAddress> {
  const { values, repeated } = sent;
  if (repeated.has('client_id') || repeated.has('redirect_uri')) {
    throw new UnanswerableRequest('The request names its application or its return address more than once.');
  }
  const clientId = values.get('client_id');
  if (clientId === undefined)
    throw new UnanswerableRequest('The request does not say which application sent it.');
  const client = clientId.includes('\0') ? null : await findClient(service.database, clientId);
  if (client === null) throw new UnanswerableRequest('The application that sent it is not registered here.');
  const asked = values.get('redirect_uri');
  const redirectUri = redirectUriOf(client, asked);
  if (redirectUri === null) {
    throw new UnanswerableRequest(
      'It asks to be answered at an address that its application did not register.',
    );
  }
  return {
    client,
    redirectUri,
    redirectUriGiven: asked !== undefined,
    mode: client.authorization_grant_type === 'implicit' ? 'fragment' : 'query',
    state: repeated.has('state') ? undefined : values.get('state'),
  };
}

/**
 * Reads the rest of an authorization request.
 *
 * @throws OAuthError that goes to the client (RFC 6749 §4.1.2.1)
 */
export function readAuthorizationRequest(
  service: ServiceContext,
  sent: SentParameters,
  { client }: AnswerAddress,
): AuthorizationRequest {
  const { values, repeated } = sent;
  if (repeated.size > 0) throw new OAuthError('invalid_request', 'A parameter is repeated.');
  const responseType = readResponseType(service, values, client);
  return {
    responseType,
    scope: askedScope(values.get('scope')),
    auto: values.get('approval_prompt') === 'auto',
    // Nothing is exchanged with the implicit grant, so there is nothing to prove (RFC 7636 §1).
    ...(responseType === 'token'
      ? { codeChallenge: '', codeChallengeMethod: '' }
      : readChallenge(values, service.requirePkce && client.client_type === 'public')),
  };
}

function readResponseType(
  service: ServiceContext,
  values: Parameters,
  client: ClientRecord,
): 'code' | 'token' {
  const asked = values.get('response_type');
  const { authorization_grant_type: registered } = client;
  if (asked === undefined) throw new OAuthError('invalid_request', 'Missing response_type parameter.');
  if (asked !== 'code' && asked !== 'token') throw new OAuthError('unsupported_response_type');
  const allowed =
    asked === 'code'
      ? registered === 'authorization-code'
      : registered === 'implicit' && service.allowImplicitGrant === true;
  if (!allowed) throw new OAuthError('unauthorized_client');
  return asked;
}
