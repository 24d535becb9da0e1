import { isUtf8 } from 'node:buffer';
import { emptyHead, linkEntry } from '../../../src/audit-log/chain.ts';
import type { Line } from '../../../src/audit-log/lines.ts';
import { verifyChain } from '../../../src/audit-log/verify-chain.ts';
import type { AuditLog, EntryDraft } from '../../../src/operations/ports/audit-log.ts';
import { stillClock } from '../../support/drafts.ts';

/** The lines of a log of these drafts. */
export function chainOf(drafts: readonly EntryDraft[]): string[] {
  let head = emptyHead;
  let open: readonly number[] = [];
  return drafts.map((each) => {
    const link = linkEntry(each, { head, open, at: stillClock.now() });
    head = link.head;
    open = link.entry.open;
    return link.line;
  });
}

/** A line as files are read. */
export function lineOf(bytes: Buffer, ended = true): Line {
  return { bytes, isText: isUtf8(bytes), ended };
}

/** A log of the given lines that can be verified. */
export function logOfLines(lines: readonly (string | Buffer)[]): Pick<AuditLog, 'verify'> {
  async function* blocks() {
    for (const line of lines) yield [lineOf(Buffer.from(line))];
  }
  return { verify: (observer) => verifyChain(blocks(), { observer }) };
}
