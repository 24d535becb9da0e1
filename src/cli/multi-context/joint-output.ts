import { Readable } from 'node:stream';
import { documentText } from '../../reports/document.ts';
import type { Streamed } from '../../reports/result.ts';
import { type Column, IncompleteListing, type Listing, listing } from '../../reports/tables/listing.ts';
import { onScreen, printable, type Screen } from '../../reports/tables/text.ts';
import {
  type ContextOutcome,
  contextHeading,
  type MultiContextOutcome,
  multiContextFailure,
  problemPart,
  stateToJson,
} from './context-outcomes.ts';

interface ContextRow {
  readonly context: string;
  readonly row: unknown;
}

/** Rows to read ahead in each context while earlier contexts are printed. */
const ROWS_AHEAD = 1000;

/**
 * Joins the lists of several contexts. The first column, and the first member of each JSON row, is the
 * context. An incomplete list in one context does not stop the others.
 */
export function multiContextListing(
  { outcomes, changes }: MultiContextOutcome,
  listingOf: (outcome: ContextOutcome) => Listing<unknown> | undefined,
): Listing<unknown> {
  const members = outcomes.map((outcome) => ({ ...outcome, list: listingOf(outcome) }));
  const [first] = members.flatMap(({ list }) => list ?? []);
  const errors = new Map<string, unknown>();
  for (const { context, error } of outcomes) if (error !== undefined) errors.set(context, error);

  const failureNow = () =>
    multiContextFailure(errors, { contexts: outcomes.map(({ context }) => context), changes });

  async function* rows(): AsyncIterable<ContextRow> {
    let isCut = false;
    let isEmpty = true;
    const reading = members.flatMap(({ context, list }) =>
      list === undefined ? [] : [{ context, list, ahead: readAhead(list.rows, ROWS_AHEAD) }],
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
    // A reader must not mistake an incomplete list for a complete one, or an unreadable list for an empty
    // one.
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

/** A context's document. */
interface Part {
  readonly context: string;
  readonly chunks: AsyncIterable<string>;
  /** Called after the last chunk; an incomplete document throws instead. */
  readonly failure: () => unknown;
}

const CHUNKS_AHEAD = 64;

/**
 * Joins the documents of several contexts: text under a heading for each context, or a JSON object with
 * `contexts`. A context that fails before its document starts does not stop the others. An incomplete JSON
 * document ends the output, because it cannot be closed.
 */
export function multiContextStream({ outcomes, changes }: MultiContextOutcome): Streamed {
  const errors = new Map<string, unknown>();
  const inJson = outcomes.some(({ result }) => result?.kind === 'streamed' && result.makes === 'json');
  return {
    kind: 'streamed',
    makes: inJson ? 'json' : 'text',
    chunks: (screen) => {
      const parts = outcomes.map((outcome) => partOf(outcome, screen));
      return inJson ? jsonChunks(parts, errors) : textChunks(parts, { errors, screen });
    },
    failure: () => multiContextFailure(errors, { contexts: outcomes.map(({ context }) => context), changes }),
  };
}

function partOf({ context, result, error }: ContextOutcome, screen: Screen): Part {
  if (result?.kind !== 'streamed') return { context, chunks: nothing(), failure: () => error };
  return {
    context,
    chunks: readAhead(result.chunks(screen), CHUNKS_AHEAD),
    failure: () => result.failure?.(),
  };
}

async function* nothing(): AsyncIterable<string> {}

async function* textChunks(
  parts: readonly Part[],
  { errors, screen }: { errors: Map<string, unknown>; screen: Screen },
): AsyncIterable<string> {
  let gap = '';
  for (const { context, chunks, failure } of parts) {
    yield gap + onScreen(documentText([contextHeading(context)], screen.paint), screen);
    let problem: unknown;
    try {
      yield* chunks;
      problem = failure();
    } catch (error) {
      problem = error;
    }
    if (problem !== undefined) {
      errors.set(context, problem);
      yield onScreen(documentText([problemPart(problem)], screen.paint), screen);
    }
    gap = '\n';
  }
}

async function* jsonChunks(parts: readonly Part[], errors: Map<string, unknown>): AsyncIterable<string> {
  let separator = '{\n"contexts": [\n';
  for (const { context, chunks, failure } of parts) {
    yield `${separator}{"context": ${JSON.stringify(context)}`;
    let begun = false;
    let problem: unknown;
    try {
      for await (const chunk of chunks) {
        yield (begun ? '' : ', "result": ') + chunk;
        begun = true;
      }
      problem = failure();
    } catch (error) {
      if (begun) throw new IncompleteListing(error);
      problem = error;
    }
    if (problem !== undefined) errors.set(context, problem);
    yield `, ${printable.lines(JSON.stringify(stateToJson(problem))).slice(1)}`;
    separator = ',\n';
  }
  yield '\n]\n}\n';
}

/**
 * Starts to read now, at most `atMost` items ahead, so that several sources are read in parallel although
 * they are printed one after the other. A read error is thrown at its place in the sequence.
 */
function readAhead<Item>(items: AsyncIterable<Item> | Iterable<Item>, atMost: number): AsyncIterable<Item> {
  const stream = Readable.from(items, { objectMode: true, highWaterMark: atMost });
  // The source may fail before the first read; the reader still gets the error.
  stream.on('error', () => undefined);
  stream.read(0);
  return stream;
}
