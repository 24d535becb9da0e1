/** Lifting a lockdown to close a case: consequences for its users come first, the usual text is folded. */

import type { Runtime } from '../../app/runtime.ts';
import type { Question } from '../../cli/change/change.ts';
import { type LiftChange, liftFlow } from '../../cli/incident/lift-flow.ts';
import { type Document, folded, type Line, lines, type Part, partsOf } from '../../reports/document.ts';
import { wordOfCase } from './case-users.ts';
import { closingOf } from './open-items.ts';

/**
 * Plans to close the case of an incident, along with the lockdowns of accounts that belong to it: their users
 * stay deactivated. For a closed case, restores what its lift left.
 */
export async function closeCase(given: {
  readonly runtime: Runtime;
  readonly incident: string;
  /** The ids of the incidents that are closed with it. */
  readonly alongside: readonly string[];
  readonly flags: Parameters<typeof liftFlow>[0]['flags'];
}): Promise<LiftChange> {
  const { runtime, incident, alongside, flags } = given;
  const closes = await closingOf(runtime, incident);
  const type = await wordOfCase(runtime, incident);
  const keeping = closes === undefined ? [] : alongside;
  const lift = await liftFlow({ runtime, incident, closes, keeping, flags });
  if (lift.question === null) return lift;
  if (closes === undefined) return { ...lift, question: { ...lift.question, type } };
  const { plan, ...asked } = closingQuestion(lift.plan, lift.question);
  return {
    ...lift,
    plan,
    question: { ...asked, type },
    async after(made) {
      await lift.after?.(made);
      const { document, failure } = made;
      // Problems are shown in full.
      return document === undefined || failure !== undefined
        ? made
        : { ...made, document: () => resultOf(document()) };
    },
  };
}

/** The maximum number of users that the question names. */
const MOST_NAMED = 3;

/** The question states the consequences for the users: people are most unsure about them. */
function closingQuestion(plan: Document, question: Question): Question & { readonly plan: Document } {
  const accounts = partsOf(plan).flatMap((part) =>
    part.kind === 'lines' ? part.lines.flatMap((line) => detailsOf(line).account ?? []) : [],
  );
  const names = accounts.every(({ staysDeactivated }) => staysDeactivated)
    ? accounts.map(({ name }) => name)
    : [];
  const isNamed = names.length <= MOST_NAMED;
  const whose = isNamed ? new Intl.ListFormat('en').format(names) : `${names.length} users`;
  const stays = `${whose} ${names.length === 1 ? 'stays' : 'stay'} deactivated`;
  // For a few users, the title of the dialog and its button say it.
  const isSaid = (line: Line) => {
    const { usual, account } = detailsOf(line);
    return usual === true || (isNamed && names.length > 0 && account !== undefined);
  };
  return {
    ...question,
    ...(names.length > 0 && { act: `close the case: ${stays}`, lift: { givesBack: false, stays } }),
    plan: partsOf(plan).flatMap((part, index) =>
      index === 0 && part.kind === 'lines' ? parted(part, isSaid) : [part],
    ),
  };
}

/** A completed step: the title says so, and where it is recorded. */
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

/** The lines of a part, with the less important ones folded under them. */
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
