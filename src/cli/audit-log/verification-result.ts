import type { VerifiedLog } from '../../operations/audit-log/verify-log.ts';
import { type Report, report } from '../../reports/tables/result.ts';
import { countText, printable } from '../../reports/tables/text.ts';

/** Where the log is that was verified. */
export type LogPlace =
  | {
      readonly kind: 'file';
      readonly name: string;
      /** Whether the file exists: before the first change there is none. */
      readonly there: boolean;
    }
  | { readonly kind: 'database'; readonly name: string };

/** A log that holds, as a command's result. */
export function verificationResult(verified: VerifiedLog, place: LogPlace): Report {
  const { entries, head, tornBytes, removed, checkpoint } = verified;
  const torn = `An unfinished last line of ${countText(tornBytes, 'byte')} is ignored: an append that was cut short.`;
  const lines = [...summaryLines(verified, place), ...(tornBytes > 0 ? [torn] : [])];
  return report({
    json: { [place.kind]: place.name, entries, head, tornBytes, removed, checkpoint },
    text: () => `${lines.join('\n')}\n`,
  });
}

function summaryLines({ entries, head, removed, checkpoint }: VerifiedLog, place: LogPlace): string[] {
  const name = printable.value(place.kind === 'file' ? place.name : `the database ${place.name}`);
  if (place.kind === 'file' && !place.there) {
    return [`There is no audit log yet: ${name} is made with the first change.`];
  }
  if (entries === 0) return [`There are no entries in ${name}.`];
  return [
    `The log holds: ${countText(entries, 'entry', 'entries')} in ${name}.`,
    ...(removed === undefined ? [] : [`Retention removed entries 1 to ${removed}, as the log says.`]),
    ...(checkpoint === undefined
      ? []
      : [
          `Entries 1 to ${checkpoint.size} are those of the checkpoint of ${printable.value(checkpoint.origin)}.`,
        ]),
    `Head: ${head.hash}`,
  ];
}
