import { hashOf } from './chain.ts';
import type { Accepted } from './diagnosis.ts';
import { EntryScanner } from './entry-scan.ts';
import { ended, lineAt } from './lines.ts';
import { ScanText } from './scan-text.ts';

/** An entry that is taken as it is, so that what stands behind it can be checked. */
export interface Anchor {
  /** What the line behind it has to follow from. */
  readonly chain: Accepted;
  /** The offset of that line. */
  readonly end: number;
}

/** The hash that an entry carries, at the only place where this stands, but for texts made to mislead. */
const PREVIOUS = /,"previous":"([0-9a-f]{64})","run":"/;

/** Reads the entry that a chunk begins with; null where none does. */
export async function anchorAt(chunk: Buffer): Promise<Anchor | null> {
  const { bytes, ended: isEnded } = lineAt(chunk, 0);
  if (!isEnded) return null;
  const entry = scanned(bytes) ?? (await parsed(bytes));
  if (entry === null) return null;
  const { seq, open, previous } = entry;
  return { chain: { head: { size: seq, hash: hashOf(bytes) }, open, previous }, end: bytes.length + 1 };
}

function scanned(bytes: Buffer) {
  const [, previous] = PREVIOUS.exec(bytes.toString('latin1')) ?? [];
  if (previous === undefined) return null;
  const line = ended(bytes);
  const view = new DataView(line.buffer, line.byteOffset, line.length);
  const entry = new EntryScanner().scan(view, 0, ScanText.of(previous));
  return entry === null ? null : { ...entry, previous };
}

/** The parser, which a thread loads only where the scan cannot tell. */
async function parsed(bytes: Buffer) {
  const { parseEntry } = await import('./entry.ts');
  return parseEntry(bytes);
}
