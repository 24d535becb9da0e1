import type { Entry } from '../../operations/ports/audit-log.ts';
import { type Listing, listing } from '../../reports/tables/result.ts';

/** Entries of the audit log as the result of a command. In JSON they are unchanged. */
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

/** A time of the log without milliseconds. */
function toTheSecond(at: string): string {
  return at.replace(/\.\d{3}Z$/, 'Z');
}

/** The user and host, and the account in the target. */
function actorText({ actor }: Entry): string {
  return `${actor['user']}@${actor['host']}${asText(actor)}`;
}

/** Entries about the log itself have no account in a target. */
function asText({ as }: Entry['actor']): string {
  return as === undefined ? '' : ` as ${as}`;
}
