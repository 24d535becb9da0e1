import type { ClientRecord } from '../store/clients.ts';

/** A port in an http URI of the loopback interface by its address. */
const LOOPBACK_PORT = /^(http:\/\/(?:127\.0\.0\.1|\[::1\])):\d{1,5}(?=[/?]|$)/;
const PLAIN_HOST = /^[a-z0-9.-]+$/i;

/**
 * Where the answer to an authorization request goes: the redirect URI that the request names, if it is
 * registered, character by character (RFC 9700 §2.1); where it names none, the only one that is. A public
 * client on the user's own machine chooses its port as it runs (RFC 8252 §7.3).
 *
 * @returns Null where there is no such address; then nothing is redirected anywhere.
 */
export function redirectUriOf(client: ClientRecord, asked: string | undefined): string | null {
  const registered = client.redirect_uris.split(/\s+/).filter((uri) => uri !== '' && !uri.includes('#'));
  if (asked === undefined) return registered.length === 1 ? (registered[0] ?? null) : null;
  if (registered.includes(asked)) return asked;
  if (client.client_type !== 'public' || !LOOPBACK_PORT.test(asked)) return null;
  const withoutPort = (uri: string) => uri.replace(LOOPBACK_PORT, '$1');
  return registered.some((uri) => withoutPort(uri) === withoutPort(asked)) ? asked : null;
}

/** A redirect URI with an answer added: in the query, or with the implicit grant in the fragment. */
export function withAnswer(uri: string, mode: 'query' | 'fragment', answer: URLSearchParams): string {
  const separator = mode === 'fragment' ? '#' : uri.includes('?') ? '&' : '?';
  // A header holds ASCII only; what is registered may hold more.
  return uri.replace(/[^\x21-\x7e]/gu, encodeURIComponent) + separator + answer.toString();
}

/**
 * The source that allows a page's form to end at a redirect URI (Content-Security-Policy, `form-action`, which
 * browsers apply to the redirect after it as well): its origin, or its scheme where the policy's syntax has
 * no word for the host.
 */
export function formActionSource(uri: string): string {
  const { protocol, hostname, origin } = new URL(uri);
  return /^https?:$/.test(protocol) && PLAIN_HOST.test(hostname) ? origin : protocol;
}
