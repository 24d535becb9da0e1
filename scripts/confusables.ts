/**
 * Prints the data of a migration that compares user names by their look: the letters that look like others, from the
 * confusables.txt of Unicode Technical Standard 39 (https://www.unicode.org/Public/security/), and the characters that are not
 * seen, from this Node.js: `node scripts/confusables.ts FILE`. A released migration never changes: newer data is for a new one.
 */
import { readFile } from 'node:fs/promises';

const LINE_LENGTH = 110;
const LAST_CODE = 0x10ffff;
const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('Give the path of confusables.txt.');
const prototypes = new Map<string, string>();
for (const line of (await readFile(file, 'utf8')).split('\n')) {
  const [, source, target] = /^\uFEFF?([0-9A-F]+)\s*;\s*([0-9A-F ]+);/.exec(line) ?? [];
  if (source !== undefined && target !== undefined) prototypes.set(characters(source), characters(target));
}
// Names are compared without case, and the capital of i looks like l.
prototypes.set('i', 'l');

function characters(codes: string): string {
  return String.fromCodePoint(
    ...codes
      .trim()
      .split(/\s+/)
      .map((code) => Number.parseInt(code, 16)),
  );
}

/** The shape is looked up before the case is ignored: capitals and small letters look like different others. */
function shape(text: string): string {
  const letters = [...text.normalize('NFKD').replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')];
  const next = letters
    .map((letter) => prototypes.get(letter) ?? letter)
    .join('')
    .toLowerCase();
  return next === text ? text : shape(next);
}

// What NFKD changes is not looked up, and other characters are in no user name.
const lines = [''];
for (let code = 0; code <= LAST_CODE; code += 1) {
  const source = String.fromCodePoint(code);
  if (source.normalize('NFKD') !== source || !/^[\p{L}\p{N}\p{M}@.+_-]$/u.test(source)) continue;
  const target = shape(source);
  if (target === source.toLowerCase()) continue;
  const entry = `${JSON.stringify(source)}:${JSON.stringify(target)},`;
  if (`${lines.at(-1)}${entry}`.length > LINE_LENGTH) lines.push(entry);
  else lines[lines.length - 1] += entry;
}
process.stdout.write(`{\n${lines.join('\n').replace(/,$/, '')}\n}\n\n`);

const ranges: { readonly first: number; last: number }[] = [];
for (let code = 0; code <= LAST_CODE; code += 1) {
  if (!/\p{Default_Ignorable_Code_Point}/u.test(String.fromCodePoint(code))) continue;
  const open = ranges.at(-1);
  if (open?.last === code - 1) open.last = code;
  else ranges.push({ first: code, last: code });
}
const escaped = (code: number) =>
  code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
const text = ranges.map(({ first, last }) => escaped(first) + (last > first ? `-${escaped(last)}` : ''));
process.stdout.write(`[${text.join('')}]\n`);
