/** All decisions about the items of a case, as one change with one confirmation. */

import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Ending, PlannedChange } from '../../cli/change/change.ts';
import { GO_ON } from '../../cli/change/ending.ts';
import type { FlagsOf } from '../../cli/flags/flags.ts';
import { type Cleaned, cleanFlow } from '../../cli/investigation/clean-flow.ts';
import { investigateFlow } from '../../cli/investigation/investigate-flow.ts';
import type { cleanFlags } from '../../cli/investigation/investigation-flags.ts';
import { markFlow } from '../../cli/investigation/mark-flow.ts';
import { describedSummary, type Investigation } from '../../domain/investigation/investigation.ts';
import type { MarkKind } from '../../operations/journal/marked-items.ts';
import { type Document, folded, type Line, lines, list, partsOf } from '../../reports/document.ts';
import { countText } from '../../reports/tables/text.ts';
import { problemOf, type Run } from '../operations.ts';
import type { CaseFiles } from './case-files.ts';
import { wordOfCase } from './case-users.ts';

/** A decision about items, with its reason. */
export interface Decision {
  readonly as: MarkKind;
  readonly items: readonly string[];
  readonly reason: string;
  /** Who decides about reassigned items. */
  readonly to?: string | undefined;
}

interface Settling {
  readonly incident: string;
  /** The investigation in question; null if the case has none, and a cleaning is undone. */
  readonly saved: Investigation | null;
  readonly decisions: readonly Decision[];
  readonly ticket: string | undefined;
  /** The flags of `incident clean`; null if nothing is to be ended. */
  readonly clean: FlagsOf<typeof cleanFlags> | null;
  readonly files: CaseFiles;
}

/** A decision in a question: `keep 2 as legitimate`. */
const ACTS: Readonly<Record<MarkKind, (count: number) => string>> = {
  legitimate: (count) => `keep ${count} as legitimate`,
  by_hand: (count) => `mark ${count} as resolved manually`,
  handed_over: (count) => `reassign ${count}`,
};

/** A decision that was recorded. */
const SAID: Readonly<Record<MarkKind, (to: string | undefined) => string>> = {
  legitimate: () => 'kept as legitimate',
  by_hand: () => 'marked as resolved manually',
  handed_over: (to) => `reassigned to ${to ?? 'others'}: notify them`,
};

/** A decision in a plan; none of them changes anything on the controller. */
const TITLES: Readonly<Record<MarkKind, (decision: Decision) => string>> = {
  legitimate: ({ reason }) => `Kept as legitimate because "${reason}":`,
  by_hand: ({ reason }) => `Marked as resolved manually ("${reason}"), which was not checked:`,
  handed_over: ({ reason, to = '' }) => `Reassigned to ${to} because "${reason}". Tell them:`,
};

/** The same next to the list, without the reason just typed; a reassignment's may have been prefilled. */
const SHORT_TITLES: typeof TITLES = {
  legitimate: () => 'Kept as legitimate:',
  by_hand: () => 'Marked as resolved manually, which was not checked:',
  handed_over: TITLES.handed_over,
};

/**
 * Plans all decisions as one change with one question. The order is: marks are recorded, one entry per kind;
 * items are cleaned, as `incident clean` does; everything is investigated again, into a file of the case. A
 * failed record ends it before anything is cleaned. A second attempt handles the rest.
 * @throws TokenctlError as `cleanFlow`; its act as `markFlow` and the cleaning.
 */
export async function settle(run: Run, settling: Settling): Promise<PlannedChange<Settled, unknown>> {
  const { runtime } = run;
  const { clean, decisions, incident } = settling;
  const cleaning = clean === null ? null : await cleanFlow({ runtime, flags: clean, isPicked: true });
  if (cleaning === null || cleaning.question === null) {
    // Nothing is left to clean: the marks are still recorded.
    const made = await cleaning?.nothing?.();
    const nothing = { document: made?.document ?? [], failure: made?.failure };
    const recording = { ...settling, clean: null };
    return {
      plan: decisions.length === 0 ? nothing.document : planOf(recording, nothing.document),
      isElsewhere: cleaning === null,
      question: decisions.length === 0 ? null : { act: actText(recording), type: '' },
      nothing: () => ended(nothing, { said: [], again: [] }),
      act: async () => ({ said: await recordDecisions(run, settling), cleaned: null, again: [] }),
      ended: ({ said }) => ended(nothing, { said, again: [] }),
      json: (outcome) => cleaning?.json({ ...outcome, done: null }) ?? { run: null },
    };
  }
  const { act, object } = cleaning.question;
  const type = object ?? (await wordOfCase(runtime, incident));
  return {
    ...cleaning,
    plan: planOf(settling, cleaning.plan),
    question: { act: clean?.undo === undefined ? actText(settling) : act, type },
    async act(begin, isWhole) {
      const said = await recordDecisions(run, settling);
      try {
        const cleaned = await cleaning.act(begin, isWhole);
        const again = cleaned.report.run === null ? [] : await investigateAgain(run, settling);
        return { said, cleaned, again };
      } catch (error) {
        if (said.length > 0) run.notifyPart(saidText(said));
        throw error;
      }
    },
    async ended(done) {
      return ended(done.cleaned === null ? NOTHING : await cleaning.ended(done.cleaned), done);
    },
    json: ({ done, ...outcome }) => cleaning.json({ ...outcome, done: done?.cleaned ?? null }),
  };
}

const NOTHING: Ending = { document: [] };

/** The recorded marks, the result of the cleaning, and the findings after it. */
interface Settled {
  readonly said: readonly string[];
  readonly cleaned: Cleaned | null;
  readonly again: Document;
}

function ended({ document, failure, amount }: Ending, { said, again }: Pick<Settled, 'said' | 'again'>) {
  return {
    amount,
    document: [lines(said.length > 0 && saidText(said)), ...withoutSteps(document), ...again],
    failure: failure && withWayOn(failure),
  };
}

/** Instead of a command to run again, the page has a list. */
function withWayOn(failure: TokenctlError): TokenctlError {
  const { code, message, hint, details } = failure;
  return hint === GO_ON ? new TokenctlError(code, message, { hint: DECIDE_AGAIN, details }) : failure;
}

const DECIDE_AGAIN = 'The case lists the remaining items. Decide about them again.';

/** If all steps were done, they are folded, with the run that recorded them; otherwise all are shown. */
function withoutSteps(document: Document): Document {
  const parts = partsOf(document);
  const marks = parts.flatMap((part) => (part.kind === 'lines' ? part.lines.flatMap(markOf) : []));
  if (marks.length === 0 || marks.some((mark) => mark !== 'done' && mark !== 'as before')) return document;
  const isFolded = (line: Line) =>
    markOf(line).length > 0 || (typeof line !== 'string' && 'usual' in line && line.usual === true);
  const all = parts.flatMap((part) => (part.kind === 'lines' ? part.lines : []));
  return [
    ...parts.map((part) =>
      part.kind === 'lines' ? lines(part.lines.filter((line) => !isFolded(line))) : part,
    ),
    folded(`${countText(marks.length, 'step')} done`, all.filter(isFolded)),
  ];
}

function markOf(line: Line): readonly string[] {
  return typeof line === 'string' || !('mark' in line) || line.mark === undefined ? [] : [line.mark];
}

function saidText(said: readonly string[]): string {
  return `Recorded: ${said.join('; ')}.`;
}

/** Added after a failed record. */
const NOT_SAID = 'The rest was not recorded, and nothing was removed.';

/** What the answer confirms, as a phrase: `end 3 items, keep 2 as legitimate`. */
function actText({ clean, decisions }: Settling): string {
  const ended = clean?.item?.length;
  return [
    ...(clean === null
      ? []
      : [ended === undefined ? 'end all listed items' : `end ${countText(ended, 'item')}`]),
    ...[...Map.groupBy(decisions, ({ as }) => as)].map(([as, some]) =>
      ACTS[as](some.reduce((sum, { items }) => sum + items.length, 0)),
    ),
  ].join(', ');
}

/** The plan of the cleaning, with what is recorded before it, and the order of the steps. */
function planOf(settling: Settling, cleaning: Document): Document {
  const { clean, decisions } = settling;
  const isUndo = clean?.undo !== undefined;
  const steps = [
    ...(decisions.length === 0 ? [] : ['your decisions are recorded; if that fails, it stops there']),
    ...(clean === null
      ? []
      : [`each item is recorded and ${isUndo ? 'restored' : 'ended'}`, 'everything is investigated again']),
  ];
  const order = [
    ...(decisions.length === 0 ? [] : ['record']),
    ...(clean === null ? [] : [isUndo ? 'undo' : 'end', 'investigate again']),
  ];
  return [
    ...cleaning,
    ...decided(settling),
    folded(
      `Order: ${order.join(', ')}`,
      `In this order: ${steps.join('; ')}.${clean === null ? '' : ' If a part fails, the list shows the remaining items.'}`,
    ),
  ];
}

function decided({ saved, decisions }: Settling): Document {
  const summaries = new Map(saved?.items.map((item) => [item.id, describedSummary(item)]));
  return decisions.map((decision) =>
    lines(
      { text: TITLES[decision.as](decision), inConsole: SHORT_TITLES[decision.as](decision) },
      list(...decision.items.map((id) => summaries.get(id) ?? id)),
    ),
  );
}

/**
 * Records the marks, one entry per kind, and one per reassignment, which has its own reason.
 * @returns What was recorded, as phrases. If one fails, the error includes the ones before.
 */
async function recordDecisions({ runtime, notifyPart }: Run, { incident, decisions, ticket }: Settling) {
  const said: string[] = [];
  for (const { as, items, reason, to } of decisions) {
    const flags = {
      ...{ item: [...items], reason, ticket, to },
      ...{ 'by-hand': as === 'by_hand', 'handed-over': as === 'handed_over' },
    };
    await markFlow({ runtime, incident, flags }).catch((error: unknown) => {
      if (said.length > 0) notifyPart(`${saidText(said)} ${NOT_SAID}`);
      throw error;
    });
    said.push(`${countText(items.length, 'item')} ${SAID[as](to)}`);
  }
  return said;
}

/** Repeats the investigation up to now. If that fails, the case says that its last one is outdated. */
async function investigateAgain({ runtime }: Run, { incident, saved, files }: Settling): Promise<Document> {
  if (saved === null) return [];
  const { subject } = saved;
  try {
    const { json } = await investigateFlow({
      runtime,
      flags: {
        incident,
        ...(subject.kind === 'token' ? { token: subject.id } : { [subject.kind]: subject.name }),
        since: { at: new Date(saved.since) },
        out: files.newInvestigation(new Date()),
      },
    });
    const known = new Set(saved.items.map(({ id }) => id));
    const found = json.items.filter(({ id }) => !known.has(id)).length;
    return [
      lines(
        found === 0
          ? 'Investigated again: nothing new was found.'
          : `Investigated again: ${countText(found, 'new item')}. Decide about ${found === 1 ? 'it' : 'them'} too.`,
      ),
    ];
  } catch (error) {
    return [lines(`Not investigated again: ${problemOf(error).message}. The case page can do this.`)];
  }
}
