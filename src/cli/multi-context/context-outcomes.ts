import { TokenctlError } from '../../domain/errors.ts';
import type { Result } from '../../reports/tables/result.ts';
import { countText } from '../../reports/tables/text.ts';
import { type Failure, failureOf } from '../errors/failure.ts';

/** How a command ended in one context: with a result or with an error. */
export interface ContextOutcome {
  readonly context: string;
  /** Absent after an error. */
  readonly result?: Result;
  readonly error?: unknown;
}

/** How a command ended in all contexts. */
export interface MultiContextOutcome {
  readonly outcomes: readonly ContextOutcome[];
  /** Whether the command changes anything. */
  readonly changes: boolean;
}

/** The request behind the outcomes. */
interface MultiContextRun {
  readonly contexts: readonly string[];
  readonly changes: boolean;
}

const GO_ON = 'Run the same command again to finish. It skips what is done.';

/**
 * The failure that names the contexts in which a command did not complete; undefined if it completed everywhere. It has
 * the error code that all contexts share, otherwise `partly_done`. `interrupted` and `findings` keep their codes. A user
 * or an application that only some contexts have is not a failure.
 *
 * @param errors The errors by context.
 */
export function multiContextFailure(
  errors: ReadonlyMap<string, unknown>,
  { contexts, changes }: MultiContextRun,
): TokenctlError | undefined {
  const everywhere = errors.size === contexts.length;
  const isFound = !everywhere || [...errors.values()].some(isPartlyDone);
  const failures = contexts
    .map((context) => ({ context, error: errors.get(context) }))
    .filter(({ error }) => error !== undefined && !(isFound && isNotFound(error)))
    .map(({ context, error }) => ({ context, error, failure: failureOf(error) }));
  if (failures.length === 0) return undefined;
  const codes = new Set(
    failures.map(({ error }) => (error instanceof TokenctlError ? error.code : 'partly_done')),
  );
  const [only] = codes;
  const stays = codes.size === 1 && (only === 'findings' || only === 'interrupted' || everywhere);
  const code = codes.has('interrupted') ? 'interrupted' : stays && only !== undefined ? only : 'partly_done';
  const lines = failures.map(({ context, failure: { message, hint } }) => {
    return `  ${context}: ${message}${hint === undefined ? '' : ` ${hint}`}`;
  });
  const what = code === 'findings' ? 'Findings' : 'Not completed';
  return new TokenctlError(
    code,
    `${what} in ${failures.length} of ${countText(contexts.length, 'context')}:\n${lines.join('\n')}`,
    {
      ...(changes && code !== 'findings' && !failures.every(isStuck) && { hint: GO_ON }),
      cause: new AggregateError(failures.map(({ error }) => error)),
      details: { contexts: failures.map(({ context }) => context) },
    },
  );
}

/** Whether the same command would find the same again in a context: its own hint then says what to do instead. */
function isStuck({ error, failure }: { readonly error: unknown; readonly failure: Failure }): boolean {
  const isPartly = error instanceof TokenctlError && error.code === 'partly_done';
  return isPartly && failure.hint !== undefined && !/^Run the same command again/.test(failure.hint);
}

/** Whether a named object does not exist; an unknown API path has no `kind`. */
function isNotFound(error: unknown): boolean {
  return (
    error instanceof TokenctlError && error.code === 'not_found' && error.details?.['kind'] !== undefined
  );
}

/** Whether a command began in a context, so that what it names exists there. */
function isPartlyDone(error: unknown): boolean {
  return error instanceof TokenctlError && error.code === 'partly_done';
}

/** The heading above one context's part of a text. */
export function contextHeading(context: string): string {
  return `== ${context} ==\n`;
}
