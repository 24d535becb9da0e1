const REDIRECTING = new Set(['authorization-code', 'implicit']);

const WEB = /^https?:\/\/[^/?#@\\]+([/?].*)?$/i;
/** A private-use scheme, named like a reversed domain (RFC 8252 §7.1): it contains a dot. */
const PRIVATE_USE = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:.+$/i;

/**
 * Why redirect URIs, separated by white space, cannot be registered, or null. Each must be absolute, without
 * a fragment (RFC 6749 §3.1.2), with http, https or a private-use scheme. This excludes schemes that a
 * browser runs or opens itself (`javascript:`, `data:`, `ftp:`).
 */
export function redirectProblem(uris: string, grantType: string): string | null {
  const separate = uris.split(/\s+/).filter((uri) => uri !== '');
  if (separate.length === 0 && REDIRECTING.has(grantType)) {
    return `redirect_uris cannot be empty with the grant type ${grantType}.`;
  }
  const wrong = separate.find((uri) => !isRegistrable(uri));
  return wrong === undefined
    ? null
    : `The redirect URI "${wrong}" is not an absolute http, https or app URI without a fragment.`;
}

function isRegistrable(uri: string): boolean {
  return URL.canParse(uri) && !uri.includes('#') && (WEB.test(uri) || PRIVATE_USE.test(uri));
}
