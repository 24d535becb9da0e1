import { printable } from '../../reports/printable.ts';
import { type Report, report, type Screen } from '../../reports/result.ts';
import { failureOf, failureToJson, failureToText } from '../errors/failure.ts';
import { contextHeading } from './context-heading.ts';
import { fleetFailure } from './fleet-failure.ts';
import type { FleetOutcome, MemberOutcome } from './fleet-flow.ts';
import { fleetListing } from './fleet-listing.ts';

/**
 * The reports of several contexts as one. In JSON `contexts`, an array with for each context its name, `result`
 * (what the command prints in one context) and, where not all is well, `error`.
 */
export function fleetReport(fleet: FleetOutcome): Report {
  const { outcomes, changes } = fleet;
  const problems = new Map<string, unknown>();
  for (const outcome of outcomes) {
    const problem = problemOf(outcome);
    if (problem !== undefined) problems.set(outcome.context, problem);
  }
  const rows = outcomes.map((outcome) => reportOf(outcome)?.csv);
  return report({
    json: { contexts: outcomes.map(memberJson) },
    text: async (screen) => (await Promise.all(outcomes.map((each) => memberText(each, screen)))).join('\n'),
    ...(rows.some((csv) => csv !== undefined) && {
      csv: fleetListing(fleet, (outcome) => reportOf(outcome)?.csv),
    }),
    failure: fleetFailure(problems, { contexts: outcomes.map(({ context }) => context), changes }),
  });
}

function reportOf({ result }: MemberOutcome): Report | undefined {
  return result?.kind === 'report' ? result : undefined;
}

function problemOf(outcome: MemberOutcome): unknown {
  return outcome.error ?? reportOf(outcome)?.failure;
}

function memberJson(outcome: MemberOutcome): object {
  const problem = problemOf(outcome);
  return {
    context: outcome.context,
    result: reportOf(outcome)?.json,
    ...(problem !== undefined && failureToJson(failureOf(problem))),
  };
}

async function memberText(outcome: MemberOutcome, screen: Screen): Promise<string> {
  const text =
    (await reportOf(outcome)?.text(screen)) ?? printable.lines(failureToText(failureOf(problemOf(outcome))));
  return contextHeading(outcome.context) + text;
}
