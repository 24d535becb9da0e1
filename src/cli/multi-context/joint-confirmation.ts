import { TokenctlError } from '../../domain/errors.ts';
import { countText } from '../../reports/counts.ts';
import type { Consent, Question } from '../consent.ts';
import { writeNotice } from '../output/streams.ts';
import { jointQuestion } from './joint-question.ts';

/** What one answer for several contexts is made from. */
interface FleetConsentOptions {
  readonly contexts: readonly string[];
  /** Asks, or was agreed to beforehand. */
  readonly consent: Consent;
  /** The most tokens that may be revoked in all contexts together. */
  readonly atMost: number | undefined;
}

/** After so many milliseconds it is said what is waited for. */
const PATIENCE = 2_000;

/** A context whose plan waits for the answer. */
interface Waiting {
  readonly context: string;
  readonly question: Question;
  readonly agreed: () => void;
  readonly refused: (error: unknown) => void;
}

/**
 * One answer for several contexts: it is asked for once each of them has its plan, has nothing to do, or has
 * failed, and then holds for all. What was agreed to beforehand waits for nothing: a context that cannot be
 * reached does not keep the doors of the others open.
 */
export class FleetConsent {
  readonly #options: FleetConsentOptions;
  /** The contexts that the next question waits for. */
  readonly #undecided: Set<string>;
  #waiting: Waiting[] = [];
  readonly #failed = new Map<string, string>();
  #tooLarge: unknown;
  #patience: NodeJS.Timeout | undefined;
  #rounds = 0;
  /** The contexts and parts of contexts, in the order in which they are shown. */
  readonly #order: string[];
  #refusal: unknown;

  constructor(options: FleetConsentOptions) {
    this.#options = options;
    this.#undecided = new Set(options.contexts);
    this.#order = [...options.contexts];
  }

  /** Why the first answer was no: nothing was done anywhere. Undefined where it was yes, or was not asked for. */
  get refusal(): unknown {
    return this.#refusal;
  }

  /** The consent that the work in one context asks for. */
  member(context: string): Consent {
    const { consent, atMost } = this.#options;
    if (!consent.asks && atMost === undefined) {
      return { asks: false, confirm: (question) => consent.confirm(jointQuestion([{ context, question }])) };
    }
    return {
      asks: consent.asks,
      confirm: (question) =>
        new Promise((agreed, refused) => {
          this.#waiting.push({ context, question, agreed, refused });
          this.#patience ??= setTimeout(() => this.#tellOfWaiting(), PATIENCE).unref();
          this.#decided(context);
        }),
    };
  }

  /** Tells that the work in a context is done in parts of it, each with a plan of its own. */
  split(context: string, parts: readonly string[]): void {
    if (!this.#undecided.delete(context)) return;
    this.#order.splice(this.#order.indexOf(context), 1, ...parts);
    for (const part of parts) this.#undecided.add(part);
  }

  /** Tells that the work in a context ended, with an error or without. */
  ended(context: string, error?: unknown): void {
    if (this.#undecided.has(context) && error !== undefined) {
      this.#failed.set(context, error instanceof TokenctlError ? error.message : 'it failed');
      // What is too large for one is too large for all together.
      if (error instanceof TokenctlError && error.code === 'plan_too_large') this.#tooLarge = error;
    }
    this.#decided(context);
  }

  #tellOfWaiting(): void {
    if (this.#undecided.size > 0) writeNotice(`Waiting for the plans of: ${[...this.#undecided].join(', ')}`);
  }

  #decided(context: string): void {
    if (this.#undecided.delete(context) && this.#undecided.size === 0) void this.#ask();
  }

  /** Asks for all that wait. Whoever is agreed with may come with another question, for which all are waited for anew. */
  async #ask(): Promise<void> {
    clearTimeout(this.#patience);
    this.#patience = undefined;
    if (this.#waiting.length === 0) return;
    const { consent, atMost } = this.#options;
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
      await consent.confirm(jointQuestion(waiting, failed));
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
    `The plans of ${countText(waiting.length, 'context')} have ${countText(total, 'token')} together, more than --at-most ${atMost}: nothing was changed`,
    { hint: 'Select fewer, or raise --at-most.' },
  );
}
