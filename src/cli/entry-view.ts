import type { Entry } from '../operations/ports.ts';
import { type Listing, listing } from './result.ts';

/** Entries of the audit log as a command's result: in JSON as they stand in the log. */
export function entryListing(rows: AsyncIterable<Entry>): Listing<Entry> {
  return listing({
    rows,
    columns: [
      { name: 'seq', cell: ({ seq }) => String(seq), whole: true },
      { name: 'at', cell: ({ at }) => at, whole: true },
      { name: 'kind', cell: ({ kind }) => kind },
      { name: 'operation', cell: ({ operation }) => operation },
      { name: 'actor', cell: actorText },
      { name: 'target', cell: ({ target }) => target['context'] ?? '' },
      { name: 'run', cell: ({ run }) => run, only: 'csv' },
      { name: 'data', cell: ({ data }) => JSON.stringify(data) },
    ],
    json: (entry) => entry,
    none: 'No entries.',
  });
}

/** Who did it: the user and machine, and who that user is to the target. */
function actorText({ actor }: Entry): string {
  const { user, host, as } = actor;
  return `${user}@${host} as ${as}`;
}
