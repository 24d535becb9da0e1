import { join } from 'node:path';
import { stateFolder } from '../../config/paths.ts';
import { TokenctlError } from '../../core/errors.ts';
import type { LockdownScope, Measures, Provider } from '../../core/incident/scope.ts';
import { type LockdownReport, lockDown } from '../../operations/incident/lock-down.ts';
import { type LockdownPlan, planLockdown } from '../../operations/incident/plan-lockdown.ts';
import type { Runtime } from '../../runtime.ts';
import type { Consent } from '../consent.ts';
import { unfinishedWork } from '../errors/unfinished-work.ts';
import type { ChangeFlags } from '../flags.ts';
import { printable } from '../output/printable.ts';
import { progressLine } from '../output/progress.ts';
import { type Report, report } from '../output/result.ts';
import { timeText } from '../output/times.ts';
import { lockdownPlanText } from './lockdown-text.ts';
import { snapshotFiles } from './snapshot-file.ts';
import { byHandLines, doorLines, stepLines } from './steps-text.ts';

/** The flags that say what is locked down. */
interface LockdownFlags extends ChangeFlags {
  readonly user?: readonly string[] | undefined;
  readonly application?: readonly string[] | undefined;
  readonly 'identity-provider'?: Provider | undefined;
  readonly all?: boolean | undefined;
  readonly deactivate?: boolean | undefined;
  readonly 'keep-active'?: readonly string[] | undefined;
  readonly 'basic-auth-off'?: boolean | undefined;
  readonly 'external-tokens-off'?: boolean | undefined;
  readonly 'shorten-lifetimes'?: boolean | undefined;
  /** In milliseconds. */
  readonly for?: number | undefined;
}

/** What a lockdown is asked for with. */
export interface LockdownRequest {
  readonly runtime: Runtime;
  readonly consent: Consent;
  readonly flags: LockdownFlags;
}

/**
 * Whom the flags mean.
 *
 * @throws TokenctlError `usage` where they mean nobody, or several kinds.
 */
function scopeFrom(flags: LockdownFlags): LockdownScope {
  const { user, application, 'identity-provider': provider, all } = flags;
  const scopes: LockdownScope[] = [
    ...(user === undefined ? [] : [{ kind: 'users' as const, names: [...new Set(user)].sort() }]),
    ...(application === undefined
      ? []
      : [{ kind: 'applications' as const, names: [...new Set(application)].sort() }]),
    ...(provider === undefined ? [] : [{ kind: 'identity_provider' as const, provider }]),
    ...(all === true ? [{ kind: 'all' as const }] : []),
  ];
  const [scope] = scopes;
  if (scope !== undefined && scopes.length === 1) return scope;
  throw new TokenctlError(
    'usage',
    scope === undefined ? 'Nothing is selected to lock down' : 'Several kinds of selection are given',
    { hint: 'Give one of --user, --application, --identity-provider and --all.' },
  );
}

/**
 * The measures of a scope, with those that flags name over them. What concerns everybody is the default only
 * where everybody, or a whole identity provider, is meant.
 *
 * @throws TokenctlError `usage`
 */
function measuresFrom(flags: LockdownFlags, { kind }: LockdownScope): Measures {
  const isWide = kind === 'all' || kind === 'identity_provider';
  const keepActive = [...new Set(flags['keep-active'] ?? [])].sort();
  const deactivate = flags.deactivate === true;
  if (kind === 'applications' && deactivate) {
    throw new TokenctlError('usage', '--deactivate is about users, and an application is selected', {
      hint: 'Name its users with --user.',
    });
  }
  if (keepActive.length > 0 && !deactivate) {
    throw new TokenctlError('usage', '--keep-active without --deactivate keeps nobody from anything');
  }
  return {
    basicAuthentication: flags['basic-auth-off'] ?? isWide,
    externalTokens: flags['external-tokens-off'] ?? isWide,
    deactivate,
    keepActive,
    lifetimes: flags['shorten-lifetimes'] ?? kind === 'all',
  };
}

/**
 * Plans, shows, asks, locks down and reports.
 *
 * @throws TokenctlError `usage`, `not_confirmed`, and whatever the operations throw.
 */
export async function lockdownFlow({ runtime, consent, flags }: LockdownRequest): Promise<Report> {
  const scope = scopeFrom(flags);
  const measures = measuresFrom(flags, scope);
  const description = await runtime.description();
  const plan = await planLockdown({
    target: await runtime.target(),
    description,
    log: await runtime.auditLog(),
    clock: runtime.clock,
    scope,
    measures,
    lasts: flags.for ?? null,
    count: flags.yes !== true || flags['dry-run'] === true,
  });
  const text = lockdownPlanText(plan, description);
  if (flags['dry-run'] === true) {
    return report({ json: { dryRun: true, plan }, text: () => `${text}\nDry run: nothing was changed.\n` });
  }
  await consent.confirm({ plan: text, act: `lock down ${plan.selection}`, type: plan.incident });
  const change = await runtime.change(flags);
  const progress = progressLine('Revoking');
  const files = snapshotFiles(join(stateFolder(runtime.environment), 'incidents'));
  const done = await lockDown({ ...change, plan, files, onProgress: progress.step }).finally(progress.end);
  return lockdownResult(done, plan);
}

function lockdownResult(done: LockdownReport, plan: LockdownPlan): Report {
  const { interrupted, stopped, result, incident } = done;
  return report({
    json: done,
    text: () => resultText(done, plan),
    failure: unfinishedWork({
      interrupted,
      stopped,
      left: `Not all of ${incident} is locked down for certain`,
      open: result === 'partly',
    }),
  });
}

function resultText(done: LockdownReport, { selection }: LockdownPlan): string {
  const { incident, result, seconds, steps, doors, byHand, kept, until, run } = done;
  const state = result === 'locked' ? 'Locked down' : 'Locked down in part';
  const lines = [
    `${state}: ${printable.value(selection)}, in ${seconds.toFixed(1)} s. The incident is ${incident}.`,
    '',
    ...stepLines(steps),
    ...doorLines(doors),
    ...byHandLines(byHand),
    '',
    ...(kept.length === 0
      ? []
      : [
          `Kept: your own access (token ${kept.join(', ')}). Revoke it last, with tokens revoke --include-own.`,
        ]),
    until === null
      ? `It stays until: tokenctl incident lift ${incident}`
      : `It is over at ${timeText(until)}: tokenctl incident lift --due`,
    `In the audit log as run ${run}.`,
  ];
  return `${lines.join('\n')}\n`;
}
