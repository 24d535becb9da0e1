import { TokenctlError } from '@tokenctl/common/errors.ts';
import { lines, warning } from '../../reports/document.ts';
import { countText } from '../../reports/tables/text.ts';
import type { Asked } from '../change/change.ts';
import { contextHeading } from './context-outcomes.ts';

export interface AskedContext {
  readonly context: string;
  readonly asked: Asked;
}

/** A context that cannot be changed, and why. */
interface FailedContext {
  readonly context: string;
  readonly error: unknown;
}

/**
 * Joins the questions of several contexts, each under a heading. The answer to type is the total number of
 * tokens; without tokens, the answer that all questions share; otherwise the number of contexts.
 */
export function jointQuestion(all: readonly AskedContext[], failed: readonly FailedContext[] = []): Asked {
  const contexts = countText(all.length, 'context');
  const questions = all.map(({ asked }) => asked);
  const [first] = questions;
  const areTokens = questions.every(({ tokens }) => tokens !== undefined);
  const sameAct = !areTokens && first !== undefined && questions.every(({ act }) => act === first.act);
  return {
    plan: [
      ...all.flatMap(({ context, asked }) => [contextHeading(context), ...asked.plan]),
      ...failed.flatMap(({ context, error }) => [
        contextHeading(context),
        lines(warning`Skipped: ${whyText(error)}`),
      ]),
    ],
    act: `${sameAct ? first.act : 'apply all plans'} in ${contexts}`,
    type: typed(questions) ?? contexts,
  };
}

function whyText(error: unknown): string {
  return error instanceof TokenctlError ? error.message : 'the command failed';
}

function typed(questions: readonly Asked[]): string | undefined {
  const answers = questions.map(({ type }) => type);
  const [first] = answers;
  const areTokens = questions.every(({ tokens }) => tokens !== undefined);
  if (!areTokens && answers.every((answer) => answer === first)) return first;
  if (!answers.every((answer) => /^\d{1,15}$/.test(answer))) return undefined;
  return String(answers.reduce((total, answer) => total + Number(answer), 0));
}

/** Refuses plans that exceed the limit together or alone. Throws `plan_too_large`. */
export function requireAtMost(
  all: readonly AskedContext[],
  { atMost, failed }: { atMost: number | undefined; failed: readonly FailedContext[] },
): void {
  for (const { error } of failed)
    if (error instanceof TokenctlError && error.code === 'plan_too_large') throw error;
  const total = all.reduce((sum, { asked }) => sum + (asked.tokens ?? 0), 0);
  if (atMost === undefined || total <= atMost) return;
  throw new TokenctlError(
    'plan_too_large',
    `The plans of ${countText(all.length, 'context')} contain ${countText(total, 'token')}, more than --at-most ${atMost}. Nothing was changed`,
    { hint: 'Narrow the selection, or raise --at-most.' },
  );
}
