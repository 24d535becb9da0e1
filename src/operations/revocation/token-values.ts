import { Secret } from '@tokenctl/common/secret.ts';
import { encodedReadings, readingsOf } from './text-layers.ts';

/** Words as long as a controller's generated values, exactly 30 letters and digits, or longer. */
const LONG_WORDS = /(?<![A-Za-z0-9])[A-Za-z0-9]{30,}/g;

/** Whether a value has the form that a controller generates. Others are secrets of other systems, or none. */
export function isGenerated(value: Secret): boolean {
  return /^[A-Za-z0-9]{30}$/.test(value.reveal());
}

/** A value labeled as a token: after `Bearer`, or as the value of a setting with such a name. */
const LABELED =
  /(?:\bbearer\s+|(?:oauth2?_?)?(?:access_|refresh_)?token["']?\s*[:=]\s*["']?)([A-Za-z0-9\-._~+/]{16,256}=*)/gi;

/** A line that is only a value. */
const ALONE = /^[A-Za-z0-9\-._~+/]{16,256}=*$/;

const MIN_LENGTH = 16;

/**
 * Possible token values in a line of text from a scan, a paste or a log: strings of the length that a
 * controller generates, in any context and encoding; values labeled as tokens; and a line that is nothing
 * else.
 *
 * Other secrets of other lengths are skipped on purpose: a target that tries values must not receive them.
 */
export function findTokenValues(line: string): readonly Secret[] {
  const text = line.trim();
  const alone = ALONE.test(text) ? [text] : [];
  return Array.from(new Set([...alone, ...valuesWithin(text)]), (value) => new Secret(value));
}

/** As {@link findTokenValues}, for text that is not a whole line, such as a path or a field. */
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
