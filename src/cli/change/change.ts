import type { Progress, Runtime } from '../../app/runtime.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { unreadSessions } from '../../operations/access/cached-sessions.ts';
import type { Change } from '../../operations/journal/operation-run.ts';
import { refusalAhead, requirePrimary } from '../../operations/visibility.ts';
import { type Document, faint, lines } from '../../reports/document.ts';
import { type Amount, type Report, report } from '../../reports/result.ts';
import type { PlanFlags } from '../flags.ts';
import { approvalFor, approvalRefusal, type Guard } from './approval.ts';
import type { Confirmation, Question } from './confirmation.ts';

/** Where a change is made, how it is confirmed, and its flags. */
export interface ChangeRequest<Flags extends PlanFlags = PlanFlags> {
  readonly runtime: Runtime;
  readonly confirmation: Confirmation;
  readonly flags: Flags;
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

export interface PlannedChange<Done, Json> {
  /** What would be changed. */
  readonly plan: Document;
  /** The plan as --json prints it; only the console shows it. */
  readonly planJson?: unknown;
  /** What is asked; null if there is nothing to do. */
  readonly question: Omit<Question, 'plan' | 'json'> | null;
  /** How much would be changed. */
  readonly amount?: Pick<Amount, 'what' | 'planned'> | undefined;
  /** Throws what the target would refuse. */
  readonly require?: (() => void) | undefined;
  /** What the target would refuse as far as that is known before it is tried; by default what `require` throws. */
  readonly refusal?: (() => TokenctlError | undefined) | undefined;
  /** Whether the plan counts sessions: those of a cache that was not read are missing. */
  readonly namesSessions?: boolean | undefined;
  /** The rule of two persons; without it, one person may always make the change. */
  readonly guard?: Guard | undefined;
  readonly incomplete?: TokenctlError | undefined;
  /** Saves the plan to the file of --plan-out, and returns its digest. */
  readonly save?: ((path: string) => Promise<{ readonly digest: string }>) | undefined;
  /** What is said after a plan that is not carried out: in a dry run, and where it is saved. */
  readonly preview?: Document | undefined;
  /** How it ends if there is nothing to do; by default with the plan, which says so. */
  readonly nothing?: (() => Ending | Promise<Ending>) | undefined;
  /** Acts. `begin` opens the change, in another runtime where the credential was replaced; signals are caught from then on. */
  act(begin: (working?: Runtime) => Promise<Begun>): Promise<Done>;
  ended(done: Done): Ending | Promise<Ending>;
  json(outcome: Outcome<Done>): Json;
}

const NO_FILE: PlanFileJson = { planFile: null, digest: null };
const DRY_RUN = faint`Dry run. Nothing was changed.`;

/**
 * Makes a change that was planned, or ends before that: with the plan in a file (--plan-out), after a dry run, and where there
 * is nothing to do. The same for all changes: the plan is shown and confirmed, and nothing is done without the approval that
 * it needs.
 *
 * @throws TokenctlError `not_confirmed`, `not_approved`, and the errors of the operation
 */
export async function change<Done, Json>(
  { runtime, confirmation, flags }: ChangeRequest,
  planned: PlannedChange<Done, Json>,
): Promise<Report<Json>> {
  const { plan, question, amount, incomplete, guard } = planned;
  const dryRun = flags['dry-run'] === true;
  const approve = async () =>
    guard === undefined ? undefined : await approvalFor({ runtime, flags, ...guard });
  const unchanged = (ending: Ending, file = NO_FILE) =>
    report({
      amount: amount && { ...amount, done: 0, dryRun },
      ...ending,
      json: planned.json({ dryRun, done: null, file }),
    });
  const unmade = [...plan, ...(planned.preview ?? [])];
  const description = await runtime.description();
  const unread = planned.namesSessions === true ? unreadSessions(description) : undefined;
  const requireWritable = () => requirePrimary(description, 'A change');
  if (!dryRun) requireWritable();
  const path = flags['plan-out'];
  if (path !== undefined && planned.save !== undefined && question !== null) {
    const { digest } = await planned.save(path);
    const saved = lines(`Saved the plan to ${path}, digest ${digest.slice(0, 12)}. Nothing was changed.`);
    return unchanged(
      { document: [...unmade, saved], amount: undefined, failure: incomplete ?? unread },
      { planFile: path, digest },
    );
  }
  const foreseen = planned.refusal ?? (() => refusalAhead(() => planned.require?.()));
  if (dryRun) {
    const refused =
      refusalAhead(requireWritable) ?? foreseen() ?? incomplete ?? (await approvalRefusal(approve)) ?? unread;
    const end = lines(confirmation.afterPlan ?? DRY_RUN);
    return unchanged({ document: [...unmade, end], failure: refused });
  }
  if (question === null) {
    await ignoringMissingApproval(approve);
    const ending = (await planned.nothing?.()) ?? { document: plan, failure: incomplete };
    return unchanged({ ...ending, failure: ending.failure ?? unread });
  }
  planned.require?.();
  const approval = await approve();
  await confirmation.confirm({ plan, json: planned.planJson, ...question });
  const progress = runtime.progress('Revoking');
  const begin = async (working = runtime) => ({
    ...(await working.change({ ...flags, approval })),
    onProgress: progress.step,
  });
  const done = await planned.act(begin).finally(progress.end);
  return report({ ...(await planned.ended(done)), json: planned.json({ dryRun, done, file: NO_FILE }) });
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

/**
 * The members of a report that was not made, all null: `--json` has the same members with and without a change.
 *
 * @param names Their names, with spaces between them.
 */
export function notMade<const Names extends string>(names: Names): { readonly [Name in Words<Names>]: null } {
  return Object.fromEntries(names.split(' ').map((name) => [name, null])) as {
    readonly [Name in Words<Names>]: null;
  };
}
