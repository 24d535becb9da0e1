import { badRequest } from '../failure.ts';

const LONGEST = 1000;
/** PostgreSQL writes counted repetitions of a group out, one in another multiplied; 2,000 copies take some 0.3 s. */
const MOST_COPIES = 2000;
const BACK_REFERENCE = /(?<!\\)(?:\\\\)*\\[1-9]/;
const REPEATED_GROUP = /\)\{/;
const REPETITION = /\{(\d+)(?:,(\d*))?\}/g;

/**
 * Checks a regular expression of a filter. PostgreSQL matches in a time that grows with the text, except for
 * back references, which can take for ever, and repetitions that multiply: both are refused, since one
 * request must not hold the database from all others.
 *
 * @param name The query parameter, for messages.
 * @throws RequestFailure 400.
 */
export function checkRegularExpression(expression: string, name: string): string {
  if (expression.length > LONGEST) throw badRequest(`${name}: the expression is too long.`);
  try {
    new RegExp(expression);
  } catch {
    throw badRequest(`${name}: ${JSON.stringify(expression)} is not a regular expression.`);
  }
  if (BACK_REFERENCE.test(expression)) throw badRequest(`${name}: back references are not supported.`);
  if (REPEATED_GROUP.test(expression) && copies(expression) > MOST_COPIES) {
    throw badRequest(`${name}: the expression repeats too much.`);
  }
  return expression;
}

function copies(expression: string): number {
  const counts = [...expression.matchAll(REPETITION)].map(([, least, most]) => Number(most || least));
  return counts.reduce((product, count) => product * Math.max(1, count), 1);
}
