import type { SamlIdp } from '../settings/sso-schemas.ts';
import { SsoFailure } from './backends.ts';
import type { SamlConfiguration } from './configuration.ts';
import type { Beginning, Departure } from './openid.ts';
import { samlClient } from './saml-client.ts';

/** Begins a login with SAML: a request by the redirect binding, signed where that is configured. */
export async function beginSaml(
  configuration: SamlConfiguration,
  { redirectUri, state, idp: name }: Beginning & { readonly idp: string },
): Promise<Departure> {
  const exchange = { configuration, idp: idpOf(configuration, name), callback: redirectUri };
  let requestId = '';
  const saml = await samlClient(exchange, (id) => (requestId = id));
  const url = await saml.getAuthorizeUrlAsync(state, undefined, {}).catch((error: unknown) => {
    const why = error instanceof Error ? error.message.slice(0, 300) : 'an unknown error';
    throw new SsoFailure('misconfigured', `no request could be made: ${why}`);
  });
  return { url, details: { idp: name, requestId } };
}

/** The identity provider of this name. Throws `not_configured` where there is none. */
export function idpOf({ idps }: SamlConfiguration, name: string): SamlIdp {
  const idp = Object.hasOwn(idps, name) ? idps[name] : undefined;
  if (idp === undefined) throw new SsoFailure('not_configured', 'there is no identity provider of this name');
  return idp;
}
