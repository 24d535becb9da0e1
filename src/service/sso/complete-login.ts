import type { FastifyRequest } from 'fastify';
import type { ServiceContext } from '../context.ts';
import { parseTarget } from '../target.ts';
import { type Identity, SsoFailure } from './backends.ts';
import type { BackendConfiguration } from './configuration.ts';
import { completeGithub } from './github.ts';
import { githubIdentity } from './github-identity.ts';
import { configured } from './login.ts';
import { takeLoginOf } from './login-state.ts';
import { type Arrival, completeOpenId } from './openid.ts';
import { azureIdentity, googleIdentity } from './openid-identity.ts';

/** Who came back from a provider, and where to go on. */
export interface Completed {
  readonly configuration: BackendConfiguration;
  readonly identity: Identity;
  readonly next: string | null;
}

/**
 * Completes a login with OAuth2 or OpenID Connect: takes the login that was begun, and asks the provider who
 * the user is.
 *
 * @throws SsoFailure
 */
export async function completeLogin(
  service: ServiceContext,
  request: FastifyRequest,
  backend: Exclude<BackendConfiguration['backend'], 'saml'>,
): Promise<Completed> {
  const configuration = await configured(service, backend);
  const { query } = parseTarget(request.url);
  const state = new URLSearchParams(query).get('state') ?? '';
  const login = await takeLoginOf(service, request, { backend, state });
  if (login === null) throw new SsoFailure('no_such_login', 'the state belongs to no login of this browser');
  const { details } = login;
  const identity = await identify(service, configuration, { state, query, details });
  return { configuration, identity, next: details.next };
}

async function identify(
  service: ServiceContext,
  configuration: BackendConfiguration,
  arrival: Arrival,
): Promise<Identity> {
  switch (configuration.backend) {
    case 'google-oauth2':
      return googleIdentity(configuration, await completeOpenId(service, configuration, arrival));
    case 'azuread-oauth2':
      return azureIdentity(configuration, await completeOpenId(service, configuration, arrival));
    case 'github':
      return githubIdentity(configuration, await completeGithub(configuration, arrival));
    case 'saml':
      throw new SsoFailure('no_such_login', 'SAML answers with a form, not with an address');
  }
}
