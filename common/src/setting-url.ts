import { TokenctlError } from './errors.ts';

/** A URL from a setting, with its parts as programs expect them. */
export interface SettingUrl {
  readonly url: URL;
  /** Without the brackets of an IPv6 address in a URL. */
  readonly host: string;
  /** Null if the URL has none. */
  readonly port: number | null;
  /** Decoded; empty if the URL has none. */
  readonly username: string;
  readonly password: string;
  readonly path: string;
}

/**
 * Reads the URL of a setting. Throws `configuration`, without any part of the URL, which may contain a password.
 * @param setting `name` starts a sentence (`The mail server URL`), `schemes` include their colons (any if missing),
 * and `hint` explains the format.
 */
export function readSettingUrl(
  text: string,
  setting: { readonly name: string; readonly schemes?: readonly string[]; readonly hint?: string },
): SettingUrl {
  const { name, schemes, hint } = setting;
  requireEscapes(text, name);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || schemes?.includes(url.protocol) === false)
    throw new TokenctlError('configuration', `${name} is invalid`, { hint });
  return {
    url,
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? null : Number(url.port),
    username: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    path: decodeURIComponent(url.pathname),
  };
}

/**
 * Requires that every % starts a valid UTF-8 escape (RFC 3986 §2.4): a password with a plain % is the usual
 * cause. Throws `configuration`, with the name of the setting and without the text.
 */
export function requireEscapes(text: string, name: string): void {
  try {
    decodeURIComponent(text);
  } catch {
    throw new TokenctlError('configuration', `${name} has a % that is not part of an escape`, {
      hint: 'Use %25 for a percent sign.',
    });
  }
}
