import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Entry, EntryDraft, Head } from '../operations/ports/audit-log.ts';

/** The hash before the first entry: 64 zeros. */
const NOTHING = '0'.repeat(64);

/** A log without entries. */
export const emptyHead: Head = { size: 0, hash: NOTHING };

/** An entry with the line that stands for it, without the line feed, and the head after it. */
export interface Link {
  readonly entry: Entry;
  readonly line: string;
  readonly head: Head;
}

/** What an entry is linked to. */
export interface LinkOptions {
  /** The head before it. */
  readonly head: Head;
  /** The intents that are open before it. */
  readonly open: readonly number[];
  readonly at: Date;
}

/**
 * Makes the next entry of a chain: numbered, carrying the hash of the line before it, as canonical JSON
 * (RFC 8785). A secret in its data becomes `[redacted]`, as everywhere.
 *
 * @throws Error for data that JSON cannot hold: NaN, a lone surrogate, a cycle.
 */
export function linkEntry(draft: EntryDraft, { head, open, at }: LinkOptions): Link {
  const seq = head.size + 1;
  const line = canonical({
    ...draft,
    v: 1,
    seq,
    at: at.toISOString(),
    previous: head.hash,
    open: openAfter(open, { kind: draft.kind, seq, closes: draft.closes }),
  });
  return { entry: JSON.parse(line) as Entry, line, head: { size: seq, hash: hashOf(line) } };
}

/** The intents that are open after an entry. */
export function openAfter(
  before: readonly number[],
  entry: { readonly kind: Entry['kind']; readonly seq: number; readonly closes?: number | undefined },
): readonly number[] {
  if (entry.kind === 'intent') return [...before, entry.seq];
  return entry.closes === undefined ? before : before.filter((seq) => seq !== entry.closes);
}

/** SHA-256 (hex) of a line without its line feed: of its bytes, or of its text in UTF-8. */
export function hashOf(line: string | Uint8Array): string {
  return hash('sha256', line);
}

/** The one JSON text that RFC 8785 has for a value. */
export function canonical(value: object): string {
  const text = canonicalize(value);
  if (text === undefined) throw new Error('The value has no JSON text');
  return text;
}
