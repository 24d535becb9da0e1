import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { StepReport, Stopped } from '../../operations/journal/operation-run.ts';
import { fullViewHint, type Viewer } from '../../operations/scope/visibility.ts';
import { bad, faint, type Line, usual } from '../../reports/document.ts';
import type { Amount } from '../../reports/result.ts';
import { countText } from '../../reports/tables/text.ts';

interface Ending {
  readonly interrupted: boolean;
  readonly stopped: Stopped | null;
  /** What is left, as a phrase. */
  readonly left: string;
  /** Whether anything failed or remained after the verification. */
  readonly open: boolean;
  /** What to do about it, if running the command again does not finish it. */
  readonly hint?: string | undefined;
}

/** What to do if running the same command again finishes it. */
export const GO_ON = 'Run the same command again to finish.';

/** The failure of an operation that did not finish; undefined if it did. */
export function unfinishedWork({
  interrupted,
  stopped,
  left,
  open,
  hint,
}: Ending): TokenctlError | undefined {
  if (interrupted) return new TokenctlError('interrupted', `Interrupted: ${left}`, { hint: GO_ON });
  if (stopped !== null) {
    return new TokenctlError('partly_done', `Stopped: ${stopped.message}. ${left}`, {
      hint: stopped.hint ?? GO_ON,
    });
  }
  return open ? new TokenctlError('partly_done', left, { hint: hint ?? GO_ON }) : undefined;
}

const MARKS: Readonly<Record<StepReport['result'], string>> = {
  done: 'done',
  unchanged: 'as before',
  partly: 'PARTLY',
  failed: 'FAILED',
  not_tried: 'NOT TRIED',
};

/** The number of steps that were done, now or before. */
export function stepAmount(steps: readonly StepReport[]): Amount {
  const done = steps.filter(({ result }) => result === 'done' || result === 'unchanged').length;
  return { what: 'step', planned: steps.length, done };
}

export function stepLines(steps: readonly StepReport[]): Line[] {
  return steps.map(({ result, message }) => ({ mark: MARKS[result], text: message }));
}

/** The duration of an operation, appended to its result. */
export function tookText(seconds: number): string {
  return `in ${seconds.toFixed(1)} s`;
}

/** The run in the audit log. */
export function runLine(run: string | null): ReturnType<typeof usual> | null {
  return run === null ? null : usual(faint`Audit log: run ${run}.`.text);
}

/** The first lines of many, and how many more there are. */
export function firstOf<Item, One extends Line>(
  items: readonly Item[],
  most: number,
  text: (item: Item) => One,
): (One | string)[] {
  const more = items.length - most;
  const shown = items.slice(0, most).map(text);
  return more <= 0 ? shown : [...shown, `and ${countText(more, 'more', 'more')}`];
}

/** The failures of a kind, with reasons. */
export function failedLines(
  name: string,
  failed: readonly { readonly tokenId: number; readonly reason: string }[],
  most: number,
): Line[] {
  const more = failed.length - most;
  return [
    ...failed.slice(0, most).map(({ tokenId, reason }) => bad`Failed: ${name} ${tokenId}: ${reason}`),
    ...(more > 0 ? [bad`Failed: ${countText(more, 'more', 'more')}.`] : []),
  ];
}

/** The failure for an account that does not see the whole selection. */
export function notSeenFailure(message: string, viewer: Viewer): TokenctlError {
  return new TokenctlError('partly_done', message, { hint: fullViewHint(viewer) });
}
