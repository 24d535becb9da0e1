import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { IncidentEntry } from '../../domain/incident/incident.ts';
import {
  EXTEND_LEASE,
  isLeaseDue,
  isOpen,
  type Lease,
  LeaseBook,
  leaseOperations,
  type MIGRATE,
  type ROTATE,
} from '../../domain/leases.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { TargetDescription } from '../ports/target.ts';
import { isSameController, Journal, type JournalOptions } from './journal.ts';

/** The fields of a target that identify a controller. */
type Place = Pick<TargetDescription, 'address' | 'installUuid'>;

/**
 * Reads all leases from the audit log, their only store, in the order they began.
 * @throws TokenctlError `log_broken`, `audit_unavailable` if it cannot be read.
 */
export async function readAllLeases(log: Pick<AuditLog, 'entries'>): Promise<readonly Lease[]> {
  const book = new LeaseBook();
  for await (const entry of log.entries(1, { operations: leaseOperations })) book.add(entry);
  return book.all;
}

/** The leases of one controller, at any of its addresses. Throws as the log. */
export async function readLeases(
  log: Pick<AuditLog, 'entries'>,
  description: Place,
): Promise<readonly Lease[]> {
  const all = await readAllLeases(log);
  return all.filter(({ target }) => isSameController(target, description));
}

/** Reads leases repeatedly, but each entry of the log only once. */
export class LeaseReader {
  readonly #log: Pick<AuditLog, 'entries'>;
  readonly #book = new LeaseBook();
  readonly #onlyOpen: boolean;
  #next = 1;
  #turn: Promise<void> = Promise.resolve();

  /** @param options.onlyOpen Forgets ended leases, for a process that runs for months. */
  constructor(log: Pick<AuditLog, 'entries'>, { onlyOpen = false } = {}) {
    this.#log = log;
    this.#onlyOpen = onlyOpen;
  }

  /** The current leases of one controller. Throws as the log. */
  async read(description: Place): Promise<readonly Lease[]> {
    await this.#goOn();
    return this.#book.all.filter(({ target }) => isSameController(target, description));
  }

  /** The rotations or migrations in progress, in the order they began. */
  async begun(operation: typeof ROTATE | typeof MIGRATE): Promise<readonly IncidentEntry[]> {
    await this.#goOn();
    return this.#book.begun(operation);
  }

  /** Serialized, so that no entry is read twice. */
  #goOn(): Promise<void> {
    const turn = this.#turn.then(() => this.#readOn());
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #readOn(): Promise<void> {
    for await (const entry of this.#log.entries(this.#next, { operations: leaseOperations })) {
      this.#book.add(entry);
      this.#next = entry.seq + 1;
    }
    if (this.#onlyOpen) this.#book.forgetEnded();
  }
}

/**
 * Whether a lease can be ended at a target: it began at its address. A copy of the controller has the same
 * INSTALL_UUID and the same tokens, and does not show the state of the controller's tokens. The same address
 * can lead to another installation, for example through a tunnel.
 */
export function isLeaseHere({ target }: Pick<Lease, 'target'>, { address, installUuid }: Place): boolean {
  const recorded = target['installUuid'] ?? null;
  const isOther = recorded !== null && installUuid !== null && recorded !== installUuid;
  return target['address'] === address && !isOther;
}

/** The due leases in the audit log. */
export interface DueLeases {
  readonly here: readonly Lease[];
  /** At other controllers, and at other addresses of this one. */
  readonly elsewhere: readonly Lease[];
}

/** The due leases, here and in other contexts. Reads only the log. Throws as the log. */
export async function dueLeases(options: {
  log: Pick<AuditLog, 'entries'>;
  description: Place;
  now: Date;
}): Promise<DueLeases> {
  const due = (await readAllLeases(options.log)).filter((lease) => isLeaseDue(lease, options.now));
  const isHere = (lease: Lease) => isLeaseHere(lease, options.description);
  return { here: due.filter(isHere), elsewhere: due.filter((lease) => !isHere(lease)) };
}

/**
 * The open leases of all controllers, for optional uses: a list, a remark. If they are unknown, returns why,
 * as a sentence.
 * @throws TokenctlError `interrupted` only.
 */
export async function knownLeases(
  openLog: () => Promise<Pick<AuditLog, 'entries'>>,
): Promise<{ readonly open: readonly Lease[]; readonly why: string | null }> {
  try {
    return { open: (await readAllLeases(await openLog())).filter(isOpen), why: null };
  } catch (error) {
    if (!(error instanceof TokenctlError) || error.code === 'interrupted') throw error;
    return { open: [], why: error.message };
  }
}

/** The leases of one controller by token id, those that end first in front. */
export function leasesByToken(
  leases: readonly Lease[],
  description: Place,
): ReadonlyMap<number, readonly Lease[]> {
  const here = leases.filter(({ token, target }) => token !== null && isSameController(target, description));
  const ascending = here.toSorted((one, other) => Date.parse(one.until) - Date.parse(other.until));
  return Map.groupBy(ascending, ({ token }) => token?.id ?? 0);
}

/** The lease with this id, unique prefix of an id, or token id. Throws `not_found`. */
export function requireLease(leases: readonly Lease[], id: string): Lease {
  const exact = leases.filter((lease) => lease.id === id || String(lease.token?.id) === id);
  const found = exact.length > 0 || id === '' ? exact : leases.filter((lease) => lease.id.startsWith(id));
  const open = found.filter(isOpen);
  const near = open.length > 0 ? open : found;
  const [lease] = near;
  if (lease !== undefined && near.length === 1) return lease;
  const names = near.slice(0, 5).map((each) => each.id);
  throw new TokenctlError(
    'not_found',
    near.length > 1
      ? `${id} matches several leases: ${names.join(', ')}`
      : `No lease ${id} on this controller`,
    { hint: 'List them with `tokenctl tokens leases --all`.', details: { kind: 'lease', names: [id] } },
  );
}

/** The new end of a lease, and its reference time. */
interface Extension {
  readonly lease: string;
  /** From now, in seconds. */
  readonly seconds: number;
  readonly now: Date;
}

/**
 * The lease with its new end. Reads only the log.
 * @throws TokenctlError `not_found`; `usage` for a lease that ended, or whose token is unknown, and for an
 * end after that of the token.
 */
export async function planExtension(
  log: Pick<AuditLog, 'entries'>,
  description: Place,
  { lease: id, seconds, now }: Extension,
): Promise<Lease> {
  const lease = requireLease(await readLeases(log, description), id);
  const { state, token } = lease;
  if (state !== 'open' || token === null) {
    throw new TokenctlError('usage', `${lease.id} has no live token`, {
      hint: 'Create a new token with `tokenctl tokens create --for`.',
    });
  }
  const until = new Date(now.getTime() + seconds * 1000);
  if (until.getTime() > Date.parse(token.expires)) {
    throw new TokenctlError(
      'usage',
      `The controller accepts token ${token.id} until ${token.expires}, which is before ${until.toISOString()}`,
      { hint: 'Specify a shorter time with --for, or create a new token.' },
    );
  }
  return { ...lease, until: until.toISOString() };
}

/** Records the end that {@link planExtension} set. Throws `audit_unavailable`. */
export async function extendLease(
  options: Omit<JournalOptions, 'operation'>,
  { id, token, until }: Lease,
): Promise<void> {
  await new Journal({ ...options, operation: EXTEND_LEASE }).note({
    ...{ lease: id, token: token?.id, until },
    selection: `${id} to ${until}`,
  });
}
