import { TokenctlError, type TokenctlErrorCode } from '../../domain/errors.ts';
import type { OperationRun } from '../journal/operation-run.ts';
import type { EntryDraft } from '../ports/audit-log.ts';

/** What became of one step of a lockdown, a lift or an offboarding. */
export interface StepReport {
  /** As the log calls it. */
  readonly step: string;
  /** `unchanged` found everything as it was to be; `not_tried` was not reached. */
  readonly result: 'done' | 'unchanged' | 'partly' | 'failed' | 'not_tried';
  /** What it did, as a sentence. */
  readonly message: string;
}

/** What a step came to, and what its outcome states. */
export interface StepResult extends Omit<StepReport, 'step'> {
  readonly data: EntryDraft['data'];
}

/** A step between its intent and its outcome. */
export interface Step {
  readonly name: string;
  /** What it is called where it was not tried or failed, as the beginning of a sentence. */
  readonly title: string;
  /** What both entries state. */
  readonly common: EntryDraft['data'];
  /** Additional data of the intent. */
  readonly intent?: EntryDraft['data'];
  readonly act: () => Promise<StepResult>;
}

/** Errors after which the target cannot be used any more. */
const ENDINGS: ReadonlySet<TokenctlErrorCode> = new Set(['credentials_refused', 'target_unreachable']);

/** Whether nothing further can be tried at the target after this. */
export function endsRun(error: TokenctlError): boolean {
  return ENDINGS.has(error.code);
}

/** These are about the log: nothing is done without it. */
const OF_THE_LOG: ReadonlySet<TokenctlErrorCode> = new Set([
  'audit_unavailable',
  'outcome_unrecorded',
  'log_broken',
]);

/** After these it is certain that nothing was done. */
const REFUSALS: ReadonlySet<TokenctlErrorCode> = new Set([
  'credentials_refused',
  'permission_refused',
  'unsupported',
  'not_found',
]);

/** Whether it is certain that nothing was done where this was thrown. */
export function isRefusal(error: TokenctlError): boolean {
  return REFUSALS.has(error.code);
}

/**
 * Does a stage of several steps, and of the questions before them. What the target refuses is reported, so
 * that the next stage is begun nevertheless; where it cannot be reached, `work` stops.
 *
 * @throws TokenctlError as {@link takeStep}.
 */
export async function stage(
  work: OperationRun,
  { name, title }: Pick<Step, 'name' | 'title'>,
  act: () => Promise<readonly StepReport[]>,
): Promise<readonly StepReport[]> {
  if (work.shouldStop) return [{ step: name, result: 'not_tried', message: `${title}: not tried.` }];
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof TokenctlError) || OF_THE_LOG.has(error.code)) throw error;
    if (endsRun(error)) work.stop(error);
    return [{ step: name, result: 'failed', message: `${title}: ${error.message}.` }];
  }
}

/**
 * Takes one step, recorded before and after. One that the target refuses is reported, so that the next is
 * taken nevertheless; where it cannot be reached, `work` stops.
 *
 * @throws TokenctlError as {@link OperationRun.part} does.
 */
export async function takeStep(work: OperationRun, step: Step): Promise<StepReport> {
  const { name, title, common } = step;
  if (work.shouldStop) return { step: name, result: 'not_tried', message: `${title}: not tried.` };
  let report: StepReport = { step: name, result: 'not_tried', message: '' };
  await work.part(async () => {
    const intent = await work.journal.intent({ step: name, ...common, ...step.intent });
    try {
      const { data, ...result } = await step.act();
      work.acted = true;
      report = { step: name, ...result };
      await work.journal.outcome(intent, { step: name, ...common, result: result.result, ...data });
    } catch (error) {
      if (!(error instanceof TokenctlError) || OF_THE_LOG.has(error.code)) throw error;
      if (endsRun(error)) work.stop(error);
      const result = isRefusal(error) ? 'refused' : 'unknown';
      report = { step: name, result: 'failed', message: `${title}: ${error.message}.` };
      await work.journal.outcome(intent, { step: name, ...common, result, reason: error.message });
    }
  });
  return report;
}
