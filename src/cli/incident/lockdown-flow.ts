import { join } from 'node:path';
import type { Runtime } from '../../app/runtime.ts';
import { stateFolder } from '../../config/paths.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { Lock } from '../../domain/incident/incident.ts';
import { type IncidentStatus, incidentStatus } from '../../operations/incident/incident-status.ts';
import { type LockdownReport, lockDown } from '../../operations/incident/lock-down.ts';
import { type LockdownPlan, planLockdown } from '../../operations/incident/plan-lockdown.ts';
import type { AccessPath } from '../../operations/incident/verify-access-paths.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { requireSameController } from '../../operations/revocation/saved-plan.ts';
import { refuseLockout } from '../../operations/settings/settings.ts';
import { refusalAhead, requireMayChange } from '../../operations/visibility.ts';
import { type MaybeMade, type NotMade, type Report, report } from '../../reports/tables/result.ts';
import { countText, printable, timeText } from '../../reports/tables/text.ts';
import type { Confirmation, Question } from '../confirmation.ts';
import { unfinishedWork } from '../errors/failure.ts';
import {
  createRescueToken,
  type RescueJson,
  rescueFileFor,
  rescueJson,
  rescuePlanLine,
  rescueText,
} from '../rescue-token.ts';
import { approvalFor, approvalRefusal, writeLockdownFile } from '../revocation/plan-file.ts';
import { amountsOf, expiredText, isNothing, savedText } from '../revocation/revocation-plan.ts';
import {
  accessPathLines,
  hintForPaths,
  manualStepLines,
  stepAmount,
  stepLines,
  tellOfDue,
  uncheckedText,
} from './incident-text.ts';
import { localSteps } from './local-access.ts';
import { isOfOneUser, type LockdownFlags, type LockdownOrder } from './lockdown-order.ts';
import { snapshotFiles } from './snapshot-file.ts';

/** What `incident lockdown` prints with `--json`. After a dry run, the members of the report are null. */
export interface LockdownJson extends MaybeMade<LockdownReport>, RescueJson {
  readonly dryRun: boolean;
  readonly plan: LockdownPlan;
  /** The file of --plan-out; null without it. */
  readonly planFile: string | null;
  /** The digest of the saved plan; null without --plan-out. */
  readonly digest: string | null;
}

export interface LockdownRequest {
  readonly runtime: Runtime;
  readonly confirmation: Confirmation;
  readonly flags: LockdownFlags;
  readonly order: LockdownOrder;
  /** Whether the lockdown covers other contexts as well. */
  readonly several: boolean;
}

/**
 * Plans, confirms, locks down and reports. Does nothing if the lockdown is already fully in effect.
 *
 * @throws TokenctlError `not_confirmed`, and the errors of the operations.
 */
export async function lockdownFlow(request: LockdownRequest): Promise<Report<LockdownJson>> {
  const { runtime, confirmation, flags, several } = request;
  const { scope, measures, sharedId, lasts, saved } = request.order;
  const description = await runtime.description();
  if (saved !== null) requireSameController(saved, description);
  const rescueFile = measures.basicAuthentication ? await rescueFileFor(request) : null;
  const planWith = async (working: Runtime, options: { count: boolean; mayLockOut: boolean }) =>
    planLockdown({
      target: await working.target(),
      description: await working.description(),
      log: await runtime.auditLog(),
      clock: runtime.clock,
      scope,
      measures,
      ...(several && { sharedId }),
      lasts,
      ...options,
    });
  const plan = await planWith(runtime, {
    count: flags.yes !== true || flags['dry-run'] === true,
    mayLockOut: rescueFile !== null || flags['dry-run'] === true,
  });
  const first = rescueFile === null ? '' : `${rescuePlanLine(rescueFile, description)}\n`;
  const text = first + lockdownPlanText(plan, description);
  const approve = () =>
    approvalFor({
      ...{ runtime, flags, saved: saved ?? undefined, command: 'incident lockdown' },
      what: `A lockdown of ${plan.selection}`,
      alone: () => isOfOneUser(scope),
    });
  const { 'plan-out': path } = flags;
  if (path !== undefined) {
    const { selection } = plan;
    const { digest } = await writeLockdownFile(runtime, { path, flags, selection, scope, measures, lasts });
    return report({
      json: { dryRun: false, plan, ...NOT_LOCKED, planFile: path, digest, rescueToken: null },
      text: () => `${text}\n${savedText({ path, digest })}`,
    });
  }
  if (flags['dry-run'] === true) {
    const refusal = await approvalRefusal(approve);
    await tellOfDue(runtime);
    return report({
      json: { dryRun: true, plan, ...NOT_LOCKED, ...NO_FILE, rescueToken: null },
      text: () => `${text}\nDry run. Nothing was changed.\n`,
      failure:
        refusal ??
        refusalAhead(() => {
          requireMayChange(description);
          if (measures.basicAuthentication && rescueFile === null)
            refuseLockout({ AUTH_BASIC_ENABLED: false }, description);
        }),
    });
  }
  const held = lasts === null ? await heldIncident(runtime, plan) : null;
  if (held !== null) {
    await tellOfDue(runtime);
    return heldResult(plan, held, description);
  }
  requireMayChange(description);
  const approval = await approve();
  await confirmation.confirm({ plan: text, act: `lock down ${plan.selection}`, ...answerFor(plan) });
  const rescue = rescueFile === null ? null : await createRescueToken({ runtime, flags, file: rescueFile });
  const working = rescue?.runtime ?? runtime;
  return await inTurn(request.order.turns, description.address, async (isAgain) => {
    // What is kept is another credential now, or another context has locked down this controller.
    const agreed =
      rescue === null && !isAgain
        ? plan
        : { ...(await planWith(working, { count: isAgain, mayLockOut: isAgain })), incident: plan.incident };
    const already = isAgain && lasts === null ? await heldIncident(working, agreed) : null;
    if (already !== null) return heldResult(agreed, already, description);
    const change = await working.change({ ...flags, approval });
    const progress = runtime.progress('Revoking');
    const files = snapshotFiles(join(stateFolder(runtime.environment), 'incidents'));
    const done = await lockDown({ ...change, plan: agreed, files, onProgress: progress.step }).finally(
      progress.end,
    );
    await tellOfDue(runtime);
    const result = lockdownResult(done, agreed, await working.description());
    const saved = await rescueText(rescue);
    return {
      ...result,
      json: { dryRun: false, plan: agreed, ...done, ...NO_FILE, ...rescueJson(rescue) },
      text: () => resultText(done, agreed) + saved,
    };
  });
}

/** Works on one controller after the other contexts of the same address, so that an incident is opened once. */
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

/** What to type: the name of the one user or application, or else the number of access tokens. */
function answerFor({ scope, incident, revocation }: LockdownPlan): Pick<Question, 'type' | 'tokens'> {
  const names = 'names' in scope ? scope.names : [];
  const [only = ''] = names;
  // A name that cannot be typed or is shown escaped.
  if (names.length === 1) return { type: printable.value(only) === only.trim() ? only : incident };
  const tokens = revocation === null ? 0 : amountsOf(revocation).accessTokens;
  return { type: String(tokens), tokens };
}

const NOT_LOCKED: NotMade<LockdownReport> = {
  incident: null,
  result: null,
  until: null,
  steps: null,
  accessPaths: null,
  manualSteps: null,
  kept: null,
  interrupted: null,
  stopped: null,
  run: null,
  seconds: null,
};

/** No plan was saved. */
const NO_FILE = { planFile: null, digest: null };

/** The incident that the plan continues, if it is complete and still in effect; null otherwise. */
async function heldIncident(runtime: Runtime, plan: LockdownPlan): Promise<IncidentStatus | null> {
  const { continues, counted, revocation } = plan;
  if (!continues || !counted || (revocation !== null && !isNothing(amountsOf(revocation)))) return null;
  const { incidents } = await incidentStatus({
    target: await runtime.target(),
    description: await runtime.description(),
    log: await runtime.auditLog(),
    clock: runtime.clock,
    all: false,
  });
  const { address: here } = await runtime.description();
  const isHeld = ({ id, address, state, holds }: IncidentStatus) =>
    id === plan.incident && address === here && state === 'locked' && holds === true;
  return incidents.find(isHeld) ?? null;
}

/** The result if the lockdown is already in effect; the JSON has no steps and no run. */
function heldResult(
  plan: LockdownPlan,
  { uncheckedPaths: accessPaths }: IncidentStatus,
  description: TargetDescription,
): Report<LockdownJson> {
  const { incident, selection, until, manualSteps, revocation } = plan;
  const kept = revocation?.kept.map(({ tokenId }) => tokenId) ?? [];
  const nothing = { steps: [], interrupted: false, stopped: null, run: null, seconds: 0 };
  const unchecked = uncheckedText(accessPaths);
  const limit = unchecked === '' ? '' : ' as far as this context can check';
  return report({
    json: {
      ...{ dryRun: false, plan, incident, result: 'locked', until, manualSteps, kept, accessPaths },
      ...{ ...nothing, ...NO_FILE, rescueToken: null },
    },
    amount: stepAmount([]),
    text: () =>
      [
        `Already locked down${limit}: ${printable.value(selection)}. Incident: ${incident}. Nothing was changed.`,
        ...accessPathLines(accessPaths),
        ...manualStepLines(manualSteps),
        '',
        ...keptLines(kept),
        untilLine({ incident, until }),
        '',
      ].join('\n'),
    failure: uncheckedFailure(accessPaths, description),
  });
}

function lockdownResult(
  done: LockdownReport,
  plan: LockdownPlan,
  description: TargetDescription,
): Report<LockdownJson> {
  const { interrupted, stopped, result, incident, accessPaths } = done;
  const unfinished = unfinishedWork({
    interrupted,
    stopped,
    left: `${incident} is only partly in place`,
    open: result === 'partly',
  });
  return report({
    json: { dryRun: false, plan, ...done, ...NO_FILE, rescueToken: null },
    text: () => resultText(done, plan),
    amount: stepAmount(done.steps),
    failure: unfinished ?? uncheckedFailure(accessPaths, description),
  });
}

/** A lockdown is complete only where every access path was checked. */
function uncheckedFailure(
  accessPaths: readonly AccessPath[],
  description: TargetDescription,
): TokenctlError | undefined {
  const unchecked = uncheckedText(accessPaths);
  if (unchecked === '') return undefined;
  return new TokenctlError('partly_done', `Not checked: ${unchecked}`, {
    hint: hintForPaths(accessPaths, { description, listedUnder: 'Needs manual action' }),
  });
}

function resultText(done: LockdownReport, { selection }: LockdownPlan): string {
  const { incident, result, seconds, steps, accessPaths, manualSteps, kept, until, run } = done;
  const state = result === 'locked' ? 'Locked down' : 'Partly locked down';
  const limit =
    result === 'locked' && uncheckedText(accessPaths) !== '' ? ' as far as this context can check' : '';
  const lines = [
    `${state}${limit}: ${printable.value(selection)}, in ${seconds.toFixed(1)} s. Incident: ${incident}.`,
    '',
    ...stepLines(steps),
    ...accessPathLines(accessPaths),
    ...manualStepLines(manualSteps),
    '',
    ...keptLines(kept),
    untilLine({ incident, until }),
    `Audit log: run ${run}.`,
  ];
  return `${lines.join('\n')}\n`;
}

function goneLines(usersGone: readonly string[]): string[] {
  if (usersGone.length === 0) return [];
  return [`Not found any more: ${usersGone.map(printable.value).join(', ')}.`];
}

function keptLines(kept: readonly number[]): string[] {
  if (kept.length === 0) return [];
  return [`Kept: your own access (token ${kept.join(', ')}).`];
}

function untilLine({ incident, until }: Pick<LockdownReport, 'incident' | 'until'>): string {
  return until === null
    ? `To lift it: tokenctl incident lift ${incident}`
    : `Ends at ${timeText(until)} unless extended. Lift it then with: tokenctl incident lift --due`;
}

/** User names to list. */
const SHOWN = 8;

/** A lockdown plan as text. */
function lockdownPlanText(plan: LockdownPlan, { address, context, identity }: TargetDescription): string {
  const { incident, continues, selection, until } = plan;
  const lines = [
    `Would lock down ${printable.value(selection)}, as ${incident}${continues ? ', an open incident' : ''}.`,
    `At ${address} (context ${context}, as ${printable.value(identity.username)}).`,
    until === null ? 'No end time.' : `Ends at ${timeText(until)} unless extended.`,
    '',
    'Steps:',
    ...stepsOf(plan).map((text, index) => `  ${index + 1}. ${text}`),
    ...ownLines(plan),
    ...manualStepLines(plan.manualSteps),
  ];
  return `${lines.join('\n')}\n`;
}

function stepsOf(plan: LockdownPlan): string[] {
  const { switches, users, lifetimes } = plan;
  return [
    ...switches.map(settingText),
    ...(users.length > 0 ? [`Deactivate ${countText(users.length, 'user')}: ${namesText(users)}.`] : []),
    ...localSteps(plan.local).before,
    'Save a snapshot: tokens, settings, activity of the last hour.',
    ...revocationSteps(plan),
    ...localSteps(plan.local).after,
    ...lifetimes.map(settingText),
    'Check that every way in is closed.',
  ];
}

function revocationSteps({ revocation, counted }: LockdownPlan): string[] {
  if (revocation === null) return ['No user matches now. Nothing to revoke.'];
  const { reach } = revocation;
  if (!counted) {
    const kinds = [
      ...(reach.refreshTokens ? ['refresh tokens'] : []),
      'access tokens',
      ...(reach.authorizationCodes ? ['authorization codes'] : []),
      ...(reach.sessions ? ['sessions'] : []),
    ];
    return [`Revoke or end all ${kinds.join(', ')}. They are counted when this step runs.`];
  }
  const { accessTokens, refreshTokens, authorizationCodes, sessions } = amountsOf(revocation);
  const again = ' and any created until then';
  const expired = expiredText(revocation.refreshTokensExpired);
  return [
    ...(reach.authorizationCodes
      ? [`Delete ${countText(authorizationCodes, 'authorization code')}${again}.`]
      : []),
    ...(reach.refreshTokens
      ? [`Revoke ${countText(refreshTokens, 'refresh token')}${expired}${again}.`]
      : []),
    `Revoke ${countText(accessTokens, 'access token')}${again}.`,
    ...(reach.sessions ? [`End ${countText(sessions, 'session')}.`] : []),
  ];
}

function settingText({ name, before, locked }: Lock): string {
  if (before === locked) return `Keep ${name} at ${valueText(locked)}.`;
  return `Set ${name} from ${valueText(before)} to ${valueText(locked)}.`;
}

/** A setting's value as text. */
export function valueText(value: boolean | number): string {
  return typeof value === 'number' ? String(value) : value ? 'on' : 'off';
}

function namesText(users: readonly Lock[]): string {
  const names = users.slice(0, SHOWN).map(({ name }) => printable.value(name));
  const more = users.length - names.length;
  return names.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function ownLines({ revocation, usersKept, usersGone }: LockdownPlan): string[] {
  const lines = [
    ...(revocation?.kept ?? []).map(
      ({ tokenId }) => `Kept: token ${tokenId}, which may be the credential of this context.`,
    ),
    ...(usersKept.length > 0 ? [`Kept active: ${usersKept.map(printable.value).join(', ')}.`] : []),
    ...goneLines(usersGone),
  ];
  return lines.length === 0 ? [] : ['', ...lines];
}
