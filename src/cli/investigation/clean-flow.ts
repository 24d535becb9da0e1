import { TokenctlError } from '@tokenctl/common/errors.ts';
import { someOf } from '@tokenctl/common/text.ts';
import { openCleaning } from '../../app/open-cleaning.ts';
import { notNamed } from '../../domain/investigation/earlier-items.ts';
import {
  type Actor,
  type Investigation,
  isOtherChangeLeft,
  isStillThere,
  remains,
} from '../../domain/investigation/investigation.ts';
import {
  type CleaningReport,
  clean,
  requireMayClean,
  undoCleaning,
} from '../../operations/investigation/clean.ts';
import { investigate } from '../../operations/investigation/investigate.ts';
import { suspectsIn, withoutOtherIntruders } from '../../operations/investigation/other-intruders.ts';
import {
  type CleaningPlan,
  isIrreversible,
  planCleaning,
  reversible,
} from '../../operations/investigation/plan-cleaning.ts';
import { planUndo } from '../../operations/investigation/plan-undo.ts';
import { isSameController } from '../../operations/journal/journal.ts';
import { type Marks, marksOf } from '../../operations/journal/marked-items.ts';
import { readIncidentHistories } from '../../operations/journal/recorded-incidents.ts';
import { endOfNow } from '../../operations/ports/clock.ts';
import type { Evidence } from '../../operations/ports/evidence.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { notReadText } from '../../reports/incident/item-words.ts';
import type { MaybeMade } from '../../reports/result.ts';
import { countText } from '../../reports/tables/text.ts';
import {
  type Asked,
  type Begun,
  type ChangeRequest,
  notMade,
  type PlannedChange,
  type Question,
} from '../change/change.ts';
import type { FlagsOf } from '../flags/flags.ts';
import { instantOf } from '../flags/times.ts';
import {
  type AnyPlan,
  type CleaningCounts,
  cleaningEnding,
  countsOf,
  irreversibleDocument,
  isUndo,
  nothingFailure,
  planDocument,
} from './cleaning-text.ts';
import { incidentOf, subjectOfIncident } from './investigate-flow.ts';
import { readInvestigationFile } from './investigation-file.ts';
import type { cleanFlags } from './investigation-flags.ts';
import { theftBeginning } from './theft-beginning.ts';

type Planned = CleaningPlan['clean'][number];
type Kept = CleaningPlan['keep'][number];

/** The author of an item; all null with `--undo`, because the audit log does not have it. */
interface Authored {
  readonly by: readonly Actor[] | null;
  /** The first and the last time (RFC 3339). */
  readonly first: string | null;
  readonly last: string | null;
}

function authored({ by, first, last }: Planned['item']): Authored {
  return { by: by ?? null, first: first ?? null, last: last ?? null };
}

/** For a plan with `--undo`, the subject and the period are null. */
interface CleaningPlanJson extends MaybeMade<Pick<Investigation, 'subject' | 'since' | 'until'>> {
  readonly incident: string | null;
  /** With `--undo`: the run of the cleaning, in the audit log. */
  readonly undoes: string | null;
  readonly clean: readonly (Pick<Planned['item'], 'id' | 'summary' | 'risk'> &
    Authored &
    Pick<Planned['act'], 'undoable'> & {
      /** Whether it needs a separate confirmation, because it cannot be fully undone. */
      readonly irreversible: boolean;
      readonly act: Planned['act']['act'];
      /** The method and the context. */
      readonly via: Planned['way']['via'];
      readonly context: string;
      /** The restored fields; empty for other actions. */
      readonly fields: Extract<Planned['act'], { readonly act: 'restore' }>['fields'];
    })[];
  /** What is left, and why. */
  readonly keep: readonly (Pick<Kept['item'], 'id' | 'summary' | 'risk' | 'remedy'> &
    Authored &
    Pick<Kept, 'reason' | 'why'>)[];
}

/** What `incident clean` prints with `--json`. If nothing was cleaned, the members of the report are null. */
interface CleaningJson extends MaybeMade<Omit<CleaningReport, 'left' | 'later'>> {
  readonly dryRun: boolean;
  readonly plan: CleaningPlanJson;
  /** The ids of planned items that remain after re-reading; null if that was not reached. */
  readonly left: readonly string[] | null;
  /** The ids of remaining items that did not exist when the plan was made; null as `left`. */
  readonly later: readonly string[] | null;
  /** Each planned item once, by its result; null if nothing was cleaned. */
  readonly counts: CleaningCounts | null;
}

export interface CleanRequest extends ChangeRequest<FlagsOf<typeof cleanFlags>> {
  /**
   * Whether each item was picked from a list that shows its author and whether it can be undone: the plan
   * does not repeat that, and one confirmation covers everything.
   */
  readonly isPicked?: boolean;
}

export type CleaningChange = PlannedChange<Cleaned, CleaningJson, Question | null>;

/** The confirmed plan, and its result. */
export interface Cleaned {
  readonly plan: AnyPlan;
  readonly report: CleaningReport;
}

/** Investigates again, and plans a cleaning or its undo. Throws `usage`, and as the operations. */
export async function cleanFlow(request: CleanRequest): Promise<CleaningChange> {
  const { runtime, flags } = request;
  const { from, incident } = flags;
  if (flags.undo !== undefined) return await undoFlow(request, flags.undo);
  if (from === undefined && incident === undefined) {
    throw new TokenctlError('usage', 'No investigation selected', {
      hint: 'Add --from FILE or --incident ID.',
    });
  }
  const saved = from === undefined ? undefined : readInvestigationFile(from);
  const description = await runtime.description();
  if (saved !== undefined) requireSameController(saved, description);
  const since = flags.since && instantOf(flags.since, (await runtime.targetClock()).now());
  const theft = await theftBeginning(runtime, { since, saved, incident });
  const { evidence, ...ways } = await openCleaning(runtime, flags['rest-context']);
  const now = await investigateAgain(request, { evidence, saved, since: theft.at });
  const { investigation, left } = chosen(now, saved);
  const marks = await marksFor(request, now.incident, description);
  const planned = planCleaning(investigation, {
    selection: { items: flags.item, rules: flags.rule },
    ...ways,
    ...marks,
    found: now.items,
  });
  const histories = await readIncidentHistories(await runtime.auditLog());
  const incidents = histories.ofController(description).flatMap((each) => each.incidents);
  const whole = await withoutOtherIntruders(planned, { evidence, suspects: suspectsIn(incidents) });
  // With --yes, there is no second question.
  const plan = flags.yes === true && flags.irreversible !== true ? reversible(whole) : whole;
  const isAskedTwice = flags.yes !== true && request.isPicked !== true;
  return cleaningChange(plan, {
    description,
    beginning: [
      ...notReadText(now),
      theft.text,
      ...left,
      ...notFoundText(marks, now),
      ...othersText(investigation, flags),
    ],
    isPicked: request.isPicked === true,
    further: isAskedTwice ? furtherQuestion(plan) : undefined,
    rest: reversible(plan),
    clean: (begun, agreed) => clean({ ...begun, plan: agreed, evidence }),
  });
}

/** The marks of the cleaned incident's items; empty without an incident. */
async function marksFor(
  { runtime, flags: { incident } }: CleanRequest,
  known: string | null,
  description: TargetDescription,
): Promise<Partial<Pick<Marks, 'legitimate' | 'handedOver'>>> {
  const id = incident === undefined ? known : (await incidentOf(runtime, incident)).id;
  return id === null ? {} : await marksOf({ log: await runtime.auditLog(), description, incident: id });
}

/** Irreversible actions are a separate question, unless there is nothing else. */
function furtherQuestion(plan: CleaningPlan): Asked | undefined {
  const final = plan.clean.filter(isIrreversible);
  const first = plan.clean.length - final.length;
  if (final.length === 0 || first === 0) return undefined;
  return {
    plan: irreversibleDocument(final),
    part: 'question 2 of 2: actions that cannot be undone',
    // Not only the number, which was the answer to the first question.
    type: `${final.length} for good`,
    act: `also do what cannot be undone to ${countText(final.length, 'item')}`,
    note: `The ${countText(first, 'item')} in question 1 ${first === 1 ? 'is' : 'are'} cleaned regardless of your answer. If you cancel, the items listed here are left as they are.`,
  };
}

async function undoFlow(request: CleanRequest, run: string): Promise<CleaningChange> {
  const { runtime, flags } = request;
  const { evidence, ways, restProblem } = await openCleaning(runtime, flags['rest-context']);
  const [log, description] = [await runtime.auditLog(), await runtime.description()];
  const plan = await planUndo({ log, description, evidence, run, items: flags.item, ways, restProblem });
  return cleaningChange(plan, {
    description,
    beginning: [],
    isPicked: request.isPicked === true,
    rest: plan,
    clean: (begun, agreed) => undoCleaning({ ...begun, plan: agreed, evidence }),
  });
}

/** What a cleaning or its undo shows, does and reports. */
function cleaningChange<Plan extends AnyPlan>(
  plan: Plan,
  options: {
    readonly description: TargetDescription;
    /** The start of the cleaned period, as sentences. */
    readonly beginning: readonly string[];
    readonly isPicked: boolean;
    readonly further?: Asked | undefined;
    /** The plan without the part of the further question. */
    readonly rest: Plan;
    readonly clean: (begun: Begun, agreed: Plan) => Promise<CleaningReport>;
  },
): CleaningChange {
  const { description, beginning, isPicked, further, rest } = options;
  const document = planDocument(plan, { beginning, isBrief: isPicked });
  return {
    plan: document,
    question: questionOf(plan),
    further,
    require: () => requireMayClean(description),
    nothing: () => ({ document, failure: nothingFailure(plan) }),
    act: async (begin, isWhole) => {
      const agreed = isWhole ? plan : rest;
      return { plan: agreed, report: await options.clean(await begin(), agreed) };
    },
    ended: (done) => cleaningEnding(done.plan, done.report, { isBrief: isPicked }),
    json: ({ dryRun, done }) => ({
      dryRun,
      plan: planJson(done?.plan ?? plan),
      ...(done?.report ?? notMade('result steps interrupted stopped run')),
      left: done?.report.left?.map(({ id }) => id) ?? null,
      later: done?.report.later?.map(({ id }) => id) ?? null,
      counts: done === null ? null : countsOf(done.plan, done.report),
    }),
  };
}

/** The first question: about reversible actions, or about the rest if there are none. */
function questionOf(plan: AnyPlan): Question | null {
  const first = plan.clean.filter((planned) => !isIrreversible(planned)).length;
  const number = first === 0 ? plan.clean.length : first;
  if (number === 0) return null;
  const items = countText(number, 'item');
  const all = plan.clean.length;
  const object = all === 1 && first === 0 ? plan.clean[0]?.item.object.name : null;
  const act = isUndo(plan)
    ? `undo the cleanup of ${items}`
    : `clean ${items}${first === 0 ? ', which cannot be undone' : number < all ? ' that can be undone later' : ''}`;
  const isTwice = !isUndo(plan) && first > 0 && number < all;
  return {
    act,
    ...(object == null ? { type: String(number) } : { type: object, object }),
    ...(isTwice && {
      part: 'question 1 of 2: actions that can be undone',
      note: `Question 2 is about the ${countText(all - number, 'item')} that cannot be undone. You can skip them.`,
    }),
  };
}

async function investigateAgain(
  { runtime, flags: { incident } }: CleanRequest,
  found: { evidence: Evidence; saved: Investigation | undefined; since: Date },
): Promise<Investigation> {
  const { evidence, saved, since } = found;
  const common = { ...(await runtime.readTarget()), evidence, since };
  if (saved !== undefined) {
    const until = endOfNow(common.clock, common.description);
    return await investigate({ ...common, repeats: saved, incident: incident ?? saved.incident, until });
  }
  return await investigate({ ...common, ...(await subjectOfIncident(runtime, incident ?? '')) });
}

/**
 * With a saved file, only its items are cleaned: newer items are left and reported. Items that the stream no
 * longer has are unknown, and do not count as cleaned. Items from before the theft are left alone.
 */
function chosen(now: Investigation, saved: Investigation | undefined) {
  if (saved === undefined) return { investigation: now, left: [] };
  const meant = saved.items.filter(({ last }) => last >= now.since);
  const listed = new Set(saved.items.map(({ id }) => id));
  const lost = notNamed(meant, now).filter(isStillThere);
  const items = [...now.items.filter(({ id }) => listed.has(id)), ...lost];
  const meantIds = new Set(items.map(({ id }) => id));
  const earlier = saved.items.filter((item) => remains(item) && !meantIds.has(item.id)).length;
  const later = now.items.filter((item) => remains(item) && !listed.has(item.id));
  return {
    investigation: { ...now, items },
    left: [
      ...(earlier === 0
        ? []
        : [`Skipped: ${countText(earlier, 'item')} in the file from before the incident.`]),
      ...(later.length === 0
        ? []
        : [
            `Not in the file, and skipped: ${countText(later.length, 'item')} that ${later.length === 1 ? 'remains' : 'remain'}. Investigate again to include ${later.length === 1 ? 'it' : 'them'}.`,
          ]),
    ],
  };
}

/** A mark on an item that was not found, possibly a wrong id, has no effect. */
function notFoundText({ legitimate, handedOver }: Awaited<ReturnType<typeof marksFor>>, now: Investigation) {
  const found = new Set(now.items.map(({ id }) => id));
  const ids = [...(legitimate?.keys() ?? []), ...(handedOver?.keys() ?? [])].filter((id) => !found.has(id));
  return ids.length === 0 ? [] : [`Marked, but not found by this investigation: ${ids.join(', ')}.`];
}

/** Other changes are cleaned only if named. */
function othersText({ items }: Investigation, { item, rule }: CleanRequest['flags']): string[] {
  const others = items.filter(isOtherChangeLeft);
  if (others.length === 0 || item !== undefined || rule !== undefined) return [];
  const named = others.map(({ summary, id }) => `${summary} [${id}]`);
  return [
    `Left as ${others.length === 1 ? 'it is' : 'they are'}, with no access and no code by any rule: ${someOf(named, MAX_OTHERS, '; ')}. To clean one, add --item ID.`,
  ];
}

/** The maximum number of other changes that a plan names. */
const MAX_OTHERS = 5;

function requireSameController({ target }: Investigation, description: TargetDescription): void {
  const { context, address, installUuid } = target;
  const there = { context, address, ...(installUuid !== null && { installUuid }) };
  if (isSameController(there, description)) return;
  throw new TokenctlError(
    'plan_outdated',
    `The investigation is for ${address}, not ${description.address}`,
    { hint: `Use the context ${context}, or another context of the same controller.` },
  );
}

function planJson(plan: AnyPlan): CleaningPlanJson {
  const { clean: planned, keep } = plan;
  const { incident, ...about } = isUndo(plan)
    ? { incident: plan.incident, subject: null, since: null, until: null, undoes: plan.undoes }
    : { ...plan.investigation, undoes: null };
  const { subject, since, until, undoes } = about;
  return {
    subject,
    since,
    until,
    incident,
    undoes,
    clean: planned.map(({ item, act, way }) => ({
      id: item.id,
      act: act.act,
      summary: item.summary,
      risk: item.risk,
      undoable: act.undoable,
      ...authored(item),
      irreversible: isIrreversible({ act }),
      via: way.via,
      context: way.context,
      fields: act.act === 'restore' ? act.fields : [],
    })),
    keep: keep.map(({ item, reason, why }) => ({
      id: item.id,
      reason,
      why,
      summary: item.summary,
      risk: item.risk,
      remedy: item.remedy,
      ...authored(item),
    })),
  };
}
