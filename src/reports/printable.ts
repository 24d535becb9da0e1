/** Control characters, and the invisible ones that join, hide or reorder what stands around them. */
const UNSAFE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/**
 * Makes text safe to print. User names and descriptions come from whoever made the token: unchecked,
 * they could move the cursor, clear the screen or retitle the administrator's terminal.
 */
export const printable = {
  /** For a value within a line: nothing in it may break the line or reach the terminal. */
  value: (text: string): string => text.replace(UNSAFE, escaped),
  /** For finished lines of our own, or a whole JSON text: line feeds and tabs stay. */
  lines: (text: string): string =>
    text.replace(UNSAFE, (found) => (isLayout(found) ? found : escaped(found))),
};

function isLayout(character: string): boolean {
  return character === '\n' || character === '\t';
}

/** In JSON's notation, code unit by code unit. */
function escaped(character: string): string {
  return Array.from(
    { length: character.length },
    (_, unit) => `\\u${character.charCodeAt(unit).toString(16).padStart(4, '0')}`,
  ).join('');
}
