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

export interface ChangeRequest<Flags extends PlanFlags = PlanFlags> {
  readonly runtime: Runtime;
  readonly flags: Flags;
}

export interface Question {
  /** The action as a phrase: `revoke 12 tokens`. */
  readonly act: string;
  /** The answer to type, which requires reading the plan; empty if a click is enough. */
  readonly type: string;
  /** The name of the single object to delete, which must then be typed. */
  readonly object?: string;
  /** Its number among several questions, and its subject: `question 1 of 2: what can be undone later`. */
  readonly part?: string | undefined;
  /** What else the answer decides, and what follows it, as a sentence. */
  readonly note?: string | undefined;
  /** For a lift: whether it restores what an earlier one left, and who stays deactivated, as a phrase. */
  readonly lift?: { readonly givesBack: boolean; readonly stays: string | null };
  /** The number of tokens, if the question is about tokens. */
  readonly tokens?: number;
}

export interface Asked extends Question {
  readonly plan: Document;
  /** The plan as --json prints it; only the console shows it. */
  readonly json?: unknown;
}

/** Where a plan was saved. */
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

/** The texts of a change that has ended. */
export interface Ending extends Pick<Report, 'amount' | 'failure'> {
  readonly document: Document;
}

/** What an operation gets from its command. */
export type Begun = Change & { readonly onProgress: (progress: Progress) => void };

/** A change as a value: what a flow planned, how to do it, and its text. The holder decides on doing it. */
export interface PlannedChange<Done, Json, Asks = Question | 'unneeded' | null> {
  readonly plan: Document;
  /** The plan as --json prints it; only the console shows it. */
  readonly planJson?: unknown;
  /** The question; null if there is nothing to do, and `unneeded` if no confirmation is needed. */
  readonly question: Asks;
  /** The next question, about a part of the plan: without its answer, everything else is done. */
  readonly further?: Asked | undefined;
  readonly amount?: Pick<Amount, 'what' | 'planned'> | undefined;
  /** The plan as rows, for `--csv`. */
  readonly csv?: Report['csv'];
  /** Throws what the target would refuse. */
  readonly require?: (() => void) | undefined;
  /** The target's refusal, as far as it is known in advance; default: what `require` throws. */
  readonly refusal?: (() => TokenctlError | undefined) | undefined;
  /** Whether the plan counts sessions: those of an unread cache are missing. */
  readonly namesSessions?: boolean | undefined;
  /** Whether it is made without a controller or a context. */
  readonly isElsewhere?: boolean | undefined;
  /** The four-eyes guard; without it, one person may always make the change. */
  readonly guard?: Guard | undefined;
  readonly incomplete?: TokenctlError | undefined;
  /** Saves the plan to the file of --plan-out, and returns its digest. */
  readonly save?: ((path: string) => Promise<{ readonly digest: string }>) | undefined;
  /** Added to a plan that is not carried out: in a dry run, and if it is saved. */
  readonly preview?: Document | undefined;
  /** The ending if there is nothing to do; default: the plan, which says so. */
  readonly nothing?: (() => Ending | Promise<Ending>) | undefined;
  /**
   * Makes the change. `begin` opens it, in another runtime if the credential was replaced; signals are caught
   * from then on. `isWhole` is false without the answer to the question of `further`.
   */
  act(begin: (working?: Runtime) => Promise<Begun>, isWhole: boolean): Promise<Done>;
  ended(done: Done): Ending | Promise<Ending>;
  json(outcome: Outcome<Done>): Json;
  /** What follows, however it ended: a change with its own question, or only the report. */
  after?(report: Report<Json>): Promise<Planned<Json>>;
}

/** What a flow returns: a planned change, or its report if there is nothing to plan. */
export type Planned<Json> = PlannedChange<unknown, Json> | Report<Json>;

/** The state of a change: it has ended, or it waits for an answer. Nothing happens until then. */
export type Step<Json> = { readonly report: Report<Json> } | Waiting<Json>;

export interface Waiting<Json> {
  readonly asked: Asked;
  /** Continues after the confirmation. */
  goOn(): Promise<Step<Json>>;
  /** Continues without the answer, or throws why it was not given; absent if nothing follows. */
  readonly without?: (refusal: Refusal) => Promise<Step<Json>>;
}

/** Why a question was not confirmed: another answer, or Ctrl-C. */
type Refusal = TokenctlError & { readonly code: 'not_confirmed' | 'interrupted' };

export function isRefusal(error: unknown): error is Refusal {
  return error instanceof TokenctlError && (error.code === 'not_confirmed' || error.code === 'interrupted');
}

const NO_FILE: PlanFileJson = { planFile: null, digest: null };
const DRY_RUN = faint`Dry run. Nothing was changed.`;

/** How a change is driven. */
interface Driven extends ChangeRequest {
  /** Added to a plan that is only viewed; default: that it was a dry run. */
  readonly afterPlan?: string;
}

/**
 * The first step of a change: it ends with the plan in a file (--plan-out), after a dry run, and if there is
 * nothing to do; otherwise it waits for the answer. Nothing is done without the approval that it needs.
 * @throws TokenctlError `not_approved`, and what the target would refuse; the steps throw the errors of the
 * operation.
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
  return new TokenctlError(isKept ? code : 'partly_done', `The rest was not done: ${message}`, {
    hint,
    cause,
  });
}

/** The failure of a change after which nothing more was confirmed. */
function notMore({ code, cause }: Refusal): TokenctlError {
  const what = code === 'interrupted' ? 'Interrupted' : 'Not confirmed';
  return new TokenctlError(code, `${what}. Nothing else was changed.`, { cause });
}

/**
 * Runs a change to its end.
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

/** The reason for a change: the given one, otherwise the one saved in its plan. */
function accountOf(flags: PlanFlags, saved: AnyPlan | undefined): Pick<PlanFlags, 'reason' | 'ticket'> {
  return { reason: flags.reason ?? saved?.reason, ticket: flags.ticket ?? saved?.ticket };
}

/** An empty plan needs no approval; but a plan that was already applied is refused. */
async function ignoringMissingApproval(approve: () => Promise<unknown>): Promise<void> {
  try {
    await approve();
  } catch (error) {
    if (!(error instanceof TokenctlError) || error.code !== 'not_approved') throw error;
  }
}

type Words<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text;

/** The members of a report that was not made (names separated by spaces), all null for `--json`. */
export function notMade<const Names extends string>(names: Names): { readonly [Name in Words<Names>]: null } {
  return Object.fromEntries(names.split(' ').map((name) => [name, null])) as {
    readonly [Name in Words<Names>]: null;
  };
}
