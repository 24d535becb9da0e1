import { TokenctlError } from '@tokenctl/common/errors.ts';
import { withTimeout } from '../audit-log/failures.ts';
import { limitText, standbyText } from '../domain/claims.ts';
import type { LinkedDatabase, ReadTarget } from '../operations/ports/target.ts';
import type { Runtime } from './runtime.ts';

/** How long to wait for the database, in milliseconds. Work over REST does not depend on it. */
const LIMIT_MS = 5000;

/**
 * The database in `databaseContext` of a run's context. It is opened at once, in parallel with the rest of
 * the run. Undefined if the context has no such setting, or is itself a database context.
 * @throws TokenctlError as the description of the context.
 */
export async function linkedDatabase(runtime: Runtime): Promise<LinkedDatabase | undefined> {
  const { databaseContext: context, installUuid } = await runtime.description();
  if (context === undefined) return undefined;
  const opening = open(runtime, { context, installUuid });
  // Awaited when needed. Without this handler, an earlier failure would be an unhandled rejection.
  opening.catch(() => undefined);
  return {
    context,
    async ask(read) {
      try {
        const found = await withTimeout(opening.then(read), {
          timeoutMs: LIMIT_MS,
          onTimeout: () =>
            new TokenctlError('target_unreachable', `no response within ${LIMIT_MS / 1000} seconds`),
        });
        return { found };
      } catch (error) {
        if (!(error instanceof TokenctlError)) throw error;
        return { problem: error.message };
      }
    },
  };
}

async function open(
  runtime: Runtime,
  { context, installUuid }: { context: string; installUuid: string | null },
): Promise<ReadTarget> {
  const at = await runtime.in({ context, progress: runtime.progress }).readTarget();
  const { description } = at;
  const other = description.installUuid;
  const problem =
    installUuid !== null && other !== null && other !== installUuid
      ? `it belongs to another controller, ${other}`
      : (standbyText(description) ?? limitText(description));
  if (problem !== null) throw new TokenctlError('usage', problem);
  return at;
}
