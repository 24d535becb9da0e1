import { errorNamingContext, resultNamingContext } from '../../app/named-context.ts';
import type { Progress, ProgressView, Runtime, ShowProgress } from '../../app/runtime.ts';
import { contextOf } from '../../config/contexts.ts';
import { readSecret } from '../../config/secrets.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { Secret } from '../../domain/secret.ts';
import type { Target } from '../../operations/ports/target.ts';
import { documentText, lines } from '../../reports/document.ts';
import { type Report, type Result, report } from '../../reports/result.ts';
import type { Screen } from '../../reports/tables/text.ts';
import type { Confirmation } from '../change/confirmation.ts';
import { writeNotice } from '../output/streams.ts';
import {
  type ContextOutcome,
  changeToJson,
  contextHeading,
  credentialText,
  type MultiContextOutcome,
  multiContextFailure,
  outcomeTable,
  problemOf,
  problemPart,
  reportOf,
  type SeveralContextsJson,
  totalOf,
} from './context-outcomes.ts';
import { JointConfirmation } from './joint-confirmation.ts';
import { multiContextListing, multiContextStream } from './joint-output.ts';

/** The part of a command that runs in one context. */
export interface ContextRun<Asking extends Confirmation | null> {
  readonly runtime: Runtime;
  /** Null for a command that changes nothing. */
  readonly confirmation: Asking;
  /** The context's name; empty if no context is selected. */
  readonly context: string;
  /** All contexts in which the command runs. */
  readonly contexts: readonly string[];
  /** Whether there are others. */
  readonly several: boolean;
}

/** A command that runs in several contexts. */
export interface MultiContextRequest<Asking extends Confirmation | null> {
  readonly runtime: Runtime;
  readonly contexts: readonly string[];
  readonly confirmation: Asking;
  /** The maximum number of tokens to revoke in all contexts together. */
  readonly atMost: number | undefined;
  /** Whether the credential in use may be revoked as well. */
  readonly includeOwn: boolean;
  readonly work: (member: ContextRun<Asking>) => Promise<Result>;
}

/**
 * Runs a command in several contexts at once, each with its own plan and outcome. A failure in one context does not
 * stop the others. One answer confirms all plans.
 *
 * @returns One result for all contexts; its failure names the contexts in which the command did not complete.
 * @throws TokenctlError `not_confirmed`, `interrupted` or `plan_too_large` if the plans were not confirmed; the common
 * error if no context has a result.
 */
export async function multiContextFlow<Asking extends Confirmation | null>(
  request: MultiContextRequest<Asking>,
): Promise<Result> {
  const { runtime, contexts, confirmation, atMost, includeOwn, work } = request;
  const progress = new MultiContextProgress(runtime.progress);
  const joint = confirmation === null ? null : new JointConfirmation({ contexts, confirmation, atMost });
  const credentials = confirmation === null ? null : new SharedCredentials(runtime, contexts);

  async function attempt(
    label: string,
    act: () => Promise<readonly ContextOutcome[]>,
  ): Promise<readonly ContextOutcome[]> {
    try {
      const outcomes = await act();
      joint?.ended(label);
      return outcomes;
    } catch (error) {
      joint?.ended(label, error);
      return [{ context: label, error: errorNamingContext(error, label) }];
    }
  }

  function workIn(
    place: Runtime,
    label: string,
    before: Promise<unknown> = Promise.resolve(),
  ): Promise<readonly ContextOutcome[]> {
    return attempt(label, async () => {
      const asking = (joint === null ? null : confirmAfter(before, joint.member(label))) as Asking;
      const result = await work({
        runtime: place,
        confirmation: asking,
        context: label,
        contexts,
        several: true,
      });
      return [{ context: label, result: resultNamingContext(result, label) }];
    });
  }

  function workInContext(context: string): Promise<readonly ContextOutcome[]> {
    return attempt(context, async () => {
      const place = runtime.in({ context, progress: progress.member(context) });
      await credentials?.find(context, place);
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
      // Revoking a gateway token also cuts off the controller behind it, so the gateway comes last with --include-own.
      const first =
        gateway && workIn(open(gateway), gateway.label, includeOwn ? Promise.all(others) : undefined);
      return (await Promise.all([first ?? [], ...others])).flat();
    });
  }

  const waiting = new WaitingNotice(contexts, confirmation !== null);
  const outcomes = (
    await Promise.all(
      contexts.map(async (context) => {
        const ended = await workInContext(context);
        waiting.ended(context, ended);
        return ended;
      }),
    )
  ).flat();
  waiting.stop();
  if (joint?.refusal !== undefined) throw joint.refusal;
  const error = commonError(outcomes);
  if (error !== undefined) throw error;
  return multiContextResult({
    outcomes: credentials === null ? outcomes : await credentials.explain(outcomes),
    changes: confirmation !== null,
  });
}

/** How long nothing ends before it is said which contexts the result still waits for. */
const NOTICE_AFTER_MS = 3_000;
const MOST_NAMED = 10;

/** Says on stderr what has ended and which contexts the result still waits for: one that is silent has a name at once. */
class WaitingNotice {
  readonly #open: Set<string>;
  readonly #failed: string[] = [];
  readonly #of: number;
  readonly #changes: boolean;
  #timer: NodeJS.Timeout | undefined;

  constructor(contexts: readonly string[], changes: boolean) {
    this.#open = new Set(contexts);
    this.#of = contexts.length;
    this.#changes = changes;
  }

  ended(context: string, outcomes: readonly ContextOutcome[]): void {
    this.#open.delete(context);
    if (outcomes.some((outcome) => problemOf(outcome) !== undefined)) this.#failed.push(context);
    this.stop();
    if (this.#open.size > 0) this.#timer = setTimeout(() => this.#show(), NOTICE_AFTER_MS).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #show(): void {
    const [open, failed] = [this.#open.size, this.#failed.length];
    // A list is read when it is printed: what has ended was opened, and may fail yet.
    const done = this.#changes ? `Done in ${this.#of - open - failed} of ${this.#of} contexts. ` : '';
    const notDone = failed === 0 ? '' : `Not completed: ${someOf(this.#failed)}. `;
    writeNotice(`${done}${notDone}Waiting for ${open} of ${this.#of} contexts: ${someOf([...this.#open])}`);
  }
}

/** The first names of a list, and how many more there are. */
function someOf(names: readonly string[]): string {
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '';
  return `${names.slice(0, MOST_NAMED).join(', ')}${more}`;
}

/** A token of a REST context that was valid in the database of another context, before the change. */
interface SharedToken {
  readonly token: Secret;
  readonly context: string;
  /** The context of the database, and the target to ask again. */
  readonly databaseContext: string;
  readonly target: Target;
}

/**
 * The tokens with which REST contexts of a change authenticate, as far as the database of another of its contexts has them:
 * a change of all tokens there revokes these as well, and what the REST context then cannot do is done.
 */
class SharedCredentials {
  readonly #tokens: readonly { readonly context: string; readonly token: Secret }[];
  readonly #shared: SharedToken[] = [];

  constructor({ configuration, environment }: Runtime, contexts: readonly string[]) {
    this.#tokens = contexts.flatMap((name) => {
      const context = contextOf(configuration, name);
      if (context.database !== undefined || context.token === undefined) return [];
      // What is wrong with a credential is said by the context itself.
      try {
        return [{ context: name, token: readSecret(context.token, environment) }];
      } catch {
        return [];
      }
    });
  }

  /** Before a change: which of the tokens the database of this context has. Nothing over REST, or without the right to read. */
  async find(databaseContext: string, place: Runtime): Promise<void> {
    if (this.#tokens.length === 0) return;
    if (contextOf(place.configuration, databaseContext).database === undefined) return;
    try {
      const target = await place.target();
      const values = this.#tokens.map(({ token }) => token);
      for await (const { index, live } of target.identify(values)) {
        const known = this.#tokens[index];
        if (live && known !== undefined) this.#shared.push({ ...known, databaseContext, target });
      }
    } catch (error) {
      if (!(error instanceof TokenctlError)) throw error;
    }
  }

  /** After a change: names the contexts whose token the change revoked through the database of another context. */
  async explain(outcomes: readonly ContextOutcome[]): Promise<readonly ContextOutcome[]> {
    const revokedBy = new Map<string, string>();
    for (const { context, databaseContext, target, token } of this.#shared) {
      if (await isRevoked(target, token)) revokedBy.set(context, databaseContext);
    }
    return outcomes.map((outcome) => {
      const by = revokedBy.get(outcome.context.split('/')[0] ?? '');
      return by === undefined ? outcome : { ...outcome, credentialRevokedBy: by };
    });
  }
}

/** Whether the database does not have a token any more; false if it could not be asked. */
async function isRevoked(target: Target, token: Secret): Promise<boolean> {
  try {
    for await (const { live } of target.identify([token])) if (live) return false;
    return true;
  } catch (error) {
    if (error instanceof TokenctlError) return false;
    throw error;
  }
}

/** Confirms as usual, then waits for `before` to settle. */
function confirmAfter(before: Promise<unknown>, confirmation: Confirmation): Confirmation {
  return {
    asks: confirmation.asks,
    async confirm(question) {
      await confirmation.confirm(question);
      await before;
    },
  };
}

/** The error that all contexts share, or a usage error in any of them; undefined if a context has a result. */
function commonError(outcomes: readonly ContextOutcome[]): unknown {
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

/** Joins the results of several contexts, as the same kind of result that the command returns in one context. */
function multiContextResult(run: MultiContextOutcome): Result {
  const { outcomes, changes } = run;
  if (outcomes.every(({ result }) => result === undefined)) {
    const errors = new Map(outcomes.map(({ context, error }) => [context, error]));
    throw multiContextFailure(errors, { contexts: [...errors.keys()], changes });
  }
  const kinds = new Set(run.outcomes.map(({ result }) => result?.kind));
  if (kinds.has('listing')) {
    return multiContextListing(run, ({ result }) => (result?.kind === 'listing' ? result : undefined));
  }
  return kinds.has('streamed') ? multiContextStream(run) : multiContextReport(run);
}

/**
 * Joins the reports of several contexts. The JSON has `contexts` and `total`. Each context has its name, its `state` (`done`
 * or an error code), `result` (what the command prints in one context) and, after a failure, `error`. One without the named
 * user or application is `not_found`, with a `message`.
 */
function multiContextReport(run: MultiContextOutcome): Report<SeveralContextsJson> {
  const { outcomes, changes } = run;
  const problems = new Map<string, unknown>();
  for (const outcome of outcomes) {
    const problem = problemOf(outcome);
    if (problem !== undefined) problems.set(outcome.context, problem);
  }
  const rows = outcomes.map((outcome) => reportOf(outcome)?.csv);
  return report({
    json: { contexts: outcomes.map(memberJson), total: totalOf(outcomes) },
    text: (screen) => jointText(run, screen),
    verbatim: outcomes.some((each) => reportOf(each)?.verbatim === true),
    ...(rows.some((csv) => csv !== undefined) && {
      csv: multiContextListing(run, (outcome) => reportOf(outcome)?.csv),
    }),
    failure: multiContextFailure(problems, { contexts: outcomes.map(({ context }) => context), changes }),
  });
}

function memberJson(outcome: ContextOutcome): SeveralContextsJson['contexts'][number] {
  return {
    context: outcome.context,
    result: reportOf(outcome)?.json,
    ...changeToJson(outcome),
  };
}

/** The reports under a heading each. After a change, the table of all contexts comes last, which also has the failures. */
async function jointText({ outcomes, changes }: MultiContextOutcome, screen: Screen): Promise<string> {
  const parts: string[] = [];
  for (const outcome of outcomes) {
    const text = await reportOf(outcome)?.text(screen);
    const heading = contextHeading(outcome.context);
    if (text !== undefined) parts.push(documentText([heading], screen.paint) + text);
    else if (!changes) parts.push(documentText([heading, problemPart(problemOf(outcome))], screen.paint));
  }
  if (changes) {
    const { tableLines } = await import('../../reports/tables/table.ts');
    let table = '';
    for await (const block of tableLines(outcomeTable(outcomes), screen)) table += block;
    parts.push(table + documentText([lines(outcomes.map(credentialText))], screen.paint));
  }
  return parts.join('\n');
}

/** Shows the progress in several contexts on one line: the sum of all contexts that have started. */
class MultiContextProgress {
  readonly #show: ShowProgress;
  readonly #latest = new Map<string, Progress>();
  #view: ProgressView | undefined;
  #open = 0;

  constructor(show: ShowProgress) {
    this.#show = show;
  }

  member(context: string): ShowProgress {
    return (verb) => {
      this.#open += 1;
      return {
        step: (progress) => {
          this.#view ??= this.#show(verb);
          this.#latest.set(context, progress);
          this.#view.step(sumOf([...this.#latest.values()]));
        },
        end: () => {
          this.#open -= 1;
          if (this.#open > 0) return;
          this.#view?.end();
          this.#view = undefined;
        },
      };
    };
  }
}

function sumOf(all: readonly Progress[]): Progress {
  const sum = (of: (progress: Progress) => number) => all.reduce((total, each) => total + of(each), 0);
  return {
    done: sum(({ done }) => done),
    total: sum(({ total }) => total),
    failed: sum(({ failed }) => failed),
  };
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
