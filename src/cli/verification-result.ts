import type { VerifiedLog } from '../operations/verify-log.ts';
import { countText } from './counts.ts';
import { printable } from './printable.ts';
import { type Report, report } from './result.ts';

/** A log that holds, as a command's result. */
export function verificationResult({ entries, head, tornBytes }: VerifiedLog, file: string): Report {
  const path = printable.value(file);
  const torn = `An unfinished last line of ${countText(tornBytes, 'byte')} is ignored: an append that was cut short.`;
  const lines =
    entries === 0
      ? [`There are no entries in ${path}.`]
      : [`The log holds: ${countText(entries, 'entry', 'entries')} in ${path}.`, `Head: ${head.hash}`];
  return report({
    json: { file, entries, head, tornBytes },
    text: () => `${[...lines, ...(tornBytes > 0 ? [torn] : [])].join('\n')}\n`,
  });
}
