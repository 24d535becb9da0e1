/** `type=value`, or several of them joined with `+`: one level of a name. */
type Level = readonly string[];

const OBJECT_IDENTIFIERS: Readonly<Record<string, string>> = {
  // RFC 4514 §3: types with a short name may also be written as their number.
  '2.5.4.3': 'cn',
  '2.5.4.6': 'c',
  '2.5.4.7': 'l',
  '2.5.4.8': 'st',
  '2.5.4.9': 'street',
  '2.5.4.10': 'o',
  '2.5.4.11': 'ou',
  '0.9.2342.19200300.100.1.1': 'uid',
  '0.9.2342.19200300.100.1.25': 'dc',
};

/**
 * The canonical form of a distinguished name (RFC 4514): all names of the same entry have the same form,
 * whatever their letter case, spaces around separators, escapes, and the order of several attributes in one
 * level. A comma in it is always a separator.
 * @returns Null if the text is not a distinguished name. The empty text is the name of the root.
 */
export function normalizedName(text: string): string | null {
  if (SIMPLE.test(text)) return text.toLowerCase();
  const levels = levelsOf(text);
  return levels === null ? null : levels.map((level) => [...level].sort().join('+')).join(',');
}

/** A fast path for most names: one attribute per level, and nothing to escape, fold or trim. */
const SIMPLE = /^(?:[a-z][a-z0-9-]*=[\w.@-]+(?: [\w.@-]+)*(?:,(?!$)|$))+$/i;

/** Whether an entry is a base or below it, by normalized names. */
export function isBelow(name: string, base: string): boolean {
  return base === '' || name === base || name.endsWith(`,${base}`);
}

function levelsOf(text: string): Level[] | null {
  if (text.trim() === '') return [];
  const levels: string[][] = [[]];
  for (let position = 0; ; ) {
    const end = text.indexOf('=', position);
    if (end === -1) return null;
    const type = typeOf(text.slice(position, end));
    const value = valueAt(text, end + 1);
    if (type === null || value === null) return null;
    levels.at(-1)?.push(`${type}=${value.normal}`);
    if (value.separator === '') return levels;
    if (value.separator !== '+') levels.push([]);
    position = value.end + 1;
  }
}

function typeOf(text: string): string | null {
  const type = text.trim().toLowerCase();
  const number = type.replace(/^oid\./, '');
  if (!/^(?:[a-z][a-z0-9-]*|\d+(?:\.\d+)+)$/.test(number)) return null;
  return OBJECT_IDENTIFIERS[number] ?? number;
}

/** A value and the separator after it, which is empty at the end of the name. */
interface Value {
  readonly normal: string;
  readonly separator: string;
  readonly end: number;
}

/** Reads a value up to the next unescaped separator (RFC 4514 §3). Null for an invalid escape. */
function valueAt(text: string, start: number): Value | null {
  let value = '';
  for (let position = start; ; ) {
    const [plain = ''] = stickyMatch(PLAIN, text, position);
    value += plain;
    position += plain.length;
    if (text[position] !== '\\') {
      const separator = text[position] === ';' ? ',' : (text[position] ?? '');
      return { normal: normalValue(value), separator, end: position };
    }
    const [escapes = ''] = stickyMatch(ESCAPES, text, position);
    if (escapes === '') return null;
    value += unescaped(escapes);
    position += escapes.length;
  }
}

const PLAIN = /[^\\,+;]*/y;
/** Pairs of hexadecimal digits are UTF-8 bytes; a character may take several. */
const ESCAPES = /(?:\\[0-9A-Fa-f]{2})+|\\[ "#+,;<=>\\]/y;

function stickyMatch(pattern: RegExp, text: string, position: number): readonly string[] {
  pattern.lastIndex = position;
  return pattern.exec(text) ?? [];
}

function unescaped(escapes: string): string {
  return escapes.length === 2
    ? escapes.slice(1)
    : Buffer.from(escapes.replaceAll('\\', ''), 'hex').toString('utf8');
}

/** Folds letter case and repeated spaces, as `caseIgnoreMatch` does (RFC 4518 §2). */
function normalValue(value: string): string {
  const text = value.normalize('NFKC').toLowerCase().trim().replace(/\s+/g, ' ');
  return text.replace(
    /[\\,+=;]/g,
    (character) => `\\${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}
