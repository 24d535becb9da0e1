import { printable } from './printable.ts';

/** What spreadsheets take for the start of a formula. */
const FORMULA = /^[=+\-@\t\r]/;

/**
 * One line of CSV (RFC 4180; ends with a line feed). A cell that a spreadsheet would run as a formula is
 * led by an apostrophe: descriptions are written by whoever makes a token.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\n`;
}

function csvCell(text: string): string {
  const harmless = printable.value(FORMULA.test(text) ? `'${text}` : text);
  return /[",]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
