import type { LeaseSubject } from '../../domain/leased-token.ts';
import { LeaseBook, leaseOperations, MIGRATE } from '../../domain/leases.ts';
import { isSameController, objectOf } from '../journal/journal.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { TargetDescription } from '../ports/target.ts';

/** The fields of a target that identify a controller. */
type Place = Pick<TargetDescription, 'address' | 'installUuid'>;

/** A controller's token that was replaced by a gateway's token, from the audit log. */
export interface MigratedToken {
  readonly old: {
    readonly id: number;
    /** RFC 3339, as the controller states it. */
    readonly created: string;
  };
  readonly token: number;
  /** Distinguishes it from another token with its id; null if the log no longer has its creation. */
  readonly subject: LeaseSubject | null;
  /** When its value was delivered (RFC 3339). */
  readonly at: string;
}

/** A migration's data about the old token in its entries. */
export interface OldToken {
  readonly id: number;
  readonly created: string;
  /** The controller, as entries identify it. */
  readonly target: Readonly<Record<string, string>>;
}

/**
 * Reads which tokens of a controller have a new token on a gateway whose value was delivered.
 * @throws TokenctlError as the log.
 */
export async function readMigrations(
  log: Pick<AuditLog, 'entries'>,
  { from, to }: { from: Place; to: Place },
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
