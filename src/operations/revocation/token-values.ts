import { Secret } from '@tokenctl/common/secret.ts';
import { encodedReadings, readingsOf } from './text-layers.ts';

/** Words as long as the values that a controller generates, exactly 30 letters and digits, or longer. */
const LONG_WORDS = /(?<![A-Za-z0-9])[A-Za-z0-9]{30,}/g;

/** Whether a value has the form of those that a controller generates. Others are secrets of other systems, or none. */
export function isGenerated(value: Secret): boolean {
  return /^[A-Za-z0-9]{30}$/.test(value.reveal());
}

/** A value that says of itself that it is a token: behind `Bearer`, or as the value of a setting called so. */
const LABELED =
  /(?:\bbearer\s+|(?:oauth2?_?)?(?:access_|refresh_)?token["']?\s*[:=]\s*["']?)([A-Za-z0-9\-._~+/]{16,256}=*)/gi;

/** A line that is nothing but a value. */
const ALONE = /^[A-Za-z0-9\-._~+/]{16,256}=*$/;

/** The least length of a value. */
const MIN_LENGTH = 16;

/**
 * What may be token values in a line of text: of a scan, a paste, a log. Strings of the length that a controller
 * makes, in any context and encoding; what is called a token; and a line that is nothing else.
 *
 * Other secrets of other lengths are left alone on purpose: a target that tries values must not be shown them.
 */
export function findTokenValues(line: string): readonly Secret[] {
  const text = line.trim();
  const alone = ALONE.test(text) ? [text] : [];
  return Array.from(new Set([...alone, ...valuesWithin(text)]), (value) => new Secret(value));
}

/** As {@link findTokenValues}, for text that is not a line of its own, such as a path or a field. */
export function tokenValuesWithin(text: string): readonly Secret[] {
  return Array.from(new Set(valuesWithin(text)), (value) => new Secret(value));
}

function* valuesWithin(text: string): Generator<string> {
  if (text.length < MIN_LENGTH) return;
  const readings = readingsOf(text);
  for (const reading of readings) yield* valuesOf(reading);
  for (const reading of encodedReadings(readings)) yield* valuesOf(reading);
}

function* valuesOf(text: string): Generator<string> {
  for (const [word] of text.matchAll(LONG_WORDS)) if (word.length === 30) yield word;
  for (const [, value = ''] of text.matchAll(LABELED)) yield value;
}
