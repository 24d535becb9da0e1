import type { Runtime } from '../../app/runtime.ts';
import { pruneLog, rotateLog } from '../../operations/audit-log/rotate-log.ts';
import { type Report, report } from '../../reports/tables/result.ts';
import { countText, printable } from '../../reports/tables/text.ts';

/**
 * Closes the log's file and goes on in a new one; then removes closed files that are older than an age.
 *
 * @param removeOlderThan Milliseconds; nothing is removed where not given.
 * @throws TokenctlError as the operations
 */
export async function rotationFlow(runtime: Runtime, removeOlderThan: number | undefined): Promise<Report> {
  const options = { log: await runtime.auditLog(), actor: runtime.operator };
  const rotation = await rotateLog(options);
  const before = new Date(runtime.clock.now().getTime() - (removeOlderThan ?? 0));
  const pruning = removeOlderThan === undefined ? null : await pruneLog({ ...options, before });
  const closed = rotation?.archive ?? null;
  const removed = pruning?.files ?? [];
  const lines = [
    closed === null ? 'The log has no entries: nothing is closed.' : `Closed ${closed}.`,
    ...(removeOlderThan === undefined ? [] : [`Removed ${countText(removed.length, 'file')}.`, ...removed]),
  ];
  return report({
    json: { archive: closed, removed },
    text: () => `${lines.map((line) => printable.value(line)).join('\n')}\n`,
  });
}
