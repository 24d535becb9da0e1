import type { LeaseSubject } from '../../domain/leased-token.ts';
import { LeaseBook, leaseOperations, MIGRATE } from '../../domain/leases.ts';
import { isSameController, objectOf } from '../journal/journal.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { TargetDescription } from '../ports/target.ts';

/** A target as far as it names a controller. */
type Place = Pick<TargetDescription, 'address' | 'installUuid'>;

/** A token of a controller whose place a token of the gateway has taken, as the audit log has it. */
export interface MigratedToken {
  readonly old: {
    readonly id: number;
    /** RFC 3339, as the controller states it. */
    readonly created: string;
  };
  /** The gateway's token. */
  readonly token: number;
  /** What tells that from another token with its number; null where its creation is not in the log any more. */
  readonly subject: LeaseSubject | null;
  /** When its value was delivered (RFC 3339). */
  readonly at: string;
}

/** What the entries of a migration state of the old token. */
export interface OldToken {
  readonly id: number;
  readonly created: string;
  /** The controller, as entries name it. */
  readonly target: Readonly<Record<string, string>>;
}

/**
 * Reads which tokens of a controller have a new one on a gateway whose value was delivered.
 *
 * @throws TokenctlError as the log.
 */
export async function readMigrations(
  log: Pick<AuditLog, 'entries'>,
  { from, to }: { readonly from: Place; readonly to: Place },
): Promise<readonly MigratedToken[]> {
  const found: (Omit<MigratedToken, 'subject'> & { readonly lease: unknown })[] = [];
  const book = new LeaseBook();
  for await (const entry of log.entries(1, { operations: leaseOperations })) {
    book.add(entry);
    const { kind, at, target, data, operation } = entry;
    if (operation !== MIGRATE) continue;
    if (kind !== 'outcome' || data['step'] !== 'store' || data['result'] !== 'done') continue;
    const { id, created, target: controller } = Object(data['old']) as Partial<OldToken>;
    const token = data['token'];
    if (typeof id !== 'number' || typeof created !== 'string' || typeof token !== 'number') continue;
    const isOfBoth =
      isSameController(target, to) &&
      isSameController((objectOf(controller) ?? {}) as OldToken['target'], from);
    if (isOfBoth) found.push({ old: { id, created }, token, at, lease: data['lease'] });
  }
  const leases = new Map<unknown, LeaseSubject>(book.all.map((lease) => [lease.id, lease]));
  return found.map(({ lease, ...each }) => ({ ...each, subject: leases.get(lease) ?? null }));
}
