import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import type { Runtime } from '../../app/runtime.ts';
import { approvalRuleOf } from '../../config/contexts.ts';
import type { ApprovalRule } from '../../domain/approval.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { describeScope, providers } from '../../domain/incident/incident.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import { entryTarget, type RecordedApproval } from '../../operations/journal/journal.ts';
import {
  digestOf,
  requireApproved,
  type SavedLockdown,
  type SavedPlan,
  savePlan,
} from '../../operations/revocation/saved-plan.ts';
import { refusalAhead } from '../../operations/visibility.ts';
import { countText } from '../../reports/tables/text.ts';
import { type ChangeFlags, requireReadable } from '../flags.ts';

/** The largest file that is read, in bytes: 100,000 tokens take about 20 MB. */
const MAX_BYTES = 64 * 1024 * 1024;

const planned = z.array(
  z.strictObject({
    id: z.number().int().positive(),
    user: z.strictObject({ id: z.number().int(), username: z.string() }).nullable(),
    application: z.string().nullable(),
    created: z.iso.datetime(),
    fingerprint: z.string().nullable(),
  }),
);

const common = {
  version: z.literal(1),
  made: z.strictObject({ at: z.iso.datetime(), by: z.record(z.string(), z.string()) }),
  target: z.record(z.string(), z.string()),
  selection: z.string(),
  requiresApproval: z.literal(true).optional(),
  digest: z.string(),
};

const names = z.array(z.string());

const file = z.discriminatedUnion('format', [
  z.strictObject({
    format: z.literal('tokenctl-plan'),
    ...common,
    withRefreshTokens: z.boolean(),
    includeOwn: z.boolean(),
    accessTokens: planned,
    refreshTokens: planned,
    authorizationCodes: planned,
  }),
  z.strictObject({
    format: z.literal('tokenctl-lockdown-plan'),
    ...common,
    scope: z.discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('users'), names }),
      z.strictObject({ kind: z.literal('applications'), names }),
      z.strictObject({ kind: z.literal('identity_provider'), provider: z.enum(providers) }),
      z.strictObject({ kind: z.literal('all') }),
    ]),
    measures: z.strictObject({
      basicAuthentication: z.boolean(),
      externalTokens: z.boolean(),
      deactivate: z.boolean(),
      keepActive: names,
      lifetimes: z.boolean(),
      resetPasswords: z.literal(true).exactOptional(),
      stripRoles: z.literal(true).exactOptional(),
      endApplications: z.literal(true).exactOptional(),
    }),
    lasts: z.number().positive().nullable(),
  }),
]);

/** A plan in a file: of a revocation or of a lockdown. */
export type AnyPlan = SavedPlan | SavedLockdown;

/** What {@link planFlags} parse to. */
export interface PlanFlags extends ChangeFlags {
  /** The file of the plan that is applied. */
  readonly plan?: string | undefined;
  /** Saves the plan to this file instead of carrying it out. */
  readonly 'plan-out'?: string | undefined;
  readonly 'approval-file'?: string | undefined;
  readonly 'require-approval'?: boolean | undefined;
  readonly 'break-glass'?: boolean | undefined;
}

/**
 * Saves the plan of a revocation to a new file that only its owner can read. Changes nothing at the target.
 *
 * @throws TokenctlError `configuration` for a file that exists or cannot be written, and as {@link savePlan}.
 */
export async function writePlanFile(
  runtime: Runtime,
  options: {
    readonly path: string;
    readonly plan: RevocationPlan;
    readonly includeOwn: boolean;
    readonly flags: PlanFlags;
  },
): Promise<SavedPlan> {
  const { path, flags, ...planned } = options;
  const description = await runtime.description();
  const requiresApproval = requestedApproval(flags, ruleOf(runtime, description.context));
  const saved = await savePlan({
    ...{ ...planned, requiresApproval, description },
    target: await runtime.target(),
    ...(await madeNow(runtime)),
  });
  writeNew(path, saved);
  return saved;
}

/**
 * Saves a lockdown to a new file that only its owner can read.
 *
 * @throws TokenctlError `configuration` for a file that exists or cannot be written.
 */
export async function writeLockdownFile(
  runtime: Runtime,
  options: Pick<SavedLockdown, 'scope' | 'measures' | 'lasts' | 'selection'> & {
    readonly path: string;
    readonly flags: PlanFlags;
  },
): Promise<SavedLockdown> {
  const { path, flags, ...order } = options;
  const description = await runtime.description();
  const { at, by } = await madeNow(runtime);
  const draft: Omit<SavedLockdown, 'digest'> = {
    ...{ format: 'tokenctl-lockdown-plan', version: 1, made: { at: at.toISOString(), by } },
    target: entryTarget(description),
    ...order,
    ...(requestedApproval(flags, ruleOf(runtime, description.context)) && { requiresApproval: true }),
  };
  const saved = { ...draft, digest: digestOf(draft) };
  writeNew(path, saved);
  return saved;
}

async function madeNow(runtime: Runtime) {
  const { identity } = await runtime.description();
  return { at: runtime.clock.now(), by: { ...runtime.operator, as: identity.username } };
}

function writeNew(path: string, plan: AnyPlan): void {
  try {
    writeFileSync(path, `${JSON.stringify(plan, null, 2)}\n`, { flag: 'wx', mode: 0o600, flush: true });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new TokenctlError(
      'configuration',
      code === 'EEXIST'
        ? `The file of --plan-out, ${path}, exists`
        : `Cannot write the plan to ${path} (${code})`,
      { hint: 'Give the name of a new file in a directory that you can write.', cause },
    );
  }
}

/**
 * Reads a saved plan of any kind.
 *
 * @throws TokenctlError `configuration` for a file that cannot be read, is no plan, or was changed since.
 */
export function readAnyPlan(path: string, what = 'The file of --plan'): AnyPlan {
  requireReadable(path, what);
  const saved = statSync(path).size > MAX_BYTES ? undefined : file.safeParse(parsed(path)).data;
  if (saved === undefined) {
    throw new TokenctlError('configuration', `${path} is not a plan of this version of tokenctl`, {
      hint: 'Make a plan with `tokenctl tokens revoke --plan-out FILE`.',
    });
  }
  // An absent member is no member, for the digest and for the types.
  const { requiresApproval, ...others } = saved;
  const plan: AnyPlan = { ...others, ...(requiresApproval && { requiresApproval }) };
  // The words of a lockdown follow from its scope: others would show an approver something else than what is done.
  const isWorded = plan.format !== 'tokenctl-lockdown-plan' || plan.selection === describeScope(plan.scope);
  if (digestOf(plan) === plan.digest && isWorded) return plan;
  throw new TokenctlError(
    'configuration',
    `The plan ${path} was changed after it was made: its digest or its wording differs`,
    {
      hint: 'Make a new plan with --plan-out.',
    },
  );
}

/**
 * Reads the saved plan of a revocation.
 *
 * @throws TokenctlError as {@link readAnyPlan}; `usage` for the plan of a lockdown.
 */
export function readPlanFile(path: string): SavedPlan {
  const plan = readAnyPlan(path);
  if (plan.format === 'tokenctl-plan') return plan;
  throw new TokenctlError('usage', `${path} is the plan of a lockdown`, {
    hint: 'Apply it with `tokenctl incident lockdown --plan FILE`.',
  });
}

function parsed(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/** The file of a plan's approval, where no other is named. */
export function approvalPath(plan: string): string {
  return `${plan}.approval`;
}

/** An approval is a few lines. */
const MAX_APPROVAL_BYTES = 65_536;

/**
 * The text of an approval; null if there is no such file.
 *
 * @throws TokenctlError `configuration` if it cannot be read.
 */
export function readApproval(path: string): string | null {
  try {
    return statSync(path).size > MAX_APPROVAL_BYTES ? '' : readFileSync(path, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw new TokenctlError('configuration', `Cannot read the approval ${path} (${code})`, { cause });
  }
}

function ruleOf(runtime: Runtime, context: string): ApprovalRule {
  return approvalRuleOf(runtime.configuration, context);
}

/** Whether the rule of two persons may apply to a saved plan. */
export function needsTwoPersons(
  runtime: Runtime,
  { context, saved }: { readonly context: string; readonly saved: AnyPlan },
): boolean {
  return saved.requiresApproval === true || ruleOf(runtime, context).required;
}

/** Whether --require-approval is given; then an approver must be configured. */
function requestedApproval(flags: PlanFlags, { approvers }: ApprovalRule): boolean {
  if (flags['require-approval'] !== true) return false;
  if (Object.keys(approvers).length > 0) return true;
  throw new TokenctlError('configuration', '--require-approval is given, and no approver is configured', {
    hint: 'Add approval.approvers to the configuration. `tokenctl plan key` makes a key.',
  });
}

/** What is about to be done, for the rule of two persons. */
interface GuardedChange {
  readonly runtime: Runtime;
  readonly flags: PlanFlags;
  /** As a phrase: `revoking 296 tokens`. */
  readonly what: string;
  /** Whether the rule lets one person do it alone. */
  readonly alone: (rule: ApprovalRule) => boolean;
  /** The saved plan that is applied. */
  readonly saved?: AnyPlan | undefined;
  /** The command that takes --plan and --plan-out; null without one for this. */
  readonly command: 'tokens revoke' | 'incident lockdown' | null;
}

/**
 * Applies the rule of two persons.
 *
 * @returns What the audit log records of it; undefined if one person may do it alone.
 * @throws TokenctlError `not_approved` if an approval is needed and no valid one is found; `usage` for --break-glass
 * without a reason; as {@link requireApproved}
 */
export async function approvalFor(change: GuardedChange): Promise<RecordedApproval | undefined> {
  const { runtime, flags, saved } = change;
  const description = await runtime.description();
  const rule = ruleOf(runtime, description.context);
  const isAsked = requestedApproval(flags, rule) || saved?.requiresApproval === true;
  if (!isAsked && (!rule.required || change.alone(rule))) return undefined;
  if (flags['break-glass'] === true && rule.breakGlass) {
    if ((flags.reason ?? '').trim() !== '') {
      return { breakGlass: true, ...(saved && { plan: saved.digest }) };
    }
    throw new TokenctlError('usage', '--break-glass needs a reason', {
      hint: 'Add --reason. The audit log records both.',
    });
  }
  if (saved === undefined || flags.plan === undefined) throw notApproved(change, rule);
  const note = readApproval(flags['approval-file'] ?? approvalPath(flags.plan));
  if (note === null) throw notApproved(change, rule);
  // The address is what the approver read; the controller may have others.
  if (saved.target['address'] !== description.address) {
    throw new TokenctlError(
      'not_approved',
      `The plan that was approved names ${saved.target['address']}, not ${description.address}`,
      { hint: `Apply it in the context of the plan (${saved.target['context']}), or make a new plan here.` },
    );
  }
  return await requireApproved({
    ...{ plan: saved, note, rule, now: runtime.clock.now(), log: await runtime.auditLog() },
    actor: { ...runtime.operator, as: description.identity.username },
  });
}

/**
 * What a dry run says if the change is refused without an approval.
 *
 * @returns Undefined if it would not be refused for that.
 */
export async function approvalRefusal(approve: () => Promise<unknown>): Promise<TokenctlError | undefined> {
  const refusal = await approve().then(
    () => undefined,
    (error: unknown) => error,
  );
  return refusalAhead(() => {
    if (refusal !== undefined) throw refusal;
  });
}

/** The revocation of tokens under the rule of two persons. */
export function revocationGuard(tokens: number): Pick<GuardedChange, 'what' | 'alone' | 'command'> {
  return {
    what: `Revoking ${countText(tokens, 'token')}`,
    alone: ({ aloneUpTo }) => tokens <= aloneUpTo,
    command: 'tokens revoke',
  };
}

/** What is done to several users at once under the rule of two persons: one user may be handled alone. */
export function usersGuard(
  what: string,
  users: number | 'all',
): Pick<GuardedChange, 'what' | 'alone' | 'command'> {
  return { what, alone: () => users !== 'all' && users <= 1, command: null };
}

function notApproved({ what, command, flags, alone }: GuardedChange, rule: ApprovalRule): TokenctlError {
  const who = Object.keys(rule.approvers).join(' or ');
  const file = flags.plan ?? 'plan.json';
  const save = flags.plan === undefined ? 'Save the plan with --plan-out plan.json. ' : '';
  const ways = [
    command === null
      ? 'Do it for one user at a time, or with a plan of `tokenctl tokens revoke` or `incident lockdown`.'
      : `${save}Let ${who} run \`tokenctl plan approve ${file}\`, and apply it: \`tokenctl ${command} --plan ${file}\`.`,
    ...(rule.breakGlass && flags['break-glass'] !== true
      ? ['In an emergency, --break-glass with --reason goes on alone, and is recorded.']
      : []),
  ];
  const limit =
    rule.required && command === 'tokens revoke' && !alone(rule)
      ? `: one person may revoke up to ${rule.aloneUpTo} here`
      : '';
  const forbidden = flags['break-glass'] === true ? ' --break-glass is not allowed here' : '';
  return new TokenctlError(
    'not_approved',
    `${what} needs the approval of a second person${limit}.${forbidden}`,
    { hint: ways.join(' ') },
  );
}
