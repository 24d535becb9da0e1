import type { AuditLog } from '../ports/audit-log.ts';
import type { Clock } from '../ports/clock.ts';
import type { Target } from '../ports/target.ts';
import type { TargetDescription } from '../ports/target-description.ts';

/** What every operation that changes something in batches takes besides its own arguments. */
export interface Change {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly log: AuditLog;
  readonly clock: Clock;
  /** Who asked: the user of the operating system and the host, and the user at the target. */
  readonly actor: Readonly<Record<string, string>>;
  readonly reason?: string;
  readonly ticket?: string;
  /** When aborted, what is in flight is finished and recorded, and nothing further is begun. */
  readonly signal?: AbortSignal;
}
