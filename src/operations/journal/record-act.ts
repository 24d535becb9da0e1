import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { EntryDraft } from '../ports/audit-log.ts';
import type { Target } from '../ports/target.ts';
import { Journal, type JournalOptions } from './journal.ts';
import { isRefusal } from './operation-run.ts';
import { reconcile } from './reconcile.ts';

/** A single action, between its intent and its outcome. */
export interface Act<Result> extends JournalOptions {
  readonly target: Target;
  readonly intent: EntryDraft['data'];
  readonly act: () => Promise<Result>;
  readonly outcome: (result: Result) => EntryDraft['data'];
  /** The error to throw if the outcome could not be recorded. */
  readonly unrecorded?: (result: Result) => TokenctlError;
}

/**
 * Runs one action so that nothing is done unrecorded: closes what earlier runs left open, records the intent,
 * acts, records the outcome.
 * @throws TokenctlError `audit_unavailable` before the action, `outcome_unrecorded` after it, and whatever
 * the action throws, once that is recorded.
 */
export async function recordAct<Result>(options: Act<Result>): Promise<Result> {
  const journal = new Journal(options);
  await reconcile(options);
  using _lock = await journal.lock();
  const intent = await journal.opening(options.intent);
  let result: Result;
  try {
    result = await options.act();
  } catch (error) {
    await journal.outcome(intent, failure(error));
    throw error;
  }
  try {
    await journal.outcome(intent, { result: 'done', ...options.outcome(result) });
  } catch (error) {
    throw options.unrecorded?.(result) ?? error;
  }
  return result;
}

function failure(error: unknown): EntryDraft['data'] {
  if (!(error instanceof TokenctlError)) return { result: 'unknown', reason: 'an unexpected error' };
  return { result: isRefusal(error) ? 'refused' : 'unknown', reason: error.message };
}
