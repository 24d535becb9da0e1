import type { FastifyReply, FastifyRequest } from 'fastify';
import { localPath } from '../auth/finish-login.ts';
import type { ServiceContext } from '../context.ts';
import { type Backend, SsoFailure } from './backends.ts';
import { callbackUrl } from './callback-url.ts';
import { type BackendConfiguration, ssoConfiguration } from './configuration.ts';
import { beginGithub } from './github.ts';
import { keepLogin, newState } from './login-state.ts';
import { type Beginning, beginOpenId, type Departure } from './openid.ts';
import { beginSaml } from './saml.ts';

/** The configuration of a backend. Throws SsoFailure `not_configured`, or `misconfigured` for a key that does not fit. */
export async function configured(service: ServiceContext, backend: Backend): Promise<BackendConfiguration> {
  const { backends, sealed } = await ssoConfiguration(service, service.database);
  const configuration = backends.find((each) => each.backend === backend);
  if (configuration !== undefined) return configuration;
  throw sealed.includes(backend)
    ? new SsoFailure('misconfigured', 'a secret was encrypted with another key than the service has')
    : new SsoFailure('not_configured', 'the provider is not configured');
}

/**
 * Begins a login: keeps its state, and sends the browser to the provider.
 *
 * @throws SsoFailure
 */
export async function beginLogin(
  service: ServiceContext,
  exchange: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  wanted: { readonly backend: Backend; readonly next: unknown; readonly idp: unknown },
): Promise<FastifyReply> {
  const { backend } = wanted;
  const configuration = await configured(service, backend);
  const beginning = { redirectUri: callbackUrl(exchange.request, backend), state: newState() };
  const { url, details } = await depart(service, configuration, { ...beginning, idp: wanted.idp });
  await keepLogin(service, exchange, {
    backend,
    state: beginning.state,
    details: { ...details, redirectUri: beginning.redirectUri, next: localPath(wanted.next) },
  });
  return exchange.reply.code(302).header('Location', url).type('text/html; charset=utf-8').send('');
}

function depart(
  service: ServiceContext,
  configuration: BackendConfiguration,
  { idp, ...beginning }: Beginning & { readonly idp: unknown },
): Promise<Departure> {
  switch (configuration.backend) {
    case 'github':
      return beginGithub(configuration, beginning);
    case 'saml': {
      // Without a name it is the only one there is.
      const [only = '', ...others] = Object.keys(configuration.idps);
      const name = typeof idp === 'string' ? idp : others.length === 0 ? only : '';
      return beginSaml(configuration, { ...beginning, idp: name });
    }
    default:
      return beginOpenId(service, configuration, beginning);
  }
}
