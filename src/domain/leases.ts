import { createHash } from 'node:crypto';
import type { Secret } from '@tokenctl/common/secret.ts';
import { originIn, type TokenOrigin } from './broker/rules.ts';
import { controllerTime } from './clock-difference.ts';
import type { IncidentEntry } from './incident/incident.ts';

/** What created the token of a lease. */
export type LeaseReason = 'exec' | 'create' | 'rotation' | 'sunset' | 'migration' | 'broker';

/** The end that tokenctl gives a token, in the intent of its creation. */
export interface LeaseOrder {
  readonly id: string;
  readonly why: LeaseReason;
  /** The token's lifetime, in seconds from its creation. */
  readonly seconds: number;
  /** The consumer that the token is created for, in a rotation. */
  readonly consumer?: string | undefined;
  /** The identity that a broker creates the token for. */
  readonly origin?: TokenOrigin | undefined;
}

/** A lease's token, from the outcome of its creation. Instants are RFC 3339, by the controller's clock. */
export interface LeasedToken {
  readonly id: number;
  /** As in `Token.fingerprint`. */
  readonly fingerprint: string | null;
  readonly created: string;
  /** Until when the controller itself accepts it. */
  readonly expires: string;
}

/**
 * An end that tokenctl gives to a token that the controller would accept for longer. Instants are RFC 3339,
 * by the controller's clock.
 */
export interface Lease {
  readonly id: string;
  readonly why: LeaseReason;
  /** The consumer whose tokens are rotated; null outside of a rotation. */
  readonly consumer: string | null;
  /** The identity that a broker created it for; null for others. */
  readonly origin: TokenOrigin | null;
  /** The sunset that created it; null for others. */
  readonly sunset: string | null;
  /** Whether the consumer can read the token in its store: false if not written, or if this is unknown. */
  readonly isStored: boolean;
  /**
   * `making`: the token is being created. `unknown`: it may have been created, and no one has its value.
   * `open`: it is live until its end. `ended`: it is revoked, or gone. `unmade`: there was never a token.
   * `released`: tokenctl no longer ends it.
   */
  readonly state: 'making' | 'unknown' | 'open' | 'ended' | 'unmade' | 'released';
  /** Null if unknown, or if there is none. */
  readonly token: LeasedToken | null;
  /** The id is null until the token is known. */
  readonly owner: { readonly id: number | null; readonly username: string };
  readonly scope: string;
  readonly until: string;
  /** When the token was requested. */
  readonly begun: string;
  /** The same by the clock of the machine that wrote the audit log, like its entries. */
  readonly loggedAt: string;
  readonly run: string;
  readonly by: Readonly<Record<string, string>>;
  /** In the form of the log's entries. */
  readonly target: Readonly<Record<string, string>>;
  /** How it ended; null if it has not. */
  readonly ended: { readonly at: string; readonly how: LeaseEnding } | null;
  /**
   * If the end is also in the token's row, so that the controller refuses it afterwards: the ends written
   * there, and whether the row has the intended one. Otherwise null.
   */
  readonly row: { readonly ends: readonly string[]; readonly isWritten: boolean } | null;
  /** Why its token could not be ended at the last attempt; null without one, or if the reason has changed. */
  readonly failure: string | null;
}

/** `revoked`: by tokenctl, and no longer listed. `gone`: before the attempt. `unmade`: never created. */
export type LeaseEnding = 'revoked' | 'gone' | 'unmade';

/** The operation of notes that move an end. */
export const EXTEND_LEASE = 'leases.extend';

/** The operation of notes with the result of ending a lease. */
export const END_LEASE = 'leases.end';

/** The operation of notes that add an existing token to a rotation. */
export const ADOPT_LEASE = 'leases.adopt';

/** The operation of notes that give an owner's tokens an end. */
export const SUNSET = 'leases.sunset';

/** The operation of notes that withdraw ends. */
export const RELEASE_LEASE = 'leases.release';

/** The operation of notes that token rows have their leases' ends, or their old expiry again. */
export const WRITE_ENDS = 'leases.write';

/** The operation that rotates a consumer's token. */
export const ROTATE = 'tokens.rotate';

/** The operation that replaces a controller's tokens with new ones on a gateway. */
export const MIGRATE = 'tokens.migrate';

export const leaseOperations: readonly string[] = [
  'tokens.create',
  EXTEND_LEASE,
  END_LEASE,
  ADOPT_LEASE,
  SUNSET,
  RELEASE_LEASE,
  WRITE_ENDS,
  ROTATE,
  MIGRATE,
];

/** A token's description with its lease's id, by which it is found if its creation was interrupted. */
export function markedDescription(description: string, { id }: Pick<LeaseOrder, 'id'>): string {
  return `${description} (${id})`.trim();
}

/** A pattern for descriptions that contain a lease's id. */
export function markPattern({ id }: Pick<Lease, 'id'>): string {
  return `*(${id})`;
}

/** The leases in audit log entries: add every entry in order, then query. */
export class LeaseBook {
  readonly #leases = new Map<string, Lease>();
  /** The leases of sunsets and adoptions by token. */
  readonly #ends = new Map<string, string>();
  /** The leases of creations without an outcome, by the number of the intent. */
  readonly #creations = new Map<number, string>();
  /** The intents of rotations and migrations without an outcome, by number. */
  readonly #deliveries = new Map<number, IncidentEntry>();

  /** All leases, in the order they began. */
  get all(): readonly Lease[] {
    return [...this.#leases.values()];
  }

  /** The intents of rotations or migrations in progress. */
  begun(operation: typeof ROTATE | typeof MIGRATE): readonly IncidentEntry[] {
    return [...this.#deliveries.values()].filter(
      (entry) => entry.operation === operation && entry.data['step'] === 'operation',
    );
  }

  /** Keeps only those that may have a live token. */
  forgetEnded(): void {
    for (const [id, lease] of this.#leases) if (!isOpen(lease)) this.#leases.delete(id);
  }

  add(entry: IncidentEntry): void {
    switch (entry.operation) {
      case 'tokens.create':
        this.#addCreation(entry);
        break;
      case ROTATE:
      case MIGRATE:
        this.#addDelivery(entry);
        break;
      case SUNSET:
        for (const lease of sunsetIn(entry)) this.#addSunset(lease);
        break;
      case RELEASE_LEASE:
        for (const id of listOf(entry.data['leases'])) this.#release(id);
        break;
      case WRITE_ENDS:
        for (const id of listOf(entry.data['leases'])) this.#wrote(id, true);
        for (const id of listOf(entry.data['left'])) this.#wrote(id, false);
        break;
      case ADOPT_LEASE:
      case EXTEND_LEASE:
      case END_LEASE:
        if (entry.kind === 'note') this.#addNote(entry);
    }
  }

  #addCreation(entry: IncidentEntry): void {
    const { kind, seq, data, closes = 0 } = entry;
    const order = kind === 'intent' ? orderIn(data) : null;
    if (order !== null) {
      this.#creations.set(seq, order.id);
      this.#leases.set(order.id, openingOf(entry, order));
    }
    const made = kind === 'outcome' ? this.#of(this.#creations.get(closes)) : undefined;
    if (made === undefined) return;
    this.#creations.delete(closes);
    this.#leases.set(made.id, createdOf(made, data));
  }

  #addDelivery(entry: IncidentEntry): void {
    const { kind, seq, data, operation, closes = 0 } = entry;
    if (kind === 'intent') this.#deliveries.set(seq, entry);
    else this.#deliveries.delete(closes);
    const lease = this.#of(data['lease']);
    const isStored = kind === 'outcome' && data['step'] === 'store' && data['result'] === 'done';
    if (lease === undefined || !isStored) return;
    // A migrated token ends only if its value is lost.
    const state = operation === MIGRATE && isOpen(lease) ? 'released' : lease.state;
    this.#leases.set(lease.id, { ...lease, isStored, state });
  }

  #addNote(entry: IncidentEntry): void {
    const { operation, data } = entry;
    const adopted = operation === ADOPT_LEASE ? adoptedIn(entry) : null;
    if (adopted !== null) {
      this.#leases.set(adopted.id, adopted);
      this.#ends.set(keyOf(adopted), adopted.id);
      for (const id of listOf(data['releases'])) this.#release(id);
    }
    const lease = this.#of(data['lease']);
    if (lease === undefined) return;
    if (operation === EXTEND_LEASE && isOpen(lease) && isTime(data['until']))
      this.#leases.set(lease.id, { ...lease, until: data['until'], row: rowWith(lease, data['until']) });
    if (operation === END_LEASE) this.#leases.set(lease.id, endingOf(lease, entry));
  }

  /** For two concurrent sunsets, or a sunset during the adoption of a token, the first record counts. */
  #addSunset(lease: Lease): void {
    const earlier = this.#of(this.#ends.get(keyOf(lease)));
    if (earlier !== undefined && isOpen(earlier)) return;
    this.#leases.set(lease.id, lease);
    this.#ends.set(keyOf(lease), lease.id);
  }

  #release(id: unknown): void {
    const lease = this.#of(id);
    if (lease === undefined || !isOpen(lease)) return;
    this.#leases.set(lease.id, { ...lease, state: 'released', row: rowWith(lease) });
  }

  /** A row with an unrecorded end was written by someone else. */
  #wrote(id: unknown, isWritten: boolean): void {
    const lease = this.#of(id);
    if (lease === undefined || lease.row === null) return;
    this.#leases.set(lease.id, { ...lease, row: isWritten ? { ...lease.row, isWritten } : null });
  }

  #of(id: unknown): Lease | undefined {
    return typeof id === 'string' ? this.#leases.get(id) : undefined;
  }
}

/** A row that is to be written, possibly with a further end. */
function rowWith({ row }: Lease, end?: string): Lease['row'] {
  return row && { ends: end === undefined ? row.ends : [...row.ends, end], isWritten: false };
}

/** Whether the row of its token is still to be written. */
export function isRowDue({ row, state }: Pick<Lease, 'row' | 'state'>): boolean {
  return row?.isWritten === false && (state === 'open' || state === 'released');
}

function orderIn(data: IncidentEntry['data']): LeaseOrder | null {
  const { id, why, seconds, consumer, origin } = Object(data['lease']);
  const isOrder = typeof id === 'string' && REASONS.has(why) && typeof seconds === 'number';
  return isOrder && seconds > 0
    ? { id, why, seconds, ...(typeof consumer === 'string' && { consumer }), origin: originIn(origin) }
    : null;
}

const REASONS = new Set<unknown>([
  'exec',
  'create',
  'rotation',
  'migration',
  'broker',
] satisfies LeaseReason[]);

/** An existing token that is added to a rotation. */
export interface Adoption {
  readonly lease: string;
  readonly consumer: string;
  readonly token: LeasedToken;
  readonly owner: Lease['owner'];
  readonly scope: string;
  /** The leases of the token's sunsets: the rotation ends it instead. */
  readonly releases: readonly string[];
}

function adoptedIn(entry: IncidentEntry): Lease | null {
  const { data, run, actor, target } = entry;
  const { lease: id, consumer, token, owner, scope } = data as Partial<Adoption>;
  if (typeof id !== 'string' || typeof consumer !== 'string' || !isTime(token?.created)) return null;
  return {
    ...{ id, consumer, token, run, target, why: 'rotation', by: actor, state: 'open', isStored: true },
    ...{ sunset: null, origin: null, loggedAt: entry.at, row: null },
    ...{ owner: owner ?? { id: null, username: '' }, scope: scope ?? '' },
    ...{ begun: token.created, until: token.expires, ended: null, failure: null },
  };
}

/** A note of a sunset: the tokens of one owner, or some of them. */
export interface SunsetNote {
  readonly sunset: string;
  readonly owner: { readonly id: number; readonly username: string };
  readonly until: string;
  /** Whether the end is also to be written into the token rows. */
  readonly row?: true;
  readonly tokens: readonly (LeasedToken & { readonly scope: string })[];
}

function sunsetIn(entry: IncidentEntry): readonly Lease[] {
  const { data, run, actor, target, kind } = entry;
  const { sunset, owner, until, tokens, row } = data as Partial<SunsetNote>;
  if (kind !== 'note' || typeof sunset !== 'string' || !isTime(until) || owner === undefined) return [];
  return listOf(tokens).flatMap((each) => {
    const { scope = '', ...token } = each as SunsetNote['tokens'][number];
    if (!Number.isSafeInteger(token.id) || !isTime(token.created) || !isTime(token.expires)) return [];
    return [
      {
        ...{
          id: `${sunset}-${token.id}`,
          why: 'sunset' as const,
          consumer: null,
          origin: null,
          sunset,
          isStored: false,
        },
        ...{ state: 'open' as const, token, owner, scope, until, begun: entry.at, loggedAt: entry.at },
        ...{ run, by: actor, target, ended: null, failure: null },
        row: row === true ? { ends: [until], isWritten: false } : null,
      },
    ];
  });
}

function keyOf({ token, target }: Lease): string {
  return JSON.stringify([
    target['installUuid'] ?? target['address'],
    token?.id,
    Date.parse(token?.created ?? ''),
  ]);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The lease that an intent begins: without a user, the token is the caller's. */
function openingOf(entry: IncidentEntry, { id, why, seconds, consumer, origin }: LeaseOrder): Lease {
  const { data, actor, target, run, at } = entry;
  const begun = controllerTime(entry);
  const username = typeof data['user'] === 'string' ? data['user'] : (actor['as'] ?? '');
  return {
    ...{ id, why, consumer: consumer ?? null, origin: origin ?? null, run, by: actor, target },
    begun: begun.toISOString(),
    ...{ state: 'making', token: null, isStored: false, sunset: null, loggedAt: at, row: null },
    owner: { id: null, username },
    scope: String(data['scope'] ?? ''),
    until: new Date(begun.getTime() + seconds * 1000).toISOString(),
    ended: null,
    failure: null,
  };
}

/** The lease after its creation. A possible token is kept: only a refusal proves that there is none. */
function createdOf(lease: Lease, data: IncidentEntry['data']): Lease {
  const { token: id, fingerprint, created, expires, until, owner } = data;
  if (data['result'] === 'refused') return { ...lease, state: 'unmade' };
  if (!Number.isSafeInteger(id) || !isTime(created) || !isTime(expires))
    return { ...lease, state: 'unknown' };
  const { userId, name } = Object(owner);
  const end = isTime(until) ? until : lease.until;
  return {
    ...lease,
    state: lease.why === 'create' && endsByItself({ expires }, end) ? 'released' : 'open',
    token: {
      id: Number(id),
      fingerprint: typeof fingerprint === 'string' ? fingerprint : null,
      created,
      expires,
    },
    owner: {
      id: Number.isSafeInteger(userId) ? Number(userId) : null,
      username: typeof name === 'string' ? name : lease.owner.username,
    },
    until: end,
  };
}

function endingOf(lease: Lease, { at, data }: IncidentEntry): Lease {
  const { how, why } = data;
  if (how !== 'revoked' && how !== 'gone' && how !== 'unmade')
    return { ...lease, failure: typeof why === 'string' ? why : 'unknown' };
  return { ...lease, state: how === 'unmade' ? how : 'ended', ended: { at, how }, failure: null };
}

function isTime(value: unknown): value is string {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}

/** Whether a lease may have a live token. */
export function isOpen({ state }: Pick<Lease, 'state'>): boolean {
  return state === 'making' || state === 'unknown' || state === 'open';
}

/** A creation that takes longer was interrupted, in milliseconds: requests end earlier. */
const MAKING_MS = 300_000;

/** Whether its token is to be revoked now: its end has passed, or no one can have its value. */
export function isLeaseDue(lease: Lease, now: Date): boolean {
  const { state, begun, until } = lease;
  if (state === 'making') return now.getTime() - Date.parse(begun) > MAKING_MS;
  return state === 'unknown' || (state === 'open' && Date.parse(until) <= now.getTime());
}

/** The tolerance of the clock by which an end was requested, in milliseconds. */
const CLOCK_MS = 5000;

/** Whether the target itself ends a token at the requested time, so that no lease is needed. */
export function endsByItself(token: Pick<LeasedToken, 'expires'>, until: string): boolean {
  return Date.parse(token.expires) <= Date.parse(until) + CLOCK_MS;
}

/** The fingerprint of a token's value, as in `Token.fingerprint`: the first 12 hex digits of its SHA-256. */
export function fingerprintOf(value: Secret): string {
  return createHash('sha256').update(value.reveal()).digest('hex').slice(0, 12);
}
