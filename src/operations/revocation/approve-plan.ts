import { randomUUID } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type Approval, type ApprovalRule, openApproval, requireAnother } from '../../domain/approval.ts';
import { EXTEND_LEASE } from '../../domain/leases.ts';
import { objectOf, textOf } from '../journal/journal.ts';
import type { AuditLog, EntryDraft } from '../ports/audit-log.ts';
import type { AnyPlan } from './saved-plan.ts';

interface GivenApproval {
  readonly log: Pick<AuditLog, 'append'>;
  readonly actor: Readonly<Record<string, string>>;
  readonly plan: AnyPlan;
  readonly approval: Approval;
  readonly reason?: string | undefined;
  readonly ticket?: string | undefined;
}

/** Records an approval before it is written; returns the run's UUID. Throws `audit_unavailable`. */
export async function noteApproval(given: GivenApproval): Promise<string> {
  const { log, actor, plan, approval, reason, ticket } = given;
  const run = randomUUID();
  const { selection, made, target } = plan;
  const data = {
    selection,
    approval,
    made,
    ...(reason !== undefined && { reason }),
    ...(ticket !== undefined && { ticket }),
  };
  await log.append({ kind: 'note', operation: 'plan.approve', run, actor, target, data });
  return run;
}

interface ApprovedPlan {
  readonly plan: AnyPlan;
  readonly note: string;
  readonly rule: ApprovalRule;
  readonly actor: Readonly<Record<string, string>>;
  readonly now: Date;
  readonly log: Pick<AuditLog, 'entries'>;
}

/**
 * Verifies that a plan was approved by someone other than the people who created it and are about to apply
 * it, and that it was not applied before. A plan whose run partly failed may be applied again to finish it.
 * @throws TokenctlError `not_approved`; `plan_outdated` if it was applied; `log_broken`, `audit_unavailable`
 */
export async function requireApproved({
  plan,
  note,
  rule,
  actor,
  now,
  log,
}: ApprovedPlan): Promise<Approval> {
  const approval = openApproval(note, { plan, rule, now });
  requireAnother(approval, { who: actor, did: 'applies' });
  const earlier = await findApplied(log, plan);
  if (earlier === null || !earlier.isDone) return approval;
  throw new TokenctlError('plan_outdated', `The plan was applied at ${earlier.at} by run ${earlier.run}`, {
    hint: 'An approval can only be used once. Create a new plan with --plan-out.',
  });
}

/** The operation that applies a plan. A lockdown's revocation contains the approval as well. */
const APPLYING = {
  'tokenctl-plan': 'tokens.revoke',
  'tokenctl-lockdown-plan': 'incident.lockdown',
  'tokenctl-extension-plan': EXTEND_LEASE,
} as const;

/** The last run that applied a plan, from the audit log in use. */
export interface AppliedPlan {
  readonly run: string;
  /** RFC 3339. */
  readonly at: string;
  /** Whether nothing was left to try. */
  readonly isDone: boolean;
}

/**
 * Finds the run that applied a plan; null if the audit log has none.
 * @throws TokenctlError `log_broken`, `audit_unavailable`
 */
export async function findApplied(
  log: Pick<AuditLog, 'entries'>,
  { format, digest }: Pick<AnyPlan, 'format' | 'digest'>,
): Promise<AppliedPlan | null> {
  const operations = [APPLYING[format]];
  let found = null as (AppliedPlan & { readonly seq: number }) | null;
  for await (const { kind, run, at, seq, data, closes } of log.entries(1, { operations })) {
    // A note records a completed application.
    if (kind !== 'outcome' && planOf(data) === digest) found = { run, at, seq, isDone: kind === 'note' };
    else if (found !== null && kind === 'outcome' && closes === found.seq) {
      found = { ...found, isDone: isDone(data) };
      if (found.isDone) break;
    }
  }
  return found && { run: found.run, at: found.at, isDone: found.isDone };
}

/** The digest of the saved plan that an intent applies. */
function planOf(data: EntryDraft['data']): string | undefined {
  return textOf(objectOf(data['approval'])?.['plan']) ?? textOf(objectOf(data['plan'])?.['digest']);
}

/** Whether the outcome of a revocation or a lockdown leaves none of the plan undone. */
function isDone(data: EntryDraft['data']): boolean {
  const { result, interrupted, stopped, refreshTokens } = data;
  if (interrupted === true || (stopped ?? null) !== null || data['reconciled'] === true) return false;
  if (result !== undefined) return result === 'locked';
  const counts = [data, objectOf(refreshTokens) ?? {}];
  return counts.every((each) => LEFT.every((name) => each[name] === undefined || each[name] === 0));
}

const LEFT = ['failed', 'notTried', 'stillAlive'];
