import { TokenctlError } from '@tokenctl/common/errors.ts';
import { errorNamingContext, resultNamingContext } from '../../app/named-context.ts';
import type { Runtime } from '../../app/runtime.ts';
import type { Result } from '../../reports/result.ts';
import { type Asked, isRefusal, type Step, type Waiting } from '../change/change.ts';
import type { Confirmation } from '../change/confirmation.ts';
import { writeNotice } from '../output/streams.ts';
import type { ContextOutcome } from './context-outcomes.ts';
import { type AskedContext, jointQuestion, requireAtMost } from './joint-question.ts';
import { multiContextResult } from './joint-result.ts';
import { MultiContextProgress, WaitingNotice } from './progress-of-all.ts';
import { SharedCredentials } from './shared-credentials.ts';

/** The part of a command that runs in one context. */
export interface ContextRun {
  readonly runtime: Runtime;
  /** The context's name; empty if no context is selected. */
  readonly context: string;
  /** All contexts in which the command runs. */
  readonly contexts: readonly string[];
  /** Whether there are others. */
  readonly several: boolean;
}

interface MultiContextRequest {
  readonly runtime: Runtime;
  readonly contexts: readonly string[];
  /** How a change is confirmed; null for a command that changes nothing. */
  readonly asking: Asking | null;
  /** The first step in a context, or the result of a read-only command. */
  readonly step: (member: ContextRun) => Promise<FirstStep>;
  readonly shown: (result: Result) => Result;
}

interface Asking {
  readonly confirmation: Pick<Confirmation, 'asks' | 'confirm'>;
  /** The maximum number of tokens to revoke in all contexts together. */
  readonly atMost: number | undefined;
  /** Whether the credential in use may be revoked as well. */
  readonly includeOwn: boolean;
}

type FirstStep = Step<unknown> | { readonly report: Result };

/** Where a part of a command runs. */
interface Place {
  readonly context: string;
  /** Whether it comes after the other components. */
  readonly isLast: boolean;
}

/** A command in a context or component: at one of its steps, or failed. */
interface Part extends Place {
  readonly step?: FirstStep | undefined;
  readonly error?: unknown;
}

interface Planning extends Place {
  readonly part: Promise<Part>;
}

/** The parts of a context, once its components are known. */
type Opening = Promise<readonly Planning[]>;

/**
 * Runs a command in several contexts at once. A change is planned in all of them, one question is asked about
 * all of the plans, and then it is made. A failure in one context does not stop the others.
 * @returns One result for all contexts; its failure names the contexts in which the command did not complete.
 * @throws TokenctlError `not_confirmed`, `interrupted` or `plan_too_large` if the plans were not confirmed;
 * the common error if no context has a result.
 */
export async function multiContextFlow(request: MultiContextRequest): Promise<Result> {
  const { runtime, contexts, asking, step, shown } = request;
  const changes = asking !== null;
  const credentials = changes ? new SharedCredentials(runtime, contexts) : null;
  const progress = new MultiContextProgress(runtime.progress);
  const waiting = new WaitingNotice(contexts, changes);
  const at = (place: Place, here: Runtime): Planning => ({
    ...place,
    part: stepIn(place, () => step({ runtime: here, context: place.context, contexts, several: true })),
  });
  const installations = new Map<string, Promise<string | null>>();
  const openings = contexts.map(async (context): Opening => {
    try {
      const whole = runtime.in({ context, progress: progress.member(context) });
      await credentials?.find(context, whole);
      const components = await whole.components();
      // Before the change, which may revoke the credential. A gateway counts other tokens than its
      // controller.
      const isController = components.length < 2;
      if (changes && isController) installations.set(context, installationOf(whole));
      if (isController) return [at({ context, isLast: false }, whole)];
      return components.map((component) => {
        const label = `${context}/${component}`;
        // Revoking a gateway token also cuts off the controller behind it.
        const isLast = asking?.includeOwn === true && component === 'gateway';
        const here = runtime.in({ context, component, label, progress: progress.member(label) });
        return at({ context: label, isLast }, here);
      });
    } catch (error) {
      const place = { context, isLast: false };
      return [{ ...place, part: stepIn(place, () => Promise.reject(error)) }];
    }
  });
  const ended = (place: number, parts: readonly Part[]) => {
    if (!parts.some(waits)) waiting.ended(contexts[place] ?? '', parts.map(outcomeOf));
    return parts;
  };
  const parts =
    asking !== null && (asking.confirmation.asks || asking.atMost !== undefined)
      ? await together(asking, { contexts, openings, ended })
      : await apart(asking, { contexts, openings, ended });
  waiting.stop();
  const outcomes = await Promise.all(
    parts.map(outcomeOf).map(async (outcome) =>
      // A context that did not respond to the change is not waited for.
      outcome.result === undefined
        ? outcome
        : {
            ...outcome,
            result: shown(outcome.result),
            installUuid: (await installations.get(outcome.context)) ?? null,
          },
    ),
  );
  return multiContextResult({ outcomes: (await credentials?.explain(outcomes)) ?? outcomes, changes });
}

async function installationOf(runtime: Runtime): Promise<string | null> {
  try {
    return (await runtime.description()).installUuid;
  } catch {
    // The command reports the error.
    return null;
  }
}

/** The parts of all contexts, and the callback when a context's parts have ended, by its position. */
interface Parts {
  readonly contexts: readonly string[];
  readonly openings: readonly Opening[];
  readonly ended: (place: number, parts: readonly Part[]) => readonly Part[];
}

/**
 * Asks about all plans once each context has one, has nothing to do, or has failed; then continues in all.
 * Further questions of the contexts are asked together again.
 */
async function together({ confirmation, atMost }: Asking, { ended, ...parts }: Parts) {
  let all = await allPlanned({ ended, ...parts });
  for (let round = 0; ; round += 1) {
    const asked = all.flat().flatMap((part) => askedOf(part));
    const failed = all
      .flat()
      .flatMap(({ context, error }) => (error === undefined ? [] : [{ context, error }]));
    if (asked.length === 0) return all.flat();
    try {
      requireAtMost(asked, { atMost, failed });
      await confirmation.confirm(jointQuestion(asked, failed));
    } catch (error) {
      if (round === 0) throw error;
      return await Promise.all(all.flat().map((part) => refused(part, error)));
    }
    all = await Promise.all(all.map(async (parts, place) => ended(place, await inTurn(parts, goOn))));
  }
}

/** If no one is asked, no context waits: an unreachable one does not delay a lockdown. Plans are in order. */
async function apart(asking: Asking | null, { openings, ended }: Parts): Promise<readonly Part[]> {
  const show = async (context: string, asked: Asked) =>
    await asking?.confirmation.confirm(jointQuestion([{ context, asked }]));
  const showAll = async () => {
    for (const opening of openings) {
      for (const { part } of await opening) {
        for (const { context, asked } of askedOf(await part)) await show(context, asked);
      }
    }
  };
  const all = openings.map(async (opening, place) => {
    const parts = await inTurn(await opening, async (planning) => {
      let part = await goOn(await planning.part);
      // A second question comes after the first change, and its plan after all plans shown before.
      while (waits(part)) {
        const { step } = part;
        part = await stepIn(part, async () => {
          await show(planning.context, step.asked);
          return await step.goOn();
        });
      }
      return part;
    });
    return ended(place, parts);
  });
  // Work in progress is awaited, even if a plan cannot be shown.
  const showing = Promise.allSettled([showAll()]);
  const parts = (await Promise.all(all)).flat();
  const [shown] = await showing;
  if (shown.status === 'rejected') throw shown.reason;
  return parts;
}

/** When to name the contexts whose plans are missing. */
const NOTICE_AFTER_MS = 2_000;

/** The parts of each context, once all are planned. After the first plan, names the contexts it waits for. */
async function allPlanned({ contexts, openings, ended }: Parts): Promise<readonly (readonly Part[])[]> {
  const missing = new Set(contexts);
  let timer: NodeJS.Timeout | undefined;
  const tell = () => writeNotice(`Waiting for the plans of: ${[...missing].join(', ')}`);
  const planned = await Promise.all(
    openings.map(async (opening, place) => {
      const plannings = await opening;
      missing.delete(contexts[place] ?? '');
      for (const { context } of plannings) missing.add(context);
      const parts = plannings.map(async (planning) => {
        const part = await planning.part;
        missing.delete(planning.context);
        if (waits(part)) timer ??= setTimeout(tell, NOTICE_AFTER_MS).unref();
        return part;
      });
      return ended(place, await Promise.all(parts));
    }),
  );
  clearTimeout(timer);
  return planned;
}

/** Works on all concurrently, and on the last one after the others. */
async function inTurn<Item extends { readonly isLast: boolean }>(
  items: readonly Item[],
  work: (item: Item) => Promise<Part>,
): Promise<readonly Part[]> {
  const others = Promise.all(items.map((item) => (item.isLast ? undefined : work(item))));
  return await Promise.all(items.map(async (item, place) => (await others)[place] ?? (await work(item))));
}

function waits(part: Part): part is Part & { readonly step: Waiting<unknown> } {
  return part.step !== undefined && 'asked' in part.step;
}

function askedOf(part: Part): readonly AskedContext[] {
  return waits(part) ? [{ context: part.context, asked: part.step.asked }] : [];
}

/** The next step of a waiting part; any other part unchanged. */
async function goOn(part: Part): Promise<Part> {
  return waits(part) ? await stepIn(part, part.step.goOn) : part;
}

/** A waiting part that was not confirmed: its earlier changes remain. */
async function refused(part: Part, error: unknown): Promise<Part> {
  if (!waits(part)) return part;
  const { without } = part.step;
  return await stepIn(part, async () => {
    if (without === undefined || !isRefusal(error)) throw error;
    return await without(error);
  });
}

async function stepIn({ context, isLast }: Place, step: () => Promise<FirstStep>): Promise<Part> {
  try {
    return { context, isLast, step: await step() };
  } catch (error) {
    return { context, isLast, error: errorNamingContext(error, context) };
  }
}

function outcomeOf({ context, step, error }: Part): ContextOutcome {
  if (step === undefined || 'asked' in step) return { context, error };
  return { context, result: resultNamingContext(step.report, context) };
}

/**
 * Rejects the id of `flag` if a command runs in several contexts, or components of a platform: the same id is
 * a different token in each. Throws `usage`.
 */
export function requireOneContext(
  { several, context }: { several: boolean; context: string },
  flag: string,
): void {
  if (!several) return;
  throw new TokenctlError('usage', `${flag} works in one context only because each context has its own IDs`, {
    hint: context.includes('/')
      ? 'Add a context for one component: `tokenctl context add NAME --component controller`.'
      : 'Select one context with --context.',
  });
}
