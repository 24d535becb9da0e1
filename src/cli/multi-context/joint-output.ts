import { type Column, type Listing, listing } from '../../reports/result.ts';
import { fleetFailure } from './fleet-failure.ts';
import type { FleetOutcome, MemberOutcome } from './fleet-flow.ts';
import { readAhead } from './read-ahead.ts';

/** A row, and where it is from. */
interface ContextRow {
  readonly context: string;
  readonly row: unknown;
}

/** Rows that each context may be read ahead while those of the contexts before it are printed. */
const READ_AHEAD = 1000;

/**
 * The lists of several contexts as one, whose first column says in which context each row is. In JSON each row
 * has the member `context` before its own. A context whose list is cut short does not end the others'.
 */
export function fleetListing(
  { outcomes, changes }: FleetOutcome,
  listingOf: (outcome: MemberOutcome) => Listing<unknown> | undefined,
): Listing<unknown> {
  const members = outcomes.map((outcome) => ({ ...outcome, list: listingOf(outcome) }));
  const [first] = members.flatMap(({ list }) => list ?? []);
  const errors = new Map<string, unknown>();
  for (const { context, error } of outcomes) if (error !== undefined) errors.set(context, error);

  const failureNow = () =>
    fleetFailure(errors, { contexts: outcomes.map(({ context }) => context), changes });

  async function* rows(): AsyncIterable<ContextRow> {
    let isCut = false;
    let isEmpty = true;
    const reading = members.flatMap(({ context, list }) =>
      list === undefined ? [] : [{ context, list, ahead: readAhead(list.rows, READ_AHEAD) }],
    );
    for (const { context, list, ahead } of reading) {
      let begun = false;
      try {
        for await (const row of ahead) {
          yield { context, row };
          begun = true;
        }
      } catch (error) {
        errors.set(context, error);
        isCut ||= begun;
      }
      isEmpty &&= !begun;
      const failure = list.failure?.();
      if (failure !== undefined) errors.set(context, failure);
    }
    // Nothing may take a list that was cut short for the whole, or one that nobody could read for an empty one.
    const failed = failureNow();
    if (failed !== undefined && (isCut || (isEmpty && errors.size === outcomes.length))) throw failed;
  }

  return listing<ContextRow>({
    rows: rows(),
    columns: [
      { name: 'context', cell: ({ context }) => context, whole: true },
      ...(first?.columns ?? []).map(ofContextRow),
    ],
    json: ({ context, row }) => ({ context, ...(first?.json(row) as object) }),
    none: first?.none ?? '',
    failure: failureNow,
  }) as Listing<unknown>;
}

function ofContextRow(column: Column<unknown>): Column<ContextRow> {
  const { cell, csv, short, ...rest } = column;
  return {
    ...rest,
    cell: ({ row }) => cell(row),
    ...(csv !== undefined && { csv: ({ row }: ContextRow) => csv(row) }),
    ...(short !== undefined && { short: ({ row }: ContextRow) => short(row) }),
  };
}
