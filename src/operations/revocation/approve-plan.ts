import { randomUUID } from 'node:crypto';
import type { Approval } from '../../domain/approval.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { SavedLockdown, SavedPlan } from './saved-plan.ts';

/** An approval that is about to be handed out. */
interface GivenApproval {
  readonly log: Pick<AuditLog, 'append'>;
  readonly actor: Readonly<Record<string, string>>;
  readonly plan: SavedPlan | SavedLockdown;
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
