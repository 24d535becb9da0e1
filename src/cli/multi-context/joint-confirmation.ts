import { TokenctlError } from '../../domain/errors.ts';
import { lines, warning } from '../../reports/document.ts';
import { countText } from '../../reports/tables/text.ts';
import type { Confirmation, Question } from '../change/confirmation.ts';
import { writeNotice } from '../output/streams.ts';
import { contextHeading } from './context-outcomes.ts';

interface JointConfirmationOptions {
  readonly contexts: readonly string[];
  readonly confirmation: Confirmation;
  /** The maximum number of tokens to revoke in all contexts together. */
  readonly atMost: number | undefined;
}

/** When to name the contexts whose plans are missing. */
const NOTICE_AFTER_MS = 2_000;

/** A context whose plan is not yet confirmed. */
interface Waiting {
  readonly context: string;
  readonly question: Question;
  readonly agreed: () => void;
  readonly refused: (error: unknown) => void;
}

/**
 * One confirmation for several contexts. It asks as soon as each context has a plan, has nothing to do or has failed, and
 * the answer counts for all. With --yes no context waits for the others, so an unreachable one does not delay a lockdown.
 */
export class JointConfirmation {
  readonly #options: JointConfirmationOptions;
  /** The contexts that the next question waits for. */
  readonly #undecided: Set<string>;
  #waiting: Waiting[] = [];
  readonly #failed = new Map<string, string>();
  #tooLarge: unknown;
  /** With --yes: the plans that were not shown yet. */
  readonly #plans = new Map<string, Question>();
  #noticeTimer: NodeJS.Timeout | undefined;
  #rounds = 0;
  /** The contexts and components in display order. */
  readonly #order: string[];
  #refusal: unknown;

  constructor(options: JointConfirmationOptions) {
    this.#options = options;
    this.#undecided = new Set(options.contexts);
    this.#order = [...options.contexts];
  }

  /** Why the first question was not confirmed, so that nothing was changed; undefined otherwise. */
  get refusal(): unknown {
    return this.#refusal;
  }

  member(context: string): Confirmation {
    const { confirmation, atMost } = this.#options;
    if (!confirmation.asks && atMost === undefined) {
      return {
        asks: false,
        confirm: async (question) => {
          this.#plans.set(context, question);
          await this.#showPlans();
        },
      };
    }
    return {
      asks: confirmation.asks,
      confirm: (question) =>
        new Promise((agreed, refused) => {
          this.#waiting.push({ context, question, agreed, refused });
          this.#noticeTimer ??= setTimeout(() => this.#showWaiting(), NOTICE_AFTER_MS).unref();
          this.#decided(context);
        }),
    };
  }

  /** With --yes: shows the plans in the order of the contexts, each as soon as those before it are shown or have ended. */
  async #showPlans(): Promise<void> {
    for (const context of this.#order) {
      const question = this.#plans.get(context);
      if (question !== undefined) {
        this.#plans.delete(context);
        this.#undecided.delete(context);
        await this.#options.confirmation.confirm(jointQuestion([{ context, question }]));
      } else if (this.#undecided.has(context)) return;
    }
  }

  /** Replaces a context by its components, each with its own plan. */
  split(context: string, parts: readonly string[]): void {
    if (!this.#undecided.delete(context)) return;
    this.#order.splice(this.#order.indexOf(context), 1, ...parts);
    for (const part of parts) this.#undecided.add(part);
  }

  /** Records that a context has ended, with or without an error. */
  ended(context: string, error?: unknown): void {
    if (this.#undecided.has(context) && error !== undefined) {
      this.#failed.set(context, error instanceof TokenctlError ? error.message : 'the command failed');
      // A plan that is too large for one context is too large for all together.
      if (error instanceof TokenctlError && error.code === 'plan_too_large') this.#tooLarge = error;
    }
    this.#decided(context);
  }

  #showWaiting(): void {
    if (this.#undecided.size > 0) writeNotice(`Waiting for the plans of: ${[...this.#undecided].join(', ')}`);
  }

  #decided(context: string): void {
    if (!this.#undecided.delete(context)) return;
    if (this.#plans.size > 0) void this.#showPlans();
    if (this.#undecided.size === 0) void this.#ask();
  }

  /** Asks about all pending plans. A context may ask again later; then all are collected again. */
  async #ask(): Promise<void> {
    clearTimeout(this.#noticeTimer);
    this.#noticeTimer = undefined;
    if (this.#waiting.length === 0) return;
    const { confirmation, atMost } = this.#options;
    const order = (a: Waiting, b: Waiting) => this.#order.indexOf(a.context) - this.#order.indexOf(b.context);
    const waiting = this.#waiting.sort(order);
    this.#waiting = [];
    for (const { context } of waiting) this.#undecided.add(context);
    try {
      if (this.#tooLarge !== undefined) throw this.#tooLarge;
      requireAtMost(waiting, atMost);
      const failed = this.#order.flatMap((context) => {
        const why = this.#failed.get(context);
        return why === undefined ? [] : [{ context, why }];
      });
      await confirmation.confirm(jointQuestion(waiting, failed));
      this.#rounds += 1;
      for (const { agreed } of waiting) agreed();
    } catch (error) {
      if (this.#rounds === 0) this.#refusal = error;
      for (const { refused } of waiting) refused(error);
    }
  }
}

function requireAtMost(waiting: readonly Waiting[], atMost: number | undefined): void {
  const total = waiting.reduce((sum, { question }) => sum + (question.tokens ?? 0), 0);
  if (atMost === undefined || total <= atMost) return;
  throw new TokenctlError(
    'plan_too_large',
    `The plans of ${countText(waiting.length, 'context')} contain ${countText(total, 'token')}, more than --at-most ${atMost}. Nothing was changed`,
    { hint: 'Narrow the selection, or raise --at-most.' },
  );
}

interface Asked {
  readonly context: string;
  readonly question: Question;
}

/**
 * Joins the questions of several contexts, each under a heading. The answer to type is the total number of tokens; without
 * tokens, the answer that all questions share; otherwise the number of contexts.
 *
 * @param failed Contexts that cannot be changed, with the reason.
 */
function jointQuestion(
  asked: readonly Asked[],
  failed: readonly { readonly context: string; readonly why: string }[] = [],
): Question {
  const contexts = countText(asked.length, 'context');
  const questions = asked.map(({ question }) => question);
  const [first] = questions;
  const areTokens = questions.every(({ tokens }) => tokens !== undefined);
  const sameAct = !areTokens && first !== undefined && questions.every(({ act }) => act === first.act);
  return {
    plan: [
      ...asked.flatMap(({ context, question }) => [contextHeading(context), ...question.plan]),
      ...failed.flatMap(({ context, why }) => [contextHeading(context), lines(warning`Skipped: ${why}`)]),
    ],
    act: `${sameAct ? first.act : 'do all of this'} in ${contexts}`,
    type: typed(questions) ?? contexts,
  };
}

function typed(questions: readonly Question[]): string | undefined {
  const answers = questions.map(({ type }) => type);
  const [first] = answers;
  const areTokens = questions.every(({ tokens }) => tokens !== undefined);
  if (!areTokens && answers.every((answer) => answer === first)) return first;
  if (!answers.every((answer) => /^\d{1,15}$/.test(answer))) return undefined;
  return String(answers.reduce((total, answer) => total + Number(answer), 0));
}
