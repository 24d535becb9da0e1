import type { Head, LogBreak, LogVerification } from '../operations/audit-log-port.ts';
import { canonical, emptyHead, hashOf, openAfter } from './chain.ts';
import { parseEntry } from './entry.ts';
import type { Line } from './lines.ts';

/** A chain up to some line. */
interface Chain {
  readonly head: Head;
  readonly open: readonly number[];
}

/** What is wrong with a line. */
type Fault = Omit<LogBreak, 'line'>;

/**
 * Checks a log line by line, holding no more than one line of it: that every line is an entry, written
 * canonically, numbered without gaps, carrying the hash of the line before it and the right list of open
 * intents. It tells of the first break.
 */
export async function verifyChain(lines: AsyncIterable<Line>): Promise<LogVerification> {
  let chain: Chain = { head: emptyHead, open: [] };
  let found: LogBreak | null = null;
  let line = 0;
  let tornBytes = 0;
  for await (const { bytes, ended } of lines) {
    line += 1;
    if (found !== null) {
      // An entry that is missing may only stand elsewhere: what follows tells.
      if (parseEntry(bytes)?.seq === chain.head.size + 1) found = misplaced(found, chain.head.size + 1, line);
    } else if (ended) {
      const next = follow(bytes, chain);
      if ('problem' in next) found = { line, ...next };
      else chain = next;
      if (found !== null && found.problem !== 'removed') break;
    } else {
      tornBytes = bytes.length;
    }
  }
  return { entries: chain.head.size, head: chain.head, break: found, tornBytes };
}

function follow(bytes: Buffer, { head, open }: Chain): Chain | Fault {
  const entry = parseEntry(bytes);
  if (entry === null) return fault('unreadable', null, 'It is not an entry.');
  const { seq } = entry;
  const expected = head.size + 1;
  if (seq > expected) return fault('removed', seq, missing(expected, seq));
  if (seq < expected) return fault('inserted', seq, `There is a second entry ${seq}.`);
  if (!Buffer.from(canonical(entry)).equals(bytes)) {
    return fault('edited', seq, `Entry ${seq} is not written as it was recorded.`);
  }
  if (entry.previous !== head.hash) return fault('edited', seq, notFollowing(seq));
  const openNow = openAfter(open, entry);
  if (entry.open.join() !== openNow.join()) {
    return fault('edited', seq, `Entry ${seq} does not list the open intents as they are.`);
  }
  return { head: { size: seq, hash: hashOf(bytes) }, open: openNow };
}

function missing(expected: number, seq: number): string {
  const which = seq - expected === 1 ? `Entry ${expected} is` : `Entries ${expected} to ${seq - 1} are`;
  return `${which} missing before entry ${seq}.`;
}

function misplaced(found: LogBreak, seq: number, line: number): LogBreak {
  const message = `Entry ${found.seq} stands where entry ${seq} belongs, which is at line ${line}.`;
  return { ...found, problem: 'reordered', message };
}

function notFollowing(seq: number): string {
  if (seq === 1) return 'Entry 1 is not the beginning of a log.';
  return `Entry ${seq} does not follow from entry ${seq - 1}: one of the two was changed.`;
}

function fault(problem: LogBreak['problem'], seq: number | null, message: string): Fault {
  return { problem, seq, message };
}
