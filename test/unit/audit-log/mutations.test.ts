import { TokenctlError } from '@tokenctl/common/errors.ts';
import { runs } from '@tokenctl/testing/runs.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonical, hashOf } from '../../../src/audit-log/chain.ts';
import { generateNoteKey, parseSigner } from '../../../src/domain/note-key.ts';
import { makeCheckpoint } from '../../../src/operations/audit-log/checkpoints.ts';
import { verifyLog } from '../../../src/operations/audit-log/verify-log.ts';
import type { Entry, EntryDraft } from '../../../src/operations/ports/audit-log.ts';
import { draft } from '../../support/drafts.ts';
import { chainOf, logOfLines } from './chains.ts';
import { verifySecond, verifySecondAgainst } from './second-verifier.ts';

const key = generateNoteKey('example.org/audit');
const verifier = parseSigner(key).verifier.text;
const keys = { signer: () => Promise.resolve(key), verifiers: () => Promise.resolve([verifier]) };

/** Drafts in which outcomes close intents, as far as there are any. */
const drafts = fc
  .array(
    fc.record({
      kind: fc.constantFrom('intent' as const, 'outcome' as const, 'note' as const),
      data: fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
    }),
    { minLength: 2, maxLength: 12 },
  )
  .map((parts) => {
    const open: number[] = [];
    return parts.map(({ kind, data }, index): EntryDraft => {
      if (kind === 'intent') open.push(index + 1);
      const closes = kind === 'outcome' ? open.shift() : undefined;
      return draft({ kind, data, ...(closes !== undefined && { closes }) });
    });
  });

const log = drafts.map(chainOf);

/** A position in a log: any number, brought into its length. */
const position = fc.nat(1000);

function entryAt(lines: readonly string[], index: number): Entry {
  return JSON.parse(lines[index] ?? '') as Entry;
}

/** Ways to write an entry that differ from what it says. */
const edits = fc.constantFrom<(entry: Entry) => Entry>(
  (entry) => ({ ...entry, data: { ...entry.data, edited: true } }),
  (entry) => ({ ...entry, actor: { user: 'mallory' } }),
  (entry) => ({ ...entry, at: '2026-11-20T10:00:00.001Z' }),
  (entry) => ({ ...entry, operation: 'tokens.create' }),
  (entry) => ({ ...entry, seq: entry.seq + 3 }),
  (entry) => ({ ...entry, previous: hashOf(entry.previous) }),
  (entry) => ({ ...entry, open: [...entry.open, 99] }),
  (entry) => ({ ...entry, kind: entry.kind === 'intent' ? 'note' : 'intent' }),
);

/** Replaces what a pattern finds for the nth time. */
function replaced(line: string, pattern: RegExp, nth: number, by: (found: string) => string): string {
  const places = [...line.matchAll(pattern)];
  const place = places[nth % Math.max(places.length, 1)];
  if (place === undefined) return line;
  return line.slice(0, place.index) + by(place[0]) + line.slice(place.index + place[0].length);
}

/** Other ways to write what a line says, or nearly: none of them is canonical. */
const disguises = fc.constantFrom<(line: string, nth: number) => string>(
  (line, nth) => replaced(line, /[,:{[]/g, nth, (found) => `${found} `),
  (line, nth) => replaced(line, /[}\]]/g, nth, (found) => ` ${found}`),
  (line, nth) => replaced(line, /(?<=[a-z])[a-z](?=[a-z]*")/g, nth, (found) => unicodeEscape(found)),
  (line, nth) => replaced(line, /é/g, nth, (found) => unicodeEscape(found)),
  (line, nth) => replaced(line, /"[a-z]+":(?:"[a-z.]*"|\d+)(?=,)/g, nth, (found) => `${found},${found}`),
  (line, nth) => replaced(line, /"(?:actor|data|target)":\{/g, nth, (found) => `${found}"~":0,`),
  (line, nth) => replaced(line, /"a":null,"b":1/g, nth, () => '"b":1,"a":null'),
  (line, nth) => replaced(line, /"seq":\d+,"target":\{[^}]*\}/g, nth, (found) => reversed(found)),
  (line, nth) => replaced(line, /(?<=[:[,])\d+(?=[,}\]])/g, nth, (found) => `0${found}`),
  (line, nth) => replaced(line, /(?<=[:[,])\d+(?=[,}\]])/g, nth, (found) => `${found}.0`),
  (line, nth) => replaced(line, /(?<=[:[,])\d+(?=[,}\]])/g, nth, (found) => `${found}e0`),
  (line, nth) => replaced(line, /(?<=[:[,])\d+(?=[,}\]])/g, nth, () => '12345678901234567890'),
  (line, nth) => replaced(line, /(?<=[:[,])\d+(?=[,}\]])/g, nth, () => '-0'),
  (line, nth) => replaced(line, /20,?/g, nth, (found) => `${found},`),
  (line, nth) => replaced(line, /T1/g, nth, () => 'T3'),
  (line, nth) => replaced(line, /\{/g, nth, (found) => `\ufeff${found}`),
  (line) => `${line}\r`,
  (line) => `${line}{}`,
  (line) => `\ufeff${line}`,
);

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function reversed(members: string): string {
  return members
    .split(/,(?="target")/)
    .reverse()
    .join(',');
}

/** Whether a line is an entry as it has to be written: a disguise that only met a text within it changed what it says. */
function isCanonicalLine(line: string): boolean {
  try {
    return canonical(JSON.parse(line)) === line;
  } catch {
    return false;
  }
}

/** A log with another line, and all lines after it with the hashes that follow from it. */
function relinked(lines: readonly string[], index: number, line: string): string[] {
  const all = lines.with(index, line);
  for (let next = index + 1; next < all.length; next += 1) {
    const previous = hashOf(all[next - 1] ?? '');
    all[next] = (all[next] ?? '').replace(/"previous":"[0-9a-f]{64}"/, `"previous":"${previous}"`);
  }
  return all;
}

/** What was found: the first line that is not as it was, and how; both verifiers agree on it. */
async function found(lines: readonly string[]): Promise<{ line: number; problem: string } | null> {
  const own = await logOfLines(lines).verify();
  const second = verifySecond(lines);
  const told = own.break === null ? null : { line: own.break.line, problem: own.break.problem };
  expect(told).toEqual(second);
  if (own.break !== null) expect(own.break.expected).toBe(own.break.line);
  return told as { line: number; problem: string } | null;
}

/** The first line at which two logs differ, counted from 1. */
function firstDifference(one: readonly string[], other: readonly string[]): number {
  let index = 0;
  while (one[index] === other[index]) index += 1;
  return index + 1;
}

async function againstCheckpoint(original: readonly string[], lines: readonly string[]): Promise<string> {
  const { note } = await makeCheckpoint({ log: logOfLines(original), keys });
  const own = await verifyLog({ log: logOfLines(lines), checkpoint: { note, keys: [verifier] } }).then(
    () => 'holds',
    (error: unknown) => (error instanceof TokenctlError ? String(error.details?.['problem']) : 'a bug'),
  );
  expect(own).toBe(verifySecondAgainst(lines, note, verifier)?.problem ?? 'holds');
  return own;
}

/** Requires that a property always holds. */
function always(property: fc.IRawProperty<unknown>): Promise<void> | void {
  return fc.assert(property, { numRuns: runs(250) });
}

describe('a log that was changed', () => {
  test('nowhere holds, by either verifier, with a checkpoint of any earlier size', () =>
    always(
      fc.asyncProperty(log, position, async (lines, at) => {
        expect(await found(lines)).toBeNull();
        expect(await againstCheckpoint(lines.slice(0, at % (lines.length + 1)), lines)).toBe('holds');
      }),
    ));

  test('in one entry is found there, and in the last entry only by a checkpoint', () =>
    always(
      fc.asyncProperty(log, position, edits, async (lines, at, edit) => {
        const index = at % lines.length;
        const edited = lines.with(index, canonical(edit(entryAt(lines, index))));
        const first = await found(edited);
        const isLast = index === lines.length - 1;
        if (!isLast) expect(first).toEqual({ line: index + 1, problem: 'edited' });
        // Of the last entry nothing vouches for its hash: of a wrong link the one before may be the cause.
        else if (first !== null) expect([index, index + 1]).toContain(first.line);
        expect(await againstCheckpoint(lines, edited)).toBe(first?.problem ?? 'rewritten');
      }),
    ));

  test('in any byte of an entry is found there', () =>
    always(
      fc.asyncProperty(
        log,
        position,
        position,
        fc.integer({ min: 0x20, max: 0x7e }),
        async (lines, at, offset, byte) => {
          const index = at % (lines.length - 1);
          const bytes = Buffer.from(lines[index] ?? '');
          const where = offset % bytes.length;
          fc.pre(bytes[where] !== byte && (bytes[where] ?? 0x80) < 0x80);
          bytes[where] = byte;
          const first = await found(lines.with(index, bytes.toString('utf8')));
          expect(first?.line).toBe(index + 1);
          expect(['edited', 'unreadable']).toContain(first?.problem);
        },
      ),
    ));

  test('by removing entries is found at the first of them', () =>
    always(
      fc.asyncProperty(log, position, position, async (lines, at, count) => {
        const index = at % (lines.length - 1);
        const removed = lines.toSpliced(index, 1 + (count % (lines.length - 1 - index)));
        expect(await found(removed)).toEqual({ line: index + 1, problem: 'removed' });
      }),
    ));

  test('by exchanging two entries is found at the first of them', () =>
    always(
      fc.asyncProperty(log, position, position, async (lines, one, other) => {
        const [low = 0, high = 0] = [one % lines.length, other % lines.length].sort((a, b) => a - b);
        fc.pre(low !== high);
        const exchanged = lines.with(low, lines[high] ?? '').with(high, lines[low] ?? '');
        expect(await found(exchanged)).toEqual({ line: low + 1, problem: 'reordered' });
      }),
    ));

  test('by inserting a copy of an entry is found at the copy', () =>
    always(
      fc.asyncProperty(log, position, position, async (lines, from, to) => {
        const copied = lines.toSpliced(to % (lines.length + 1), 0, lines[from % lines.length] ?? '');
        expect(await found(copied)).toEqual({ line: firstDifference(lines, copied), problem: 'inserted' });
      }),
    ));

  test('by inserting a forged entry is found at the forged one, whether its links are right or not', () =>
    always(
      fc.asyncProperty(log, position, fc.boolean(), async (lines, at, isLinked) => {
        const index = at % lines.length;
        const previous = isLinked ? entryAt(lines, index).previous : 'f'.repeat(64);
        const open = index === 0 ? [] : entryAt(lines, index - 1).open;
        const { closes, ...entry } = entryAt(lines, index);
        const forged = canonical({ ...entry, kind: 'note', data: { forged: true }, previous, open });
        const inserted = lines.toSpliced(index, 0, forged);
        expect(await found(inserted)).toEqual({ line: index + 1, problem: 'inserted' });
      }),
    ));

  test('by inserting what is no entry is found there', () =>
    always(
      fc.asyncProperty(log, position, fc.string(), async (lines, at, text) => {
        const index = at % lines.length;
        const inserted = lines.toSpliced(index, 0, text.toWellFormed().replaceAll('\n', ''));
        expect(await found(inserted)).toEqual({ line: index + 1, problem: 'unreadable' });
      }),
    ));

  test('by a line that is no canonical entry is found there, though all hashes after it are right', () =>
    always(
      fc.asyncProperty(drafts, position, position, disguises, async (some, at, where, disguise) => {
        // Twice the same entries: the verifier knows their form when it comes to the second ones.
        const data = { list: [1, 20], word: 'a"b é', inner: { b: 1, a: null } };
        const known = draft({ kind: 'note', data });
        const lines = chainOf([known, ...some.map(({ closes: _, ...each }) => each), known, known]);
        const index = at % 2 === 0 ? lines.length - 2 : at % (lines.length - 1);
        const line = disguise(lines[index] ?? '', where);
        fc.pre(!line.includes('\n') && !isCanonicalLine(line));
        const rewritten = relinked(lines, index, line);
        const first = await found(rewritten);
        expect(first?.line).toBe(index + 1);
        expect(['edited', 'unreadable']).toContain(first?.problem);
      }),
    ));

  test('by cutting off its end is found by a checkpoint', () =>
    always(
      fc.asyncProperty(log, position, async (lines, at) => {
        const cut = lines.slice(0, at % lines.length);
        expect(await found(cut)).toBeNull();
        expect(await againstCheckpoint(lines, cut)).toBe('cut-off');
      }),
    ));

  test('by writing it anew from any entry on is found by a checkpoint', () =>
    always(
      fc.asyncProperty(drafts, position, fc.nat(3), async (originals, at, more) => {
        const index = at % originals.length;
        const changed = originals.map((each, i) => (i === index ? { ...each, data: { anew: true } } : each));
        const anew = chainOf([...changed, ...Array.from({ length: more }, () => draft())]);
        const lines = chainOf(originals);
        fc.pre(anew[index] !== lines[index]);
        expect(await found(anew)).toBeNull();
        expect(await againstCheckpoint(lines, anew)).toBe('rewritten');
      }),
    ));
});
