import type { Entry } from '../../operations/ports/audit-log.ts';
import { type Listing, listing } from '../../reports/tables/result.ts';

/** Entries of the audit log as a command's result: in JSON as they stand in the log. */
export function entryListing(rows: AsyncIterable<Entry>): Listing<Entry> {
  return listing({
    rows,
    columns: [
      { name: 'seq', cell: ({ seq }) => String(seq), whole: true },
      { name: 'at', cell: ({ at }) => at, short: ({ at }) => toTheSecond(at), whole: true },
      { name: 'kind', cell: ({ kind }) => kind, whole: true },
      { name: 'operation', cell: ({ operation }) => operation, whole: true },
      { name: 'actor', cell: actorText, short: ({ actor }) => `${actor['user']}${asText(actor)}` },
      { name: 'target', cell: ({ target }) => target['context'] ?? '' },
      { name: 'run', cell: ({ run }) => run, only: 'csv' },
      { name: 'data', cell: ({ data }) => JSON.stringify(data), narrow: 'below' },
    ],
    json: (entry) => entry,
    none: 'No entries.',
  });
}

/** An instant of the log, which has milliseconds, without them. */
function toTheSecond(at: string): string {
  return at.replace(/\.\d{3}Z$/, 'Z');
}

/** Who did it: the user and machine, and who that user is to the target. */
function actorText({ actor }: Entry): string {
  return `${actor['user']}@${actor['host']}${asText(actor)}`;
}

/** Who works on the log itself is nobody at a target. */
function asText({ as }: Entry['actor']): string {
  return as === undefined ? '' : ` as ${as}`;
}
