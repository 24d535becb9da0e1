/** The lift of a lockdown as the close of a case: what becomes of its users comes first, what a lift always says is folded. */

import type { Confirmation, Question } from '../../cli/change/confirmation.ts';
import { liftFlow } from '../../cli/incident/lift-flow.ts';
import { type Document, folded, type Line, lines, type Part, partsOf } from '../../reports/document.ts';
import type { Report } from '../../reports/result.ts';
import type { Flow } from '../operations.ts';
import { wordOfCase } from './case-users.ts';
import { closingOf } from './open-items.ts';

/**
 * Closes the case of an incident, and with it the lockdowns of accounts that belong to it: their users stay deactivated. Of a closed
 * one, gives back what its lift left.
 */
export function closeCase({
  incident,
  alongside,
  flags,
}: {
  readonly incident: string;
  /** The ids of the incidents that are closed with it. */
  readonly alongside: readonly string[];
  readonly flags: Parameters<typeof liftFlow>[0]['flags'];
}): (run: Parameters<Flow>[0]) => Promise<Report> {
  return async (run) => {
    const closes = await closingOf(run.runtime, incident);
    const typed = typing(run.confirmation, await wordOfCase(run.runtime, incident));
    if (closes === undefined) return await liftFlow({ ...run, confirmation: typed, incident, flags });
    const confirmation = closing(typed);
    const lifted = await liftFlow({ ...run, confirmation, incident, closes, keeping: alongside, flags });
    const { document, failure } = lifted;
    // What is not as it should be is said in whole.
    return document === undefined || failure !== undefined
      ? lifted
      : { ...lifted, document: () => resultOf(document()) };
  };
}

function typing(confirmation: Confirmation, type: string): Confirmation {
  return { ...confirmation, confirm: (question) => confirmation.confirm({ ...question, type }) };
}

function closing(confirmation: Confirmation): Confirmation {
  return {
    ...confirmation,
    confirm: (question) => confirmation.confirm({ ...question, ...closingQuestion(question) }),
  };
}

/** The users that the question names. */
const MOST_NAMED = 3;

/** What the close does to the users stands in the question: it is what people are in doubt about. */
function closingQuestion({ plan, act }: Question): Pick<Question, 'plan' | 'act' | 'lift'> {
  const accounts = partsOf(plan).flatMap((part) =>
    part.kind === 'lines' ? part.lines.flatMap((line) => detailsOf(line).account ?? []) : [],
  );
  const names = accounts.every(({ staysDeactivated }) => staysDeactivated)
    ? accounts.map(({ name }) => name)
    : [];
  const isNamed = names.length <= MOST_NAMED;
  const whose = isNamed ? new Intl.ListFormat('en').format(names) : `${names.length} users`;
  const stays = `${whose} ${names.length === 1 ? 'stays' : 'stay'} deactivated`;
  // Of a few, the title of the dialog and its button say it.
  const isSaid = (line: Line) => {
    const { usual, account } = detailsOf(line);
    return usual === true || (isNamed && names.length > 0 && account !== undefined);
  };
  return {
    ...(names.length === 0
      ? { act }
      : { act: `close the case: ${stays}`, lift: { givesBack: false, stays } }),
    plan: partsOf(plan).flatMap((part, index) =>
      index === 0 && part.kind === 'lines' ? parted(part, isSaid) : [part],
    ),
  };
}

/** A step that was done, what its title says, and where it is recorded. */
function isDone(line: Line): boolean {
  const { mark, usual, account } = detailsOf(line);
  return (
    usual === true ||
    mark === 'done' ||
    mark === 'as before' ||
    (mark === 'left' && account?.staysDeactivated === true)
  );
}

function resultOf(document: Document): Document {
  return partsOf(document).flatMap((part, index) =>
    index === 0 && part.kind === 'lines' ? parted(part, isDone, 'Steps') : [part],
  );
}

/** The lines of a part, with those that need not be read folded under them. */
function parted(
  part: Extract<Part, { kind: 'lines' }>,
  isFolded: (line: Line) => boolean,
  title = 'Details of the lift',
): readonly Part[] {
  return [lines(part.lines.filter((line) => !isFolded(line))), folded(title, part.lines.filter(isFolded))];
}

function detailsOf(line: Line): Partial<Extract<Line, { text: unknown }>> {
  return typeof line === 'string' || 'columns' in line ? {} : line;
}
