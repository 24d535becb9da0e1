import { TokenctlError } from '../../core/errors.ts';
import type { Runtime } from '../../runtime.ts';
import type { Consent } from '../consent.ts';
import type { Result } from '../output/result.ts';
import { FleetConsent } from './fleet-consent.ts';
import { FleetProgress } from './fleet-progress.ts';
import { fleetResult } from './fleet-result.ts';

/** What a command does in one context. */
export interface Member<Asking extends Consent | null> {
  readonly runtime: Runtime;
  /** Null for what changes nothing. */
  readonly consent: Asking;
  /** The context's name; empty where none is chosen. */
  readonly context: string;
  /** Whether it is done in other contexts as well. */
  readonly several: boolean;
}

/** What a command is to do in several contexts. */
export interface FleetRequest<Asking extends Consent | null> {
  readonly runtime: Runtime;
  readonly contexts: readonly string[];
  readonly consent: Asking;
  /** The most tokens that may be revoked in all contexts together. */
  readonly atMost: number | undefined;
  readonly work: (member: Member<Asking>) => Promise<Result>;
}

/** What came of the work in one context. */
export interface MemberOutcome {
  readonly context: string;
  /** Absent where there is none, because of the error. */
  readonly result?: Result;
  readonly error?: unknown;
}

/** What came of it in all contexts. */
export interface FleetOutcome {
  readonly outcomes: readonly MemberOutcome[];
  /** Whether something was to be changed. */
  readonly changes: boolean;
}

/**
 * Does the same in several contexts at once, each with its own plan and outcome: one that fails does not hold up
 * the others. What needs an answer gets one for all.
 *
 * @returns One result of all outcomes; its failure says in which contexts it is not done.
 * @throws TokenctlError `not_confirmed`, `interrupted`, `plan_too_large` where the answer was no; and what all
 * contexts failed with, where that is the same.
 */
export async function fleetFlow<Asking extends Consent | null>(
  request: FleetRequest<Asking>,
): Promise<Result> {
  const { runtime, contexts, consent, atMost, work } = request;
  const progress = new FleetProgress(runtime.progress);
  const joint = consent === null ? null : new FleetConsent({ contexts, consent, atMost });

  /** The outcome in one place; what goes wrong there is part of it. */
  async function attempt(
    label: string,
    act: () => Promise<readonly MemberOutcome[]>,
  ): Promise<readonly MemberOutcome[]> {
    try {
      const outcomes = await act();
      joint?.ended(label);
      return outcomes;
    } catch (error) {
      joint?.ended(label, error);
      return [{ context: label, error }];
    }
  }

  function workIn(place: Runtime, label: string): Promise<readonly MemberOutcome[]> {
    return attempt(label, async () => {
      const asking = (joint?.member(label) ?? null) as Asking;
      const result = await work({ runtime: place, consent: asking, context: label, several: true });
      return [{ context: label, result }];
    });
  }

  function workInContext(context: string): Promise<readonly MemberOutcome[]> {
    return attempt(context, async () => {
      const place = runtime.in({ context, progress: progress.member(context) });
      const components = await place.components();
      if (components.length < 2) return await workIn(place, context);
      const parts = components.map((component) => ({ component, label: `${context}/${component}` }));
      joint?.split(
        context,
        parts.map(({ label }) => label),
      );
      const outcomes = await Promise.all(
        parts.map(({ component, label }) =>
          workIn(runtime.in({ context, component, label, progress: progress.member(label) }), label),
        ),
      );
      return outcomes.flat();
    });
  }

  const outcomes = (await Promise.all(contexts.map(workInContext))).flat();
  if (joint?.refusal !== undefined) throw joint.refusal;
  const common = commonError(outcomes);
  if (common !== undefined) throw common;
  return fleetResult({ outcomes, changes: consent !== null });
}

/** What was wrong with the request itself: every context said the same. */
function commonError(outcomes: readonly MemberOutcome[]): unknown {
  const [first] = outcomes;
  if (!(first?.error instanceof TokenctlError)) return undefined;
  const { code, message } = first.error;
  const same = outcomes.every(
    ({ error }) => error instanceof TokenctlError && error.code === code && error.message === message,
  );
  return same ? first.error : undefined;
}
