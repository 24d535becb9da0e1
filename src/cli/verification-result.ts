import type { VerifiedLog } from '../operations/verify-log.ts';
import { countText } from './counts.ts';
import { printable } from './printable.ts';
import { type Report, report } from './result.ts';

/** Which log was verified. */
interface LogFile {
  readonly file: string;
  /** Whether the file exists: before the first change there is none. */
  readonly there: boolean;
}

/** A log that holds, as a command's result. */
export function verificationResult(verified: VerifiedLog, { file, there }: LogFile): Report {
  const { entries, head, tornBytes } = verified;
  const torn = `An unfinished last line of ${countText(tornBytes, 'byte')} is ignored: an append that was cut short.`;
  const lines = [...summaryLines(verified, { file, there }), ...(tornBytes > 0 ? [torn] : [])];
  return report({
    json: { file, entries, head, tornBytes },
    text: () => `${lines.join('\n')}\n`,
  });
}

function summaryLines({ entries, head }: VerifiedLog, { file, there }: LogFile): string[] {
  const path = printable.value(file);
  if (!there) return [`There is no audit log yet: ${path} is made with the first change.`];
  if (entries === 0) return [`There are no entries in ${path}.`];
  return [`The log holds: ${countText(entries, 'entry', 'entries')} in ${path}.`, `Head: ${head.hash}`];
}
