import { TokenctlError } from '@tokenctl/common/errors.ts';
import { documentText, lines } from '../../reports/document.ts';
import { type Report, type Result, report } from '../../reports/result.ts';
import type { Screen } from '../../reports/tables/text.ts';
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
import { multiContextListing, multiContextStream } from './joint-output.ts';

/**
 * The error that all contexts share, or a usage error in any of them; undefined if a context has a result.
 */
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

/**
 * Joins the results of several contexts, as the same kind of result that the command returns in one context.
 * @throws The error that all contexts share, or a usage error in any of them, if none has a result.
 */
export function multiContextResult(run: MultiContextOutcome): Result {
  const { outcomes, changes } = run;
  const common = commonError(outcomes);
  if (common !== undefined) throw common;
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
 * Joins the reports of several contexts. The JSON has `contexts` and `total`. Each context has its name, its
 * `state` (`done` or an error code), `result` (what the command prints in one context) and, after a failure,
 * `error`. A context without the named user or application is `not_found`, with a `message`.
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
  return { context: outcome.context, result: reportOf(outcome)?.json, ...changeToJson(outcome) };
}

/** The reports, each under a heading. After a change, the table of all contexts is last, with failures. */
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
