import { errorNamingContext, resultNamingContext } from '../../app/named-context.ts';
import type { Runtime } from '../../app/runtime.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { Result } from '../../reports/result.ts';
import { firstStep, isRefusal, type Planned, type Step, type Waiting } from '../change/change.ts';
import type { Confirmation } from '../change/confirmation.ts';
import type { PlanFlags } from '../flags.ts';
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

/** Several contexts, and the run that they share. */
interface Several {
  readonly runtime: Runtime;
  readonly contexts: readonly string[];
}

/** A context, or a component of one. */
interface Member extends ContextRun {
  /** Whether it comes after the other components: revoking a gateway token also cuts off the controller behind it. */
  readonly isGateway: boolean;
}

/**
 * Runs a command that changes nothing in several contexts at once. A failure in one context does not stop the others.
 *
 * @returns One result for all contexts; its failure names the contexts in which the command did not complete.
 * @throws TokenctlError The common error if no context has a result.
 */
export async function multiContextFlow({
  work,
  ...several
}: Several & { readonly work: (member: ContextRun) => Promise<Result> }): Promise<Result> {
  const open = opening(several, null);
  const waiting = new WaitingNotice(several.contexts, false);
  const outcomes = await inAll(several.contexts, async (context) => {
    const ended = await inAll(await attempt(context, () => open(context)), async (member) => {
      if (!('runtime' in member)) return [member];
      return await attempt(member.context, async () => [
        { context: member.context, result: resultNamingContext(await work(member), member.context) },
      ]);
    });
    waiting.ended(context, ended);
    return ended;
  });
  waiting.stop();
  return multiContextResult({ outcomes, changes: false });
}

/** A change in several contexts. */
interface MultiContextChange extends Several {
  readonly flags: PlanFlags;
  /** The maximum number of tokens to revoke in all contexts together. */
  readonly atMost: number | undefined;
  /** Whether the credential in use may be revoked as well. */
  readonly includeOwn: boolean;
  readonly confirmation: Pick<Confirmation, 'asks' | 'confirm'>;
  readonly plan: (member: ContextRun) => Promise<Planned<unknown>>;
}

/** Where a part of a change is made. */
interface Place {
  readonly context: string;
  /** Whether it comes after the other components. */
  readonly isLast: boolean;
}

/** A change in one context, or in a component: at a step of it, or failed. */
interface Part extends Place {
  readonly step?: Step<unknown> | undefined;
  readonly error?: unknown;
}

/** A part that is being planned. */
interface Planning extends Place {
  readonly part: Promise<Part>;
}

/** The parts of a context, once it is known whether it has components. */
type Opening = Promise<readonly Planning[]>;

/**
 * Plans a change in several contexts at once, asks one question about all of the plans, and makes the change in all of them. A failure in
 * one context does not stop the others.
 *
 * @returns As {@link multiContextFlow}.
 * @throws TokenctlError `not_confirmed`, `interrupted` or `plan_too_large` if the plans were not confirmed; the common
 * error if no context has a result.
 */
export async function multiContextChange(request: MultiContextChange): Promise<Result> {
  const { runtime, contexts, flags, includeOwn, confirmation, atMost, plan } = request;
  const credentials = new SharedCredentials(runtime, contexts);
  const open = opening(request, credentials);
  const waiting = new WaitingNotice(contexts, true);
  const openings = contexts.map(async (context): Opening => {
    const members = await attempt(context, () => open(context));
    return members.map((member) => {
      if (!('runtime' in member))
        return { isLast: false, ...member, part: Promise.resolve({ isLast: false, ...member }) };
      const { context: label, isGateway, runtime: here } = member;
      const place = { context: label, isLast: includeOwn && isGateway };
      const part = stepIn(place, async () => firstStep({ runtime: here, flags }, await plan(member)));
      return { ...place, part };
    });
  });
  const ended = (place: number, parts: readonly Part[]) => {
    if (!parts.some(waits)) waiting.ended(contexts[place] ?? '', parts.map(outcomeOf));
    return parts;
  };
  const parts =
    confirmation.asks || atMost !== undefined
      ? await together(request, { openings, ended })
      : await apart(request, { openings, ended });
  waiting.stop();
  const outcomes = parts.map(outcomeOf);
  return multiContextResult({ outcomes: await credentials.explain(outcomes), changes: true });
}

/** The parts of all contexts, and what is told when those of one have ended: by the place of the context. */
interface Parts {
  readonly openings: readonly Opening[];
  readonly ended: (place: number, parts: readonly Part[]) => readonly Part[];
}

/**
 * Asks about all plans once each context has one, has nothing to do, or has failed; then goes on in all. What a context asks after that
 * is asked together again.
 */
async function together(
  { contexts, confirmation, atMost }: MultiContextChange,
  { openings, ended }: Parts,
): Promise<readonly Part[]> {
  let all = await allPlanned(contexts, { openings, ended });
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

/** Where nobody is asked, no context waits for the others: an unreachable one does not delay a lockdown. The plans are shown in order. */
async function apart(
  { confirmation }: MultiContextChange,
  { openings, ended }: Parts,
): Promise<readonly Part[]> {
  const showAll = async () => {
    for (const opening of openings) {
      for (const { part } of await opening) {
        const asked = askedOf(await part);
        if (asked.length > 0) await confirmation.confirm(jointQuestion(asked));
      }
    }
  };
  const all = openings.map(async (opening, place) => {
    const parts = await inTurn(await opening, async (planning) => {
      let part = await goOn(await planning.part);
      // A second question comes after the first act, and its plan after all that were shown.
      while (waits(part)) {
        const { step } = part;
        part = await stepIn(part, async () => {
          await confirmation.confirm(jointQuestion([{ context: planning.context, asked: step.asked }]));
          return await step.goOn();
        });
      }
      return part;
    });
    return ended(place, parts);
  });
  // What is under way is waited for, also where a plan cannot be shown.
  const showing = Promise.allSettled([showAll()]);
  const parts = await inAll(all, (each) => each);
  const [shown] = await showing;
  if (shown.status === 'rejected') throw shown.reason;
  return parts;
}

/** When to name the contexts whose plans are missing. */
const NOTICE_AFTER_MS = 2_000;

/** The parts of each context, once all are planned. Who is waited for is said once the first plan is there. */
async function allPlanned(
  contexts: readonly string[],
  { openings, ended }: Parts,
): Promise<readonly (readonly Part[])[]> {
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

/** Works on all at once, and on the last one after the others. */
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

/** The next step of a part that waits; any other part as it is. */
async function goOn(part: Part): Promise<Part> {
  return waits(part) ? await stepIn(part, part.step.goOn) : part;
}

/** A part that waited and was not confirmed: what was done in it before stands. */
async function refused(part: Part, error: unknown): Promise<Part> {
  if (!waits(part)) return part;
  const { without } = part.step;
  return await stepIn(part, async () => {
    if (without === undefined || !isRefusal(error)) throw error;
    return await without(error);
  });
}

async function stepIn({ context, isLast }: Place, step: () => Promise<Step<unknown>>): Promise<Part> {
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

/** What opens a context: its components, or itself. */
function opening({ runtime, contexts }: Several, credentials: SharedCredentials | null) {
  const progress = new MultiContextProgress(runtime.progress);
  return async (context: string): Promise<readonly Member[]> => {
    const place = runtime.in({ context, progress: progress.member(context) });
    await credentials?.find(context, place);
    const components = await place.components();
    const common = { contexts, several: true };
    if (components.length < 2) return [{ ...common, runtime: place, context, isGateway: false }];
    return components.map((component) => {
      const label = `${context}/${component}`;
      const part = runtime.in({ context, component, label, progress: progress.member(label) });
      return { ...common, runtime: part, context: label, isGateway: component === 'gateway' };
    });
  };
}

/** What was made, or one outcome with why it was not. */
async function attempt<Made>(
  context: string,
  make: () => Promise<readonly Made[]>,
): Promise<readonly (Made | Pick<ContextOutcome, 'context' | 'error'>)[]> {
  try {
    return await make();
  } catch (error) {
    return [{ context, error: errorNamingContext(error, context) }];
  }
}

/** Works on all at once. */
async function inAll<Item, Made>(
  items: readonly Item[],
  work: (item: Item) => Promise<readonly Made[]>,
): Promise<readonly Made[]> {
  return (await Promise.all(items.map(work))).flat();
}

/**
 * Rejects an id when a command runs in several contexts: the same id is a different token in each of them.
 *
 * @param flag The flag that takes the id.
 * @throws TokenctlError `usage` with several contexts, or several components of a platform.
 */
export function requireOneContext(
  { several, context }: { readonly several: boolean; readonly context: string },
  flag: string,
): void {
  if (!several) return;
  throw new TokenctlError('usage', `${flag} works in one context only: each context has its own ids`, {
    hint: context.includes('/')
      ? 'Add a context for one component: `tokenctl context add NAME --component controller`.'
      : 'Select one context with --context.',
  });
}
