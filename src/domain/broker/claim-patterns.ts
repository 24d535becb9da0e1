/** The required value of a claim: an exact text or a pattern, or exactly this number or boolean. */
export type ClaimPattern = string | number | boolean;

/** Claims by name, or by JSON pointer (RFC 6901) if the key starts with `/`. */
export type ClaimPatterns = Readonly<Record<string, ClaimPattern>>;

/** The maximum length of a value that is compared with a pattern. */
const MAX_VALUE_LENGTH = 1024;
/** Control and format characters, lone surrogates and line separators: invisible to a reader of the log. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** Whether a text is displayed as it is and has only one encoding, as required in rules and their claims. */
export function isPlain(text: string): boolean {
  return (
    text !== '' && text.length <= MAX_VALUE_LENGTH && !UNSEEN.test(text) && text.normalize('NFC') === text
  );
}

/**
 * Whether all claims match a rule. Nothing is converted: "true" is no boolean; lists and objects never match.
 */
export function claimsMatch(patterns: ClaimPatterns, claims: unknown): boolean {
  return Object.entries(patterns).every(([name, pattern]) => {
    const value = claimOf(claims, name);
    if (typeof pattern !== 'string') return value === pattern;
    return typeof value === 'string' && isPlain(value) && globMatches(pattern, value);
  });
}

/** A claim by its name, or by a pointer into objects, if there is one. Members of lists have no names. */
export function claimOf(claims: unknown, name: string): unknown {
  const path = name.startsWith('/') ? name.slice(1).split('/').map(unescaped) : [name];
  let value = claims;
  for (const member of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    if (!Object.hasOwn(value, member)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[member];
  }
  return value;
}

function unescaped(member: string): string {
  return member.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** The separators that `*` does not match. Identities consist of parts between them. */
const SEPARATORS = /[/:]/;

/**
 * Whether a text matches a pattern exactly, case-sensitively. `*` matches one or more characters except `/`
 * and `:`, `**` one or more of any; nothing else is special. Takes at most as many steps as the product of
 * both lengths.
 */
export function globMatches(pattern: string, text: string): boolean {
  const parts = Array.from(pattern.matchAll(/\*\*|\*|[^*]/gsu), ([part]) => part);
  const characters = [...text];
  /** Whether the first n characters match the parts so far. */
  let reached = [true, ...characters.map(() => false)];
  for (const part of parts) {
    const next = reached.map(() => false);
    for (const [index, character] of characters.entries()) {
      const isOne = part === '**' || (part === '*' ? !SEPARATORS.test(character) : part === character);
      const isLonger = part.startsWith('*') && next[index] === true;
      if (isOne && (reached[index] === true || isLonger)) next[index + 1] = true;
    }
    reached = next;
  }
  return reached.at(-1) === true;
}

/** Whether the first part of a pattern, before any separator, is exact: it identifies the owner or source. */
export function isAnchored(pattern: ClaimPattern): boolean {
  if (typeof pattern !== 'string') return true;
  const [first = ''] = pattern.split(SEPARATORS, 1);
  return !first.includes('*');
}
