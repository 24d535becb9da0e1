import { Secret } from '../secret.ts';

/** How a controller makes a token's value: 30 letters and digits, standing by themselves. */
const MADE = /(?<![A-Za-z0-9])[A-Za-z0-9]{30}(?![A-Za-z0-9])/g;

/** A value that says of itself that it is a token: behind `Bearer`, or as the value of a setting called so. */
const CALLED =
  /(?:\bbearer\s+|(?:oauth2?_?)?(?:access_|refresh_)?token["']?\s*[:=]\s*["']?)([A-Za-z0-9\-._~+/]{16,256}=*)/gi;

/** A line that is nothing but a value. */
const ALONE = /^[A-Za-z0-9\-._~+/]{16,256}=*$/;

/**
 * What may be token values in a line of text: of a scan, a paste, a log. Strings of the length that a controller
 * makes, whatever stands around them; what is called a token; and a line that is nothing else.
 *
 * Other secrets of other lengths are left alone on purpose: a target that tries values must not be shown them.
 */
export function tokenValuesIn(line: string): readonly Secret[] {
  const text = line.trim();
  const found = new Set<string>();
  if (ALONE.test(text)) found.add(text);
  for (const [value] of text.matchAll(MADE)) found.add(value);
  for (const [, value = ''] of text.matchAll(CALLED)) found.add(value);
  return Array.from(found, (value) => new Secret(value));
}
