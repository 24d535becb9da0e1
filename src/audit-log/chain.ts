import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Entry, EntryDraft, Head } from '../operations/ports/audit-log.ts';
import type { Clock } from '../operations/ports/clock.ts';
import { parseEntry } from './entry.ts';
import { intentClosed, logRefused } from './failures.ts';

/** The `previous` of the first entry: 64 zeros. */
const NO_HASH = '0'.repeat(64);

/** The head of a log without entries. */
export const emptyHead: Head = { size: 0, hash: NO_HASH };

export interface ChainState {
  readonly head: Head;
  readonly open: readonly number[];
}

/** An entry, its line without the line feed, and the head after it. */
export interface Link {
  readonly entry: Entry;
  readonly line: string;
  readonly head: Head;
}

/**
 * Creates the next entry of a chain: numbered, with the hash of the previous line, as canonical JSON (RFC
 * 8785). Secrets in its data become `[redacted]`.
 * @throws Error for data that JSON cannot represent: NaN, a lone surrogate, a cycle.
 */
export function linkEntry(draft: EntryDraft, { head, open, at }: ChainState & { at: Date }): Link {
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

/** A linked draft, or the error for one that cannot be appended. */
export type LinkResult = Link | { readonly error: unknown };

/**
 * Links several drafts to a chain. It skips drafts that JSON cannot represent, and second outcomes of an
 * intent: two processes that reconcile after a crash find the same open intents.
 * @returns One result per draft, in the same order, and the state of the chain after them.
 */
export function linkGroup(
  drafts: readonly EntryDraft[],
  { name, state, clock }: { name: string; state: ChainState; clock: Clock },
): { readonly links: readonly LinkResult[]; readonly state: ChainState } {
  let { head, open } = state;
  const links = drafts.map((draft): LinkResult => {
    const { closes } = draft;
    if (closes !== undefined && !open.includes(closes)) return { error: intentClosed(name, closes) };
    try {
      const link = linkEntry(draft, { head, open, at: clock.now() });
      ({ head } = link);
      ({ open } = link.entry);
      return link;
    } catch (error) {
      return { error };
    }
  });
  return { links, state: { head, open } };
}

/** The state of a chain after its last line; null for no line. Throws `audit_unavailable` if it is not an entry. */
export function stateAfter(name: string, line: Buffer | null): ChainState {
  if (line === null) return { head: emptyHead, open: [] };
  const entry = parseEntry(line);
  if (entry === null) {
    throw logRefused(
      name,
      'its last line is not an entry',
      'Run `tokenctl log verify`, leave the log unchanged, and configure a new one.',
    );
  }
  return { head: { size: entry.seq, hash: hashOf(line) }, open: entry.open };
}

/** The open intents after an entry. */
export function openAfter(
  before: readonly number[],
  entry: { readonly kind: Entry['kind']; readonly seq: number; readonly closes?: number | undefined },
): readonly number[] {
  if (entry.kind === 'intent') return [...before, entry.seq];
  return entry.closes === undefined ? before : before.filter((seq) => seq !== entry.closes);
}

/** SHA-256 (hex) of a line without its line feed. */
export function hashOf(line: string | Uint8Array): string {
  return hash('sha256', line);
}

/** The canonical JSON (RFC 8785) of a value. */
export function canonical(value: object): string {
  const text = canonicalize(value);
  if (text === undefined) throw new Error('The value cannot be written as JSON');
  return text;
}
