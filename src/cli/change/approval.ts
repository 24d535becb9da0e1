import { readFileSync, statSync } from 'node:fs';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { approvalRuleOf } from '../../config/contexts.ts';
import type { ApprovalRule } from '../../domain/approval.ts';
import type { RecordedApproval } from '../../operations/journal/journal.ts';
import { requireApproved } from '../../operations/revocation/approve-plan.ts';
import type { AnyPlan } from '../../operations/revocation/saved-plan.ts';
import { refusalAhead } from '../../operations/scope/visibility.ts';
import { countText } from '../../reports/tables/text.ts';
import type { PlanFlags } from '../flags/flags.ts';

/** The default file of a plan's approval. */
export function approvalPath(plan: string): string {
  return `${plan}.approval`;
}

/** An approval has only a few lines. */
const MAX_APPROVAL_BYTES = 65_536;

/** The text of an approval; null if there is no such file. Throws `configuration` if it cannot be read. */
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

/** Whether the four-eyes rule may apply to a saved plan. */
export function needsTwoPersons(
  runtime: Runtime,
  { context, saved }: { context: string; saved: AnyPlan },
): boolean {
  return saved.requiresApproval === true || ruleOf(runtime, context).required;
}

/** Whether --require-approval is given; an approver must then be configured. */
export function requestedApproval(
  flags: PlanFlags,
  { runtime, context }: { runtime: Runtime; context: string },
): boolean {
  if (flags['require-approval'] !== true) return false;
  const { approvers } = ruleOf(runtime, context);
  if (Object.keys(approvers).length > 0) return true;
  throw new TokenctlError('configuration', '--require-approval requires a configured approver', {
    hint: 'Add approval.approvers to the configuration. Use `tokenctl plan key` to create a key.',
  });
}

/** The description of a change for the four-eyes rule. */
export interface Guard {
  /** As a phrase: `revoking 296 tokens`. */
  readonly what: string;
  /** Whether the rule lets one person do it alone. */
  readonly alone: (rule: ApprovalRule) => boolean;
  /** The saved plan that is applied. */
  readonly saved?: AnyPlan | undefined;
  /** The command that takes --plan and --plan-out; null if there is none. */
  readonly command: 'tokens revoke' | 'incident lockdown' | 'tokens leases' | null;
  /** Without such a command: what to do instead, as a sentence. */
  readonly instead?: string;
}

interface GuardedChange extends Guard {
  readonly runtime: Runtime;
  readonly flags: PlanFlags;
}

/**
 * Applies the four-eyes rule.
 * @returns What the audit log records about it; undefined if one person may do it alone.
 * @throws TokenctlError `not_approved` if an approval is needed and no valid one is found; `usage` for
 * --break-glass without a reason; as {@link requireApproved}
 */
export async function approvalFor(change: GuardedChange): Promise<RecordedApproval | undefined> {
  const { runtime, flags, saved } = change;
  const description = await runtime.description();
  const rule = ruleOf(runtime, description.context);
  const isAsked =
    requestedApproval(flags, { runtime, context: description.context }) || saved?.requiresApproval === true;
  if (!isAsked && (!rule.required || change.alone(rule))) return undefined;
  if (flags['break-glass'] === true && rule.breakGlass) {
    if ((flags.reason ?? '').trim() !== '') return { breakGlass: true, ...(saved && { plan: saved.digest }) };
    throw new TokenctlError('usage', '--break-glass requires a reason', {
      hint: 'Add --reason. The audit log records both.',
    });
  }
  if (saved === undefined || flags.plan === undefined) throw notApproved(change, rule);
  const note = readApproval(flags['approval-file'] ?? approvalPath(flags.plan));
  if (note === null) throw notApproved(change, rule);
  // The approver read this address; the controller may have others.
  if (saved.target['address'] !== description.address) {
    throw new TokenctlError(
      'not_approved',
      `The approved plan is for ${saved.target['address']}, not ${description.address}`,
      { hint: `Apply it in its own context (${saved.target['context']}), or create a new plan here.` },
    );
  }
  return await requireApproved({
    plan: saved,
    note,
    rule,
    now: runtime.clock.now(),
    log: await runtime.auditLog(),
    actor: { ...runtime.operator, as: description.identity.username },
  });
}

/** The refusal of a change without an approval, for a dry run; undefined if it would not be refused. */
export async function approvalRefusal(approve: () => Promise<unknown>): Promise<TokenctlError | undefined> {
  const refusal = await approve().then(
    () => undefined,
    (error: unknown) => error,
  );
  return refusalAhead(() => {
    if (refusal !== undefined) throw refusal;
  });
}

/** The four-eyes guard of a revocation. */
export function revocationGuard(tokens: number, saved?: AnyPlan): Guard {
  return {
    saved,
    what: `Revoking ${countText(tokens, 'token')}`,
    alone: ({ aloneUpTo }) => tokens <= aloneUpTo,
    command: 'tokens revoke',
  };
}

/** The four-eyes guard of a change to several users at once: one user may be handled alone. */
export function usersGuard(what: string, users: number | 'all'): Guard {
  return { what, alone: () => users !== 'all' && users <= 1, command: null };
}

function notApproved({ what, command, flags, alone, instead }: GuardedChange, rule: ApprovalRule) {
  const who = Object.keys(rule.approvers).join(' or ');
  const file = flags.plan ?? 'plan.json';
  const save = flags.plan === undefined ? 'Save the plan with --plan-out plan.json. ' : '';
  const ways = [
    command === null
      ? (instead ??
        'Process one user at a time, or use a plan of `tokenctl tokens revoke` or `incident lockdown`.')
      : `${save}Ask ${who} to run \`tokenctl plan approve ${file}\`, and apply it: \`tokenctl ${command} --plan ${file}\`.`,
    ...(rule.breakGlass && flags['break-glass'] !== true
      ? ['In an emergency, --break-glass with --reason continues without an approval. This is recorded.']
      : []),
  ];
  const limit =
    rule.required && command === 'tokens revoke' && !alone(rule)
      ? `: one person may revoke up to ${rule.aloneUpTo} here`
      : '';
  const forbidden = flags['break-glass'] === true ? ' --break-glass is not allowed here' : '';
  return new TokenctlError(
    'not_approved',
    `${what} requires a second person's approval${limit}.${forbidden}`,
    { hint: ways.join(' ') },
  );
}
