import { TokenctlError } from '../../domain/errors.ts';
import { countText } from '../../reports/counts.ts';
import { failureOf } from '../errors/failure.ts';

/** What a fleet was asked for. */
interface FleetRequested {
  /** The names of the contexts, in their order. */
  readonly contexts: readonly string[];
  /** Whether something was to be changed. */
  readonly changes: boolean;
}

const GO_ON = 'The same command again goes on with what is left, and leaves alone what is done.';

/**
 * What says in which contexts not all is well; undefined where all is. Where it is the same kind of failure in all
 * of the contexts, it is that; otherwise it is partly done. An interruption, and findings alone, stay what they are.
 * A user or an application that only some of the contexts have is no failure of the others.
 *
 * @param errors What went wrong, by context.
 */
export function fleetFailure(
  errors: ReadonlyMap<string, unknown>,
  { contexts, changes }: FleetRequested,
): TokenctlError | undefined {
  const everywhere = errors.size === contexts.length;
  const failures = contexts
    .map((context) => ({ context, error: errors.get(context) }))
    .filter(({ error }) => error !== undefined && (everywhere || !isNotFound(error)))
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
  const what = code === 'findings' ? 'Findings' : 'Not done, or not wholly,';
  return new TokenctlError(
    code,
    `${what} in ${failures.length} of ${countText(contexts.length, 'context')}:\n${lines.join('\n')}`,
    {
      ...(changes && code !== 'findings' && { hint: GO_ON }),
      cause: new AggregateError(failures.map(({ error }) => error)),
      details: { contexts: failures.map(({ context }) => context) },
    },
  );
}

/** What was named and is not there; an address that knows nothing of a path is another thing. */
function isNotFound(error: unknown): boolean {
  return (
    error instanceof TokenctlError && error.code === 'not_found' && error.details?.['kind'] !== undefined
  );
}
