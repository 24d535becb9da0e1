import { randomUUID } from 'node:crypto';
import type { Lease } from '../../domain/leases.ts';
import { isOpen } from '../../domain/leases.ts';
import { isLeaseHere, readAllLeases } from '../journal/recorded-leases.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { TargetDescription } from '../ports/target.ts';

/** Operations of the log notes that stop and resume a rule of the broker. */
const STOP = 'broker.stop';
const RESUME = 'broker.resume';

export const stopOperations: readonly string[] = [STOP, RESUME];

/** The rules that are stopped until resumed, from the audit log. Throws as the log. */
export async function stoppedRules(log: Pick<AuditLog, 'entries'>): Promise<ReadonlySet<string>> {
  const stopped = new Set<string>();
  for await (const { operation, data } of log.entries(1, { operations: stopOperations })) {
    const rule = String(data['rule']);
    if (operation === STOP) stopped.add(rule);
    else stopped.delete(rule);
  }
  return stopped;
}

/** Records that a rule is stopped or resumed. Throws `audit_unavailable`. */
export async function recordStop(
  log: AuditLog,
  stop: {
    readonly rule: string;
    readonly isStopped: boolean;
    readonly context: string;
    readonly actor: Readonly<Record<string, string>>;
    readonly reason: string | undefined;
    readonly ticket: string | undefined;
  },
): Promise<void> {
  const { rule, isStopped, context, actor, reason, ticket } = stop;
  await log.append({
    ...{ kind: 'note', operation: isStopped ? STOP : RESUME, run: randomUUID(), actor },
    target: { context, address: 'broker' },
    data: {
      ...{ rule, selection: `rule ${rule}` },
      ...(reason !== undefined && { reason }),
      ...(ticket !== undefined && { ticket }),
    },
  });
}

/** The possibly live tokens of a rule at this target. Throws as the log. */
export async function livingOfRule(
  log: Pick<AuditLog, 'entries'>,
  rule: string,
  place?: Pick<TargetDescription, 'address' | 'installUuid'>,
): Promise<readonly Lease[]> {
  const all = await readAllLeases(log);
  return all.filter(
    (lease) =>
      lease.origin?.rule === rule && isOpen(lease) && (place === undefined || isLeaseHere(lease, place)),
  );
}
