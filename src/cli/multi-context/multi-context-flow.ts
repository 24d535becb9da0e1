import type { Runtime } from '../../app/runtime.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { Result } from '../../reports/result.ts';
import type { Consent } from '../consent.ts';
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
  /** Whether the credential that is used may be revoked as well. */
  readonly includeOwn: boolean;
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
 * @throws TokenctlError `not_confirmed`, `interrupted`, `plan_too_large` where the answer was no; and what was wrong
 * where no context has a result.
 */
export async function fleetFlow<Asking extends Consent | null>(
  request: FleetRequest<Asking>,
): Promise<Result> {
  const { runtime, contexts, consent, atMost, includeOwn, work } = request;
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

  function workIn(
    place: Runtime,
    label: string,
    before: Promise<unknown> = Promise.resolve(),
  ): Promise<readonly MemberOutcome[]> {
    return attempt(label, async () => {
      const asking = (joint === null ? null : actingAfter(before, joint.member(label))) as Asking;
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
      const open = ({ component, label }: (typeof parts)[number]) =>
        runtime.in({ context, component, label, progress: progress.member(label) });
      const [gateway, ...behind] = parts;
      const others = behind.map((part) => workIn(open(part), part.label));
      // Whoever comes with a token of the gateway comes to nothing behind it once that is revoked.
      const first =
        gateway && workIn(open(gateway), gateway.label, includeOwn ? Promise.all(others) : undefined);
      return (await Promise.all([first ?? [], ...others])).flat();
    });
  }

  const outcomes = (await Promise.all(contexts.map(workInContext))).flat();
  if (joint?.refusal !== undefined) throw joint.refusal;
  const mistake = mistakeIn(outcomes);
  if (mistake !== undefined) throw mistake;
  return fleetResult({ outcomes, changes: consent !== null });
}

/** Consent as given, of which use is made once something else is over. */
function actingAfter(before: Promise<unknown>, consent: Consent): Consent {
  return {
    asks: consent.asks,
    async confirm(question) {
      await consent.confirm(question);
      await before;
    },
  };
}

/** What was wrong with the request itself, of whichever contexts it was found: none has a result. */
function mistakeIn(outcomes: readonly MemberOutcome[]): unknown {
  if (outcomes.some(({ result }) => result !== undefined)) return undefined;
  const errors = outcomes.map(({ error }) => error);
  const usage = errors.find((error) => error instanceof TokenctlError && error.code === 'usage');
  if (usage !== undefined) return usage;
  const [first] = errors;
  const same = errors.every(
    (error) =>
      error instanceof TokenctlError &&
      first instanceof TokenctlError &&
      error.code === first.code &&
      error.message === first.message,
  );
  return same ? first : undefined;
}
