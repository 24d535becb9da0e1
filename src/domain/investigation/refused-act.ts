import { TokenctlError } from '../errors.ts';

/** What to do about an act of a cleaning that is refused. */
const REMEDIES = {
  changed: 'Run the command again: it reads what is there now.',
  name_taken: 'Rename that object, then run the command again.',
  in_use: 'Wait until running jobs have ended, then run the command again.',
  rest_only: 'Run the same in a context with a URL.',
  rejected: 'A name may be taken, or an object that is meant may be deleted: do it by hand.',
  by_hand: 'Set it by hand.',
} as const;

/**
 * The error of an act of a cleaning that the target refuses, or that does not fit what is there now: nothing was changed.
 *
 * @param why The end of a sentence, as `it was changed since it was read`.
 */
export function refusedAct(
  why: string,
  remedy: keyof typeof REMEDIES,
  more: { readonly cause?: unknown } = {},
): TokenctlError {
  return new TokenctlError('unsupported', why, { ...more, hint: REMEDIES[remedy] });
}
