import { readFileSync } from 'node:fs';

/** A recorded exchange, as far as its redirects go. */
interface Exchange {
  readonly id: string;
  readonly expect?: { readonly headers?: Readonly<Record<string, unknown>> };
}

/** What differs in one exchange: the headers expected instead. */
export interface HeaderDifference {
  readonly headers: Readonly<Record<string, unknown>>;
}

/** An address of a client, with an authorization response. The recorded controller's own begin with `/` or `{{origin}}`. */
const AUTHORIZATION_RESPONSE = /^https?:\/\/[^?#]*\?([^#]*&)?(code|error)=/;

/**
 * Expects `iss` (RFC 9207) in every recorded redirect to a client: the recorded address, and the issuer after
 * it. All else of these exchanges is compared as it was recorded.
 * @param recording The file of recorded exchanges.
 * @param issuer The service's base URL.
 */
export function withIssuer(recording: string, issuer: string): Readonly<Record<string, HeaderDifference>> {
  const exchanges = readFileSync(recording, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const expected = exchanges.flatMap((line) => {
    const { id, expect } = JSON.parse(line) as Exchange;
    const location = expect?.headers?.['Location'];
    if (typeof location !== 'string' || !AUTHORIZATION_RESPONSE.test(location)) return [];
    const headers = { ...expect?.headers, Location: `${location}&iss=${encodeURIComponent(issuer)}` };
    return [[id, { headers }] as const];
  });
  return Object.fromEntries(expected);
}
