import { TokenctlError, type TokenctlErrorCode } from '../domain/errors.ts';
import type { RunSummary } from '../operations/ports/scheduler.ts';

/** Failures that another try may not meet: they come from outside, and pass. */
const PASSING: ReadonlySet<TokenctlErrorCode> = new Set([
  'target_unreachable',
  'target_misbehaved',
  'database_unreachable',
  'audit_unavailable',
  'outcome_unrecorded',
  'partly_done',
  'busy',
]);

/** Whether a run that failed so is worth trying again. */
export function mayPass(error: unknown): boolean {
  return error instanceof TokenctlError && PASSING.has(error.code);
}

/** A failure as the ledger keeps it. What is no error of ours is named and not repeated: it may hold a secret. */
export function failureSummary(error: unknown): RunSummary {
  if (!(error instanceof TokenctlError)) {
    const name = error instanceof Error ? error.name : typeof error;
    return { code: 'bug', message: `An unexpected error (${name}): the scheduler's own output has it` };
  }
  const { code, message, hint, details } = error;
  return { code, message, ...(hint !== undefined && { hint }), ...(details !== undefined && { details }) };
}
