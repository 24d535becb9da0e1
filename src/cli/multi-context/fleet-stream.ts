import { IncompleteListing } from '../../reports/listing.ts';
import { printable } from '../../reports/printable.ts';
import type { Screen, Streamed } from '../../reports/result.ts';
import { failureOf, failureToJson, failureToText } from '../errors/failure.ts';
import { contextHeading } from './context-heading.ts';
import { fleetFailure } from './fleet-failure.ts';
import type { FleetOutcome, MemberOutcome } from './fleet-flow.ts';
import { readAhead } from './read-ahead.ts';

/** A context's document. */
interface Part {
  readonly context: string;
  readonly chunks: AsyncIterable<string>;
  /** Asked after the last chunk; a document that is cut short throws. */
  readonly failure: () => unknown;
}

/** Pieces that each context's document may be ahead of being printed. */
const READ_AHEAD = 64;

/**
 * The documents of several contexts as one, one after the other: text under the name of each context, JSON as
 * reports have it, an object with `contexts`. A context that fails before its document begins does not hold up the
 * others; JSON that is cut short later cannot be closed, and ends the whole.
 */
export function fleetStream({ outcomes, changes }: FleetOutcome): Streamed {
  const errors = new Map<string, unknown>();
  const inJson = outcomes.some(({ result }) => result?.kind === 'streamed' && result.makes === 'json');
  return {
    kind: 'streamed',
    makes: inJson ? 'json' : 'text',
    chunks: (screen) => {
      const parts = outcomes.map((outcome) => partOf(outcome, screen));
      return inJson ? jsonChunks(parts, errors) : textChunks(parts, errors);
    },
    failure: () => fleetFailure(errors, { contexts: outcomes.map(({ context }) => context), changes }),
  };
}

function partOf({ context, result, error }: MemberOutcome, screen: Screen): Part {
  if (result?.kind !== 'streamed') return { context, chunks: nothing(), failure: () => error };
  return {
    context,
    chunks: readAhead(result.chunks(screen), READ_AHEAD),
    failure: () => result.failure?.(),
  };
}

async function* nothing(): AsyncIterable<string> {}

async function* textChunks(parts: readonly Part[], errors: Map<string, unknown>): AsyncIterable<string> {
  let gap = '';
  for (const { context, chunks, failure } of parts) {
    yield gap + contextHeading(context);
    let problem: unknown;
    try {
      yield* chunks;
      problem = failure();
    } catch (error) {
      problem = error;
    }
    if (problem !== undefined) {
      errors.set(context, problem);
      yield printable.lines(failureToText(failureOf(problem)));
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
    if (problem !== undefined) {
      errors.set(context, problem);
      yield `, ${printable.lines(JSON.stringify(failureToJson(failureOf(problem)))).slice(1, -1)}`;
    }
    yield '}';
    separator = ',\n';
  }
  yield '\n]\n}\n';
}
