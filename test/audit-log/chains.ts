import { expect } from 'vitest';
import { emptyHead, linkEntry } from '../../src/audit-log/chain.ts';
import type { Line } from '../../src/audit-log/lines.ts';
import { verifyChain, verifyChunks } from '../../src/audit-log/verify-chain.ts';
import type { AuditLog, EntryDraft } from '../../src/operations/ports/audit-log.ts';
import { stillClock } from './drafts.ts';

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

/**
 * What verifies some lines as a log: one by one, as a table gives them, and all at once, as a file does, which
 * has to find the same.
 */
export function logOfLines(lines: readonly (string | Buffer)[]): Pick<AuditLog, 'verify'> {
  async function* single(): AsyncIterable<Line[]> {
    for (const line of lines) yield [{ bytes: Buffer.from(line), ended: true }];
  }
  async function* whole(): AsyncIterable<Buffer> {
    yield Buffer.concat(lines.flatMap((line) => [Buffer.from(line), Buffer.from('\n')]));
  }
  return {
    async verify(observer) {
      const found = await verifyChunks(whole(), { observer });
      expect(await verifyChain(single())).toEqual(found);
      return found;
    },
  };
}
