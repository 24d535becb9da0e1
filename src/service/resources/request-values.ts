import { notFound } from '../failure.ts';
import { parseTarget } from '../request.ts';

/** The errors of a request body, by field. */
export type Problems = Record<string, readonly string[]>;

interface TextRule {
  readonly maxLength?: number;
  readonly required?: boolean;
  /** The value of a missing field. */
  readonly fallback: string;
}

/** Reads a text field of a JSON body; errors are added to `problems`. */
export function textField(
  body: Readonly<Record<string, unknown>>,
  name: string,
  { rule, problems }: { readonly rule: TextRule; readonly problems: Problems },
): string {
  const value = body[name];
  const refuse = (message: string) => {
    problems[name] = [message];
    return rule.fallback;
  };
  if (value === undefined) return rule.required ? refuse('This field is required.') : rule.fallback;
  if (value === null) return refuse('This field may not be null.');
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return refuse('Not a valid string.');
  if (rule.required && text.trim() === '') return refuse('This field may not be blank.');
  if (text.includes('\0')) return refuse('Null characters are not allowed.');
  const { maxLength } = rule;
  if (maxLength !== undefined && text.length > maxLength) {
    return refuse(`Ensure this field has no more than ${maxLength} characters.`);
  }
  return text;
}

/** Reads a boolean field of a JSON body. */
export function booleanField(
  body: Readonly<Record<string, unknown>>,
  name: string,
  { fallback, problems }: { readonly fallback: boolean; readonly problems: Problems },
): boolean {
  const value = body[name];
  if (value === undefined) return fallback;
  if (value === true || value === 'true' || value === 1) return true;
  if (value === false || value === 'false' || value === 0) return false;
  problems[name] = ['Must be a valid boolean.'];
  return fallback;
}

/** Reads an integer of a JSON body, from `least` to the maximum of an int4 column. */
export function integerField(
  body: Readonly<Record<string, unknown>>,
  name: string,
  {
    least,
    fallback,
    problems,
  }: { readonly least: number; readonly fallback: number; readonly problems: Problems },
): number {
  const given = body[name];
  if (given === undefined) return fallback;
  const value = typeof given === 'string' && /^\d{1,10}$/.test(given) ? Number(given) : given;
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= 2_147_483_647) {
    return value;
  }
  problems[name] = ['A valid integer is required.'];
  return fallback;
}

const LARGEST_ID = 2_147_483_647;

/** The id in a path. Throws 404 if it cannot be an id. */
export function pathId(text: string | undefined): number {
  const id = Number(text);
  if (!Number.isSafeInteger(id) || id < 1 || id > LARGEST_ID) throw notFound();
  return id;
}

/** Characters with a meaning in a path segment. A space is not encoded, as on the controller. */
const RESERVED = /[;/?:@=&[\]%#\\]/g;

/** The path segment of the controller's named URLs: the names in order, `++` between, a plus sign as `[+]`. */
export function namedSegment(names: readonly string[]): string {
  const encode = (name: string) => name.replace(RESERVED, encodeURIComponent).replaceAll('+', '[+]');
  return names.map(encode).join('++');
}

/**
 * The names in a named URL. They are read from the undecoded target: after decoding, a plus sign in a name
 * would look like a separator.
 *
 * @param url The request's target; its fourth segment (`/api/v2/<collection>/<names>/`) is read.
 * @returns Null if the encoding of the segment is invalid.
 */
export function namesIn(url: string): readonly string[] | null {
  const segment = parseTarget(url).path.split('/')[4] ?? '';
  try {
    return segment
      .replaceAll(/\[\+\]|%5B(\+|%2B)%5D/gi, '%2B')
      .split('++')
      .map(decodeURIComponent);
  } catch {
    return null;
  }
}
