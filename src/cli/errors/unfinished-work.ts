import { TokenctlError } from '../../domain/errors.ts';
import type { Stopped } from '../../operations/journal/operation-run.ts';

/** How a piece of work ended, as its report says. */
interface Ending {
  readonly interrupted: boolean;
  readonly stopped: Stopped | null;
  /** What was not tried or not done, as a phrase. */
  readonly left: string;
  /** Whether anything else is open: failed, or found when reading again. */
  readonly open: boolean;
}

const GO_ON = 'Run the same command again: it goes on with what is left.';

/** What says that not all is done; undefined where all is. */
export function unfinishedWork({ interrupted, stopped, left, open }: Ending): TokenctlError | undefined {
  if (interrupted) return new TokenctlError('interrupted', `Interrupted: ${left}`, { hint: GO_ON });
  if (stopped !== null) {
    return new TokenctlError('partly_done', `Stopped: ${stopped.message}. ${left}`, {
      hint: stopped.hint ?? GO_ON,
    });
  }
  return open ? new TokenctlError('partly_done', left, { hint: GO_ON }) : undefined;
}
