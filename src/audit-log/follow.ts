import type { Entry, LogBreak } from '../operations/ports/audit-log.ts';
import { canonical, hashOf, openAfter } from './chain.ts';
import type { Accepted, Suspect } from './diagnosis.ts';
import { parseEntry } from './entry.ts';
import type { Line } from './lines.ts';

/** What is wrong with a line by itself. */
export type Fault = Omit<LogBreak, 'line' | 'expected'>;

/** The chain with a line, what is wrong with the line, or a line that does not follow: for a diagnosis. */
export function follow(line: Line, before: Accepted): Accepted | Fault | Suspect {
  const { bytes } = line;
  const entry = parseEntry(bytes);
  if (entry === null) return fault('unreadable', null, 'It is not an entry.');
  const { seq, previous } = entry;
  if (!isCanonical(entry, bytes)) {
    return fault('edited', seq, `Entry ${seq} is not written as it was recorded.`);
  }
  const { head, open } = before;
  if (previous !== head.hash) return { seq, previous, hash: hashOf(bytes) };
  if (seq !== head.size + 1) {
    return fault('edited', seq, `The entry behind entry ${head.size} says that it is entry ${seq}.`);
  }
  if (line.seq !== undefined && line.seq !== seq) {
    return fault('edited', seq, `Entry ${seq} is stored under the number ${line.seq}.`);
  }
  const openNow = openAfter(open, entry);
  if (!isSame(entry.open, openNow)) {
    return fault('edited', seq, `Entry ${seq} does not list the open intents as they are.`);
  }
  return { head: { size: seq, hash: hashOf(bytes) }, open: openNow, previous };
}

/** Whether an entry is written in its canonical form. What has none is not. */
function isCanonical(entry: Entry, bytes: Buffer): boolean {
  try {
    return Buffer.from(canonical(entry)).equals(bytes);
  } catch {
    // JSON can write numbers too large to be any, and halves of surrogate pairs.
    return false;
  }
}

function isSame(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((seq, index) => seq === other[index]);
}

function fault(problem: LogBreak['problem'], seq: number | null, message: string): Fault {
  return { problem, seq, message };
}
