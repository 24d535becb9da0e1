/** The longest text that a record takes from an entry, in characters. */
const LONGEST = 1_000;

/** A text, cut where it is longer than a record may hold: reasons and messages come from outside. */
export function clipped(text: string): string {
  if (text.length <= LONGEST) return text.toWellFormed();
  return `${text.slice(0, LONGEST - 1).toWellFormed()}…`;
}
