import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { snapshotFiles } from '../../app/snapshot-file.ts';
import { restContextsOf } from '../../config/contexts.ts';
import { stateFolder } from '../../config/paths.ts';
import { namedDatabases } from '../../config/schema.ts';
import { type AccessPath, pathNames, uncheckedPaths } from '../../domain/access.ts';
import type { LockdownScope } from '../../domain/incident/incident.ts';
import { amountsOf } from '../../domain/plan.ts';
import { shellWord } from '../../domain/remedies.ts';
import { heldLockdown, type LockdownReport, lockDown } from '../../operations/incident/lock-down.ts';
import { historyText, namesFailure } from '../../operations/incident/name-history.ts';
import { type LockdownPlan, planLockdown } from '../../operations/incident/plan-lockdown.ts';
import type { Target, TargetDescription } from '../../operations/ports/target.ts';
import { requireSameController, type SavedLockdown } from '../../operations/revocation/saved-plan.ts';
import { renamedText, requireMeant, requireUnchanged } from '../../operations/scope/bound-names.ts';
import { requireMayChange } from '../../operations/scope/visibility.ts';
import { refuseLockout } from '../../operations/settings/settings.ts';
import { accessParts } from '../../reports/access-lines.ts';
import { folded, good, type Line, lines, warning } from '../../reports/document.ts';
import type { MaybeMade } from '../../reports/result.ts';
import { countText } from '../../reports/tables/text.ts';
import {
  type ChangeRequest,
  type Ending,
  notMade,
  type PlanFileJson,
  type PlannedChange,
  type Question,
} from '../change/change.ts';
import { runLine, stepAmount, stepLines, tookText, unfinishedWork } from '../change/ending.ts';
import { writeLockdownFile } from '../change/plan-file.ts';
import { typedName } from '../change/plan-text.ts';
import {
  createRescueToken,
  type Rescue,
  type RescueJson,
  rescueFileFor,
  rescueJson,
  rescueLines,
  rescuePlanLine,
} from '../settings/rescue-token.ts';
import type { LockdownFlags } from './incident-flags.ts';
import { endText, hintForPaths, tellOfDue } from './incident-text.ts';
import { isOfOneUser, type LockdownOrder, meantScope } from './lockdown-order.ts';
import { kindOf, lockdownPlanDocument } from './lockdown-plan.ts';

/** What `incident lockdown` prints with `--json`. After a dry run, the members of the report are null. */
export interface LockdownJson extends MaybeMade<LockdownReport>, RescueJson, PlanFileJson {
  readonly dryRun: boolean;
  readonly plan: LockdownPlan;
}

export interface LockdownRequest extends ChangeRequest<LockdownFlags> {
  readonly order: LockdownOrder;
  /** Whether the lockdown covers other contexts as well. */
  readonly several: boolean;
}

export type LockdownChange = PlannedChange<Locked, LockdownJson> & { readonly incident: string };

/** Plans a lockdown. There is nothing to do if it is already fully in effect. */
export async function lockdownFlow(request: LockdownRequest): Promise<LockdownChange> {
  const { runtime, flags, several } = request;
  const { measures, sharedId, proposedId, lasts, saved, turns } = request.order;
  const { scope, remarks } = await meantScope(runtime, request.order);
  const description = await runtime.description();
  if (saved !== null) {
    requireSameController(saved, description);
    await requireSameNames(await runtime.target(), saved);
  }
  const dryRun = flags['dry-run'] === true;
  const rescueFile = measures.basicAuthentication ? await rescueFileFor(request) : null;
  const planWith = async (
    working: Runtime,
    options: { count: boolean; mayLockOut: boolean } & Partial<Pick<LockdownPlan, 'scope' | 'measures'>>,
  ) =>
    planLockdown({
      ...(await working.reading()),
      scope,
      measures,
      ...(several ? { sharedId } : { proposedId }),
      lasts,
      ...options,
      remarks,
    });
  const plan = await planWith(runtime, {
    count: flags.yes !== true || dryRun,
    mayLockOut: rescueFile !== null || dryRun,
  });
  const isPlanned = dryRun || flags['plan-out'] !== undefined;
  const isHeld = async (working: Runtime, agreed: LockdownPlan) =>
    lasts === null ? await heldLockdown(await working.reading(), agreed) : null;
  const held = isPlanned ? null : await isHeld(runtime, plan);
  return {
    incident: plan.incident,
    plan: [
      lines(rescueFile !== null && rescuePlanLine(rescueFile, description)),
      ...lockdownPlanDocument(plan, description, {
        ends: await endText(runtime, { ...description, ...plan }),
        opens: !isPlanned || proposedId !== undefined,
      }),
      // Without a question, the result follows immediately and says it.
      ...(flags.yes === true ? [] : accessParts(plan.accessPaths)),
    ],
    preview: flags.yes === true ? accessParts(plan.accessPaths) : [],
    question: held === null ? { act: `lock down ${plan.selection}`, ...answerFor(plan) } : null,
    planJson: { incident: plan.incident },
    namesSessions: plan.revocation !== null && plan.revocation.sessions !== null,
    save: (path: string) => writeLockdownFile(runtime, { path, flags, lasts, ...ordered(plan) }),
    require() {
      requireMayChange(description);
      if (measures.basicAuthentication && rescueFile === null)
        refuseLockout({ AUTH_BASIC_ENABLED: false }, description);
    },
    guard: {
      what: `A lockdown of ${plan.selection}`,
      alone: () => isOfOneUser(scope),
      command: 'incident lockdown',
      saved: saved ?? undefined,
    },
    nothing: held === null ? undefined : () => lockdownEnding(held, plan, { runtime, rescue: [] }),
    async act(begin) {
      await requireMeant(await runtime.target(), plan);
      const rescue =
        rescueFile === null ? null : await createRescueToken({ runtime, flags, file: rescueFile });
      const working = rescue?.runtime ?? runtime;
      return await inTurn(turns, description.address, async (isAgain) => {
        // The kept credential is a different one now, or another context has locked down this controller.
        const agreed =
          rescue === null && !isAgain
            ? plan
            : {
                ...(await planWith(working, { count: isAgain, mayLockOut: isAgain, ...ordered(plan) })),
                incident: plan.incident,
              };
        const already = isAgain ? await isHeld(working, agreed) : null;
        if (already !== null) return { plan: agreed, report: already, rescue };
        const files = snapshotFiles(join(stateFolder(runtime.environment), 'incidents'));
        const report = await lockDown({ ...(await begin(working)), plan: agreed, files });
        return { plan: agreed, report, rescue };
      });
    },
    async ended({ plan: agreed, report, rescue }) {
      const here = rescue?.runtime ?? runtime;
      return await lockdownEnding(report, agreed, { runtime: here, rescue: await rescueLines(rescue) });
    },
    json: ({ dryRun, done, file }) => ({
      dryRun,
      plan: done?.plan ?? plan,
      ...(done?.report ?? held ?? NOT_MADE),
      ...rescueJson(done?.rescue ?? null),
      ...file,
    }),
    async after(report) {
      if (flags['plan-out'] === undefined) await tellOfDue(runtime);
      return report;
    },
  };
}

/** The plan's order, with the ids that its names were resolved to. */
function ordered({ selection, scope, measures }: LockdownPlan) {
  return { selection, scope, measures };
}

/** An approval is valid for the users named when it was given, by id, name and creation time. */
async function requireSameNames(target: Target, { scope, measures }: SavedLockdown): Promise<void> {
  if ('names' in scope) await requireUnchanged(target, kindOf(scope), scope.bound ?? []);
  await requireUnchanged(target, 'user', measures.keepActiveBound ?? []);
}

interface Locked {
  /** The confirmed plan, re-read after the preceding steps. */
  readonly plan: LockdownPlan;
  /** Without a run if it was already in effect. */
  readonly report: LockdownReport;
  readonly rescue: Rescue | null;
}

const NOT_MADE = notMade(
  'incident result until steps accessPaths kept renamed interrupted stopped run seconds',
);

/** Runs on a controller after the other contexts of the same address, so that an incident is opened once. */
async function inTurn<T>(
  turns: Map<string, Promise<unknown>>,
  address: string,
  work: (isAgain: boolean) => Promise<T>,
): Promise<T> {
  const before = turns.get(address);
  const mine = Promise.resolve(before).then(() => work(before !== undefined));
  turns.set(
    address,
    mine.catch(() => undefined),
  );
  return await mine;
}

/** The answer to type: the name of the single user or application, otherwise the number of access tokens. */
function answerFor({ scope, incident, revocation }: LockdownPlan): Pick<Question, 'type' | 'tokens'> {
  const name = nameToType(scope, incident);
  if (name !== null) return { type: name };
  const tokens = revocation === null ? 0 : amountsOf(revocation).accessTokens;
  return { type: String(tokens), tokens };
}

/**
 * The name of an incident's only user or application, or its id if that cannot be typed; null for several.
 */
export function nameToType(scope: LockdownScope, incident: string): string | null {
  const names = 'names' in scope ? scope.names : [];
  const [only = ''] = names;
  return names.length === 1 ? typedName(only, incident) : null;
}

/** The ending of a lockdown that was done, or already in effect. */
async function lockdownEnding(
  report: LockdownReport,
  { selection, scope, names }: LockdownPlan,
  { runtime, rescue }: { runtime: Runtime; rescue: readonly string[] },
): Promise<Ending> {
  const description = await runtime.description();
  const { incident, result, seconds, steps, accessPaths, kept, renamed, run, interrupted, stopped } = report;
  const isLimited = result === 'locked' && uncheckedPaths(accessPaths).length > 0;
  const limit = isLimited ? ' as far as this context can check' : '';
  return {
    document: [
      lines(
        run === null
          ? good`Already locked down${limit}: ${selection}. Incident: ${incident}. Nothing was changed.`
          : result === 'locked'
            ? good`Locked down${limit}: ${selection}, ${tookText(seconds)}. Incident: ${incident}.`
            : warning`Partly locked down: ${selection}, ${tookText(seconds)}. Incident: ${incident}.`,
        historyText(names),
      ),
      folded(
        renamed.length === 0 &&
          steps.every(({ result: each }) => each === 'done' || each === 'unchanged') &&
          `${countText(steps.length, 'step')} done`,
        stepLines(steps),
        renamedText(kindOf(scope), renamed),
      ),
      ...accessParts(accessPaths, 'names' in scope ? scope.names : []),
      lines(
        keptText(kept),
        await untilText(runtime, report),
        stoppedRulesText(runtime, scope, description),
        nextText(scope, { incident, context: description.context }),
        runOutsideConsole(run),
        rescue,
      ),
    ],
    amount: stepAmount(steps),
    failure:
      unfinishedWork({
        interrupted,
        stopped,
        left: `${incident} is only partly in place`,
        open: result === 'partly',
      }) ??
      uncheckedFailure(accessPaths, description) ??
      namesFailure(names, { ...description, command: 'incident lockdown --user' }),
  };
}

/** A lockdown is complete only if every access path was checked. */
function uncheckedFailure(accessPaths: readonly AccessPath[], description: TargetDescription) {
  const unchecked = uncheckedPaths(accessPaths);
  if (unchecked.length === 0) return undefined;
  return new TokenctlError('partly_done', `Not checked: ${pathNames(unchecked)}`, {
    hint: hintForPaths(accessPaths, { description }),
  });
}

/** The console shows the run on its page of changes. */
function runOutsideConsole(run: string | null): Line | null {
  const line = runLine(run);
  return line === null ? null : { ...line, inConsole: '' };
}

function keptText(kept: readonly number[]): Line | '' {
  return kept.length === 0 ? '' : warning`Kept: your own access (token ${kept.join(', ')}).`;
}

async function untilText(runtime: Runtime, { incident, until }: Pick<LockdownReport, 'incident' | 'until'>) {
  const { context } = await runtime.description();
  if (until !== null) return await endText(runtime, { context, until });
  return {
    text: `No end time: it stays in place until lifted. To lift it: tokenctl incident lift ${incident} --context ${shellWord(context)}`,
    // The plan said so.
    inConsole: '',
  };
}

/** The broker's rules known to be for these users here. Over REST, rules are for their context's account. */
function stoppedRulesText(
  { configuration }: Runtime,
  scope: LockdownScope,
  { context }: Pick<TargetDescription, 'context'>,
): string | null {
  if (configuration.invalid.has('broker') || configuration.broker === undefined) return null;
  const [base = ''] = context.split('/');
  const linked = Object.hasOwn(configuration.contexts, base) ? configuration.contexts[base] : undefined;
  const databases = linked === undefined ? [] : namedDatabases(linked).map(([, name]) => name);
  const here = new Set([context, base, ...databases, ...restContextsOf(configuration, context)]);
  const stopped = Object.entries(configuration.broker.rules).filter(
    ([, rule]) =>
      here.has(rule.context) &&
      (scope.kind === 'all' || (scope.kind === 'users' && scope.names.includes(rule.user ?? ''))),
  );
  if (stopped.length === 0) return null;
  return `Rules of the broker that give no tokens while it is open: ${stopped.map(([name]) => name).join(', ')}.`;
}

/** The next step, to find out what was done. The console has a button for it. */
function nextText(
  scope: LockdownPlan['scope'],
  { incident, context }: { incident: string; context: string },
): Line | null {
  const runbook = RUNBOOKS[scope.kind];
  if (runbook === undefined) return null;
  const command = `tokenctl incident runbook ${runbook} --incident ${incident} --context ${shellWord(context)}`;
  return { text: `To continue, from the investigation to the report: ${command}`, inConsole: '' };
}

const RUNBOOKS: Readonly<Partial<Record<LockdownPlan['scope']['kind'], string>>> = {
  users: 'stolen-token',
  applications: 'leaked-repository',
};
