/** What a claim has to be: an exact text or a pattern, or exactly this number or boolean. */
export type ClaimPattern = string | number | boolean;

/** Claims by their names, or by JSON pointers (RFC 6901) where these begin with `/`. */
export type ClaimPatterns = Readonly<Record<string, ClaimPattern>>;

/** No longer value is compared with a pattern. */
const MAX_VALUE_LENGTH = 1024;
/** Control and format characters, lone surrogates, and the separators of lines: what a reader of the log would not see. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** Whether a text is shown as it is, and could be written in no other form: what rules and the claims that they decide by are made of. */
export function isPlain(text: string): boolean {
  return (
    text !== '' && text.length <= MAX_VALUE_LENGTH && !UNSEEN.test(text) && text.normalize('NFC') === text
  );
}

/** Whether all claims are as a rule has them. Nothing is converted: "true" is no boolean, and a list or an object matches nothing. */
export function claimsMatch(patterns: ClaimPatterns, claims: unknown): boolean {
  return Object.entries(patterns).every(([name, pattern]) => {
    const value = claimOf(claims, name);
    if (typeof pattern !== 'string') return value === pattern;
    return typeof value === 'string' && isPlain(value) && globMatches(pattern, value);
  });
}

/** A claim by its name, or by a pointer to one in objects; undefined where there is none. Members of lists have no names. */
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

/** What `*` does not go beyond: identities are built of parts between these. */
const SEPARATORS = /[/:]/;

/**
 * Whether a text is as a pattern has it, to the character and its case. `*` is one or more characters except `/` and `:`, `**` one or
 * more of any; nothing else has a meaning. Takes steps in the product of both lengths at most.
 */
export function globMatches(pattern: string, text: string): boolean {
  const parts = Array.from(pattern.matchAll(/\*\*|\*|[^*]/gsu), ([part]) => part);
  const characters = [...text];
  /** Whether the first so many characters match the parts until now. */
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

/** Whether the part of a pattern before its first separator is exact: it says whose the identity is, or where it is from. */
export function isAnchored(pattern: ClaimPattern): boolean {
  if (typeof pattern !== 'string') return true;
  const [first = ''] = pattern.split(SEPARATORS, 1);
  return !first.includes('*');
}
