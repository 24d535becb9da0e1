import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Progress, Runtime } from '../../app/runtime.ts';
import { unreadSessions } from '../../operations/access/cached-sessions.ts';
import type { Change } from '../../operations/journal/operation-run.ts';
import type { AnyPlan } from '../../operations/revocation/saved-plan.ts';
import { refusalAhead, requirePrimary } from '../../operations/scope/visibility.ts';
import { type Document, faint, lines } from '../../reports/document.ts';
import { type Amount, type Report, report } from '../../reports/result.ts';
import type { PlanFlags } from '../flags/flags.ts';
import { approvalFor, approvalRefusal, type Guard } from './approval.ts';

/** Where a change is planned and made, and its flags. */
export interface ChangeRequest<Flags extends PlanFlags = PlanFlags> {
  readonly runtime: Runtime;
  readonly flags: Flags;
}

/** A question before a change. */
export interface Question {
  /** The action as a phrase: `revoke 12 tokens`. */
  readonly act: string;
  /** The answer to type, which requires reading the plan; empty where a click is enough, since nothing changes on the controller. */
  readonly type: string;
  /** The name of the one object that is deleted, which is typed then. */
  readonly object?: string;
  /** Which one of several questions it is, and what it is about: `question 1 of 2: what can be undone later`. */
  readonly part?: string | undefined;
  /** What the answer decides beyond that, and what comes after it, as a sentence. */
  readonly note?: string | undefined;
  /** Of a lift: whether it restores what an earlier one left, and who stays deactivated after it, as a phrase. */
  readonly lift?: { readonly givesBack: boolean; readonly stays: string | null };
  /** The number of tokens, if the question is about tokens. */
  readonly tokens?: number;
}

/** A question, below the plan that it is about. */
export interface Asked extends Question {
  readonly plan: Document;
  /** The plan as --json prints it; only the console shows it. */
  readonly json?: unknown;
}

/** Where a plan was saved; null members without --plan-out. */
export interface PlanFileJson {
  /** The file of --plan-out; null without it. */
  readonly planFile: string | null;
  /** The digest of the saved plan; null without --plan-out. */
  readonly digest: string | null;
}

/** How far a change went: only planned, saved to a file, or made. */
export interface Outcome<Done> {
  readonly dryRun: boolean;
  /** Null if nothing was done. */
  readonly done: Done | null;
  readonly file: PlanFileJson;
}

/** How a change reads once it ended. */
export interface Ending extends Pick<Report, 'amount' | 'failure'> {
  readonly document: Document;
}

/** What an operation gets of its command. */
export type Begun = Change & { readonly onProgress: (progress: Progress) => void };

/** A change as a value: what a flow read and plans, how that is done, and how it then reads. Whoever has it decides whether it is made. */
export interface PlannedChange<Done, Json, Asks = Question | 'unneeded' | null> {
  /** What would be changed. */
  readonly plan: Document;
  /** The plan as --json prints it; only the console shows it. */
  readonly planJson?: unknown;
  /** What is asked; null if there is nothing to do, and `unneeded` for what is done without a question. */
  readonly question: Asks;
  /** What is asked next, about a part of the plan: without this answer, all but that part is done. */
  readonly further?: Asked | undefined;
  /** How much would be changed. */
  readonly amount?: Pick<Amount, 'what' | 'planned'> | undefined;
  /** The plan as rows, for `--csv`. */
  readonly csv?: Report['csv'];
  /** Throws what the target would refuse. */
  readonly require?: (() => void) | undefined;
  /** What the target would refuse as far as that is known before it is tried; by default what `require` throws. */
  readonly refusal?: (() => TokenctlError | undefined) | undefined;
  /** Whether the plan counts sessions: those of a cache that was not read are missing. */
  readonly namesSessions?: boolean | undefined;
  /** Whether it is made without a controller, in no context. */
  readonly isElsewhere?: boolean | undefined;
  /** The rule of two persons; without it, one person may always make the change. */
  readonly guard?: Guard | undefined;
  readonly incomplete?: TokenctlError | undefined;
  /** Saves the plan to the file of --plan-out, and returns its digest. */
  readonly save?: ((path: string) => Promise<{ readonly digest: string }>) | undefined;
  /** What is said after a plan that is not carried out: in a dry run, and where it is saved. */
  readonly preview?: Document | undefined;
  /** How it ends if there is nothing to do; by default with the plan, which says so. */
  readonly nothing?: (() => Ending | Promise<Ending>) | undefined;
  /**
   * Acts. `begin` opens the change, in another runtime where the credential was replaced; signals are caught from then on.
   * `isWhole` is false without the answer to the question of `further`.
   */
  act(begin: (working?: Runtime) => Promise<Begun>, isWhole: boolean): Promise<Done>;
  ended(done: Done): Ending | Promise<Ending>;
  json(outcome: Outcome<Done>): Json;
  /** What follows in whichever way it ended: a change with a question of its own, or only the report. */
  after?(report: Report<Json>): Promise<Planned<Json>>;
}

/** What a flow returns: a planned change, or its report where there is nothing to plan. */
export type Planned<Json> = PlannedChange<unknown, Json> | Report<Json>;

/** How far a change is: it has ended, or it waits for an answer. Nothing happens until that is given. */
export type Step<Json> = { readonly report: Report<Json> } | Waiting<Json>;

/** A change that waits for an answer. */
export interface Waiting<Json> {
  readonly asked: Asked;
  /** Goes on once it is confirmed. */
  goOn(): Promise<Step<Json>>;
  /** Goes on without the answer, or throws why it was not given; absent where that is the end. */
  readonly without?: (refusal: Refusal) => Promise<Step<Json>>;
}

/** Why a question was not confirmed: another answer, or Ctrl-C. */
type Refusal = TokenctlError & { readonly code: 'not_confirmed' | 'interrupted' };

/** Whether an error says that a question was not confirmed. */
export function isRefusal(error: unknown): error is Refusal {
  return error instanceof TokenctlError && (error.code === 'not_confirmed' || error.code === 'interrupted');
}

const NO_FILE: PlanFileJson = { planFile: null, digest: null };
const DRY_RUN = faint`Dry run. Nothing was changed.`;

/** How a change is driven. */
interface Driven extends ChangeRequest {
  /** What is said below a plan that is only looked at; by default that it was a dry run. */
  readonly afterPlan?: string;
}

/**
 * The first step of a change: it ends with the plan in a file (--plan-out), after a dry run, and where there is nothing to do; otherwise
 * it waits for the answer. Nothing is done without the approval that it needs.
 *
 * @throws TokenctlError `not_approved`, and what the target would refuse; the steps throw the errors of the operation.
 */
export async function firstStep<Json>(driven: Driven, planned: Planned<Json>): Promise<Step<Json>> {
  if ('kind' in planned) return { report: planned };
  const { runtime, flags } = driven;
  const { plan, question, amount, incomplete, guard, further } = planned;
  const dryRun = flags['dry-run'] === true;
  const approve = async () =>
    guard === undefined ? undefined : await approvalFor({ runtime, flags, ...guard });
  const end = async (made: Report<Json>): Promise<Step<Json>> =>
    planned.after === undefined ? { report: made } : await firstStep(driven, await planned.after(made));
  const unchanged = (ending: Ending, file = NO_FILE) =>
    end(
      report({
        amount: amount && { ...amount, done: 0, dryRun },
        csv: planned.csv,
        ...ending,
        json: planned.json({ dryRun, done: null, file }),
      }),
    );
  const unmade = [...plan, ...(planned.preview ?? [])];
  const description = planned.isElsewhere === true ? null : await runtime.description();
  const unread =
    planned.namesSessions === true && description !== null ? unreadSessions(description) : undefined;
  const requireWritable = () => {
    if (description !== null) requirePrimary(description, 'A change');
  };
  if (!dryRun) requireWritable();
  const path = flags['plan-out'];
  if (path !== undefined && planned.save !== undefined && question !== null) {
    const { digest } = await planned.save(path);
    const saved = lines(`Saved the plan to ${path}, digest ${digest.slice(0, 12)}. Nothing was changed.`);
    return await unchanged(
      { document: [...unmade, saved], amount: undefined, failure: incomplete ?? unread },
      { planFile: path, digest },
    );
  }
  const foreseen = planned.refusal ?? (() => refusalAhead(() => planned.require?.()));
  if (dryRun) {
    const refused =
      refusalAhead(requireWritable) ?? foreseen() ?? incomplete ?? (await approvalRefusal(approve)) ?? unread;
    const last = lines(driven.afterPlan ?? DRY_RUN);
    return await unchanged({ document: [...unmade, last], failure: refused });
  }
  if (question === null) {
    await ignoringMissingApproval(approve);
    const ending = (await planned.nothing?.()) ?? { document: plan, failure: incomplete };
    return await unchanged({ ...ending, failure: ending.failure ?? unread });
  }
  planned.require?.();
  const approval = await approve();
  const act = async (isWhole: boolean): Promise<Step<Json>> => {
    const progress = runtime.progress('Revoking');
    const begin = async (working = runtime) => ({
      ...(await working.change({ ...flags, ...accountOf(flags, guard?.saved), approval })),
      onProgress: progress.step,
    });
    const done = await planned.act(begin, isWhole).finally(progress.end);
    const made = report({
      csv: planned.csv,
      ...(await planned.ended(done)),
      json: planned.json({ dryRun, done, file: NO_FILE }),
    });
    // What was done stands, whatever becomes of what follows.
    const keep = (error: unknown): Step<Json> => {
      if (!(error instanceof TokenctlError)) throw error;
      return { report: { ...made, failure: made.failure ?? notFollowed(error) } };
    };
    const next = await end(made).catch(keep);
    const without = async (refusal: Refusal) => ({
      report: { ...made, failure: made.failure ?? notMore(refusal) },
    });
    return 'asked' in next ? { without, ...next, goOn: () => next.goOn().catch(keep) } : next;
  };
  if (question === 'unneeded') return await act(true);
  const ask = { asked: { plan, json: planned.planJson, ...question } };
  if (further === undefined) return { ...ask, goOn: () => act(true) };
  const without = async (refusal: Refusal) => {
    if (refusal.code === 'interrupted') throw refusal;
    return await act(false);
  };
  const second = { asked: further, goOn: () => act(true), without };
  return { ...ask, goOn: async () => second };
}

/** The failure of a change whose next step was refused or failed. */
function notFollowed(cause: TokenctlError): TokenctlError {
  const { code, message, hint } = cause;
  const isKept = code === 'interrupted' || code === 'audit_unavailable';
  return new TokenctlError(isKept ? code : 'partly_done', `The rest was not done: ${message}`, { hint, cause });
}

/** The failure of a change after which nothing more was confirmed. */
function notMore({ code, cause }: Refusal): TokenctlError {
  const what = code === 'interrupted' ? 'Interrupted' : 'Not confirmed';
  return new TokenctlError(code, `${what}. Nothing else was changed.`, { cause });
}

/**
 * Carries a change out to its end.
 * @param confirm Shows the plan, and returns once it is confirmed; by default no one is asked.
 * @throws TokenctlError `not_confirmed`, and as {@link firstStep} and its steps.
 */
export async function carryOut<Json>(
  request: ChangeRequest,
  planned: Planned<Json>,
  confirm: (asked: Asked) => Promise<void> = async () => undefined,
): Promise<Report<Json>> {
  let step = await firstStep(request, planned);
  while (!('report' in step)) {
    const { asked, goOn, without }: Waiting<Json> = step;
    step = await confirm(asked).then(goOn, (error: unknown) => {
      if (without !== undefined && isRefusal(error)) return without(error);
      throw error;
    });
  }
  return step.report;
}

/** Why a change is made: as it is said now, else as the maker of its plan said it. */
function accountOf(flags: PlanFlags, saved: AnyPlan | undefined): Pick<PlanFlags, 'reason' | 'ticket'> {
  return { reason: flags.reason ?? saved?.reason, ticket: flags.ticket ?? saved?.ticket };
}

/** Nothing to do needs no approval; but a plan that was applied before is refused. */
async function ignoringMissingApproval(approve: () => Promise<unknown>): Promise<void> {
  try {
    await approve();
  } catch (error) {
    if (!(error instanceof TokenctlError) || error.code !== 'not_approved') throw error;
  }
}

type Words<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text;

/** The members of a report that was not made (names with spaces), all null: `--json` has them as well. */
export function notMade<const Names extends string>(names: Names): { readonly [Name in Words<Names>]: null } {
  return Object.fromEntries(names.split(' ').map((name) => [name, null])) as {
    readonly [Name in Words<Names>]: null;
  };
}
