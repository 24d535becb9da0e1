import { countText } from '../../reports/counts.ts';
import { printable } from '../../reports/printable.ts';
import type { Question } from '../consent.ts';
import { contextHeading } from './context-heading.ts';

/** A context and what would be done there. */
interface Asked {
  readonly context: string;
  readonly question: Question;
}

/**
 * One question for the plans of several contexts, each under its name. What is to be typed is the sum where tokens
 * are counted, the same as for one where that is the same for all, and otherwise how many contexts there are.
 *
 * @param failed Contexts in which nothing will be done, with why.
 */
export function jointQuestion(
  asked: readonly Asked[],
  failed: readonly { readonly context: string; readonly why: string }[] = [],
): Question {
  const plans = asked.map(({ context, question }) => `${contextHeading(context)}${question.plan}`);
  const missing = failed.map(
    ({ context, why }) => `${contextHeading(context)}Nothing can be done here: ${printable.value(why)}\n`,
  );
  const contexts = countText(asked.length, 'context');
  const questions = asked.map(({ question }) => question);
  const [first] = questions;
  const areTokens = questions.every(({ tokens }) => tokens !== undefined);
  const sameAct = !areTokens && first !== undefined && questions.every(({ act }) => act === first.act);
  return {
    plan: [...plans, ...missing].join('\n'),
    act: `${sameAct ? first.act : 'do all this'} in ${contexts}`,
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
