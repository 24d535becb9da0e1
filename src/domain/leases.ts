import { createHash } from 'node:crypto';
import type { Secret } from '@tokenctl/common/secret.ts';
import { originIn, type TokenOrigin } from './broker/rules.ts';
import { controllerTime } from './clock-difference.ts';
import type { IncidentEntry } from './incident/incident.ts';

/** What made the token of a lease. */
export type LeaseReason = 'exec' | 'create' | 'rotation' | 'sunset' | 'migration' | 'broker';

/** What the intent of a creation says of the end that tokenctl gives the token. */
export interface LeaseOrder {
  readonly id: string;
  readonly why: LeaseReason;
  /** How long the token is to live, in seconds from its creation. */
  readonly seconds: number;
  /** Which consumer the token is made for, in a rotation. */
  readonly consumer?: string | undefined;
  /** Which identity the token is made for, by a broker. */
  readonly origin?: TokenOrigin | undefined;
}

/** The token of a lease, as the outcome of its creation states it. Instants are RFC 3339, by the clock of the controller. */
export interface LeasedToken {
  readonly id: number;
  /** As of `Token.fingerprint`. */
  readonly fingerprint: string | null;
  readonly created: string;
  /** Until when the controller itself accepts it. */
  readonly expires: string;
}

/**
 * An end that tokenctl gives to a token which the controller would accept for longer. Instants are RFC 3339, by the clock of the
 * controller.
 */
export interface Lease {
  readonly id: string;
  readonly why: LeaseReason;
  /** The consumer whose tokens are rotated; null outside of a rotation. */
  readonly consumer: string | null;
  /** The identity that a broker made it for; null for others. */
  readonly origin: TokenOrigin | null;
  /** The sunset that it is of; null for others. */
  readonly sunset: string | null;
  /** Whether the consumer can read the token in its store: false where it was not written, or that is not known. */
  readonly isStored: boolean;
  /**
   * `making`: the token is being made. `unknown`: it may have been made, and no one has its value. `open`: it lives until its end.
   * `ended`: it is revoked, or gone. `unmade`: there was never a token. `released`: it has no end by tokenctl any more.
   */
  readonly state: 'making' | 'unknown' | 'open' | 'ended' | 'unmade' | 'released';
  /** Null where it is not known, or there is none. */
  readonly token: LeasedToken | null;
  /** The id is null until the token is known. */
  readonly owner: { readonly id: number | null; readonly username: string };
  readonly scope: string;
  readonly until: string;
  /** When the token was asked for. */
  readonly begun: string;
  /** The same by the clock of the machine that wrote the audit log, as the times of its entries. */
  readonly loggedAt: string;
  /** The run of its creation. */
  readonly run: string;
  readonly by: Readonly<Record<string, string>>;
  /** The target as the entries of the log name it. */
  readonly target: Readonly<Record<string, string>>;
  /** How it ended; null while it has not. */
  readonly ended: { readonly at: string; readonly how: LeaseEnding } | null;
  /**
   * Where the end is in the row of the token as well, so that the controller refuses it then: the ends that were written there, and
   * whether the row has what it is to have. Null for others.
   */
  readonly row: { readonly ends: readonly string[]; readonly isWritten: boolean } | null;
  /** Why its token could not be ended when that was last tried; null where it was not, or the reason is another one now. */
  readonly failure: string | null;
}

/** `revoked` by tokenctl and not listed after that; `gone` before it was tried; `unmade`: there was never a token. */
export type LeaseEnding = 'revoked' | 'gone' | 'unmade';

/** The operation of the notes that move an end. */
export const EXTEND_LEASE = 'leases.extend';

/** The operation of the notes that say what became of a lease that was to end. */
export const END_LEASE = 'leases.end';

/** The operation of the notes that take a token over into a rotation. */
export const ADOPT_LEASE = 'leases.adopt';

/** The operation of the notes that give the tokens of an owner an end. */
export const SUNSET = 'leases.sunset';

/** The operation of the notes that take ends back. */
export const RELEASE_LEASE = 'leases.release';

/** The operation of the notes that say that the rows of tokens have the ends of their leases, or their old expiry again. */
export const WRITE_ENDS = 'leases.write';

/** The operation that renews the token of a consumer. */
export const ROTATE = 'tokens.rotate';

/** The operation that makes tokens on a gateway in the place of a controller's. */
export const MIGRATE = 'tokens.migrate';

/** The operations whose entries record leases. */
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

/** The description of a token with the id of its lease, by which it is found if its creation was cut off. */
export function markedDescription(description: string, { id }: Pick<LeaseOrder, 'id'>): string {
  return `${description} (${id})`.trim();
}

/** A pattern for the descriptions that have the id of a lease. */
export function markPattern({ id }: Pick<Lease, 'id'>): string {
  return `*(${id})`;
}

/** Built from the entries of the audit log: add every one in order, then ask. */
export class LeaseBook {
  readonly #leases = new Map<string, Lease>();
  /** The leases of sunsets and adoptions by their tokens. */
  readonly #ends = new Map<string, string>();
  /** The leases of creations without an outcome, by the number of the intent. */
  readonly #creations = new Map<number, string>();
  /** The intents of rotations and migrations without an outcome, by their number. */
  readonly #deliveries = new Map<number, IncidentEntry>();

  /** In the order in which they began. */
  get all(): readonly Lease[] {
    return [...this.#leases.values()];
  }

  /** Rotations, or migrations, that have begun and not ended: the intents of their runs. */
  begun(operation: typeof ROTATE | typeof MIGRATE): readonly IncidentEntry[] {
    return [...this.#deliveries.values()].filter(
      (entry) => entry.operation === operation && entry.data['step'] === 'operation',
    );
  }

  /** Keeps only those that may have a living token. */
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
    // A migrated token ends only where its value is lost.
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

  /** Of two sunsets at once, and of one during the adoption of a token by a rotation, the first record counts. */
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

  /** A row that held another end than those recorded is none of ours. */
  #wrote(id: unknown, isWritten: boolean): void {
    const lease = this.#of(id);
    if (lease === undefined || lease.row === null) return;
    this.#leases.set(lease.id, { ...lease, row: isWritten ? { ...lease.row, isWritten } : null });
  }

  #of(id: unknown): Lease | undefined {
    return typeof id === 'string' ? this.#leases.get(id) : undefined;
  }
}

/** A row that is to be written, perhaps with one more end. */
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

/** What a token that existed before is taken over with. */
export interface Adoption {
  readonly lease: string;
  readonly consumer: string;
  readonly token: LeasedToken;
  readonly owner: Lease['owner'];
  readonly scope: string;
  /** The leases of sunsets that the token had: the rotation ends it instead. */
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

/** What one note of a sunset says: the tokens of one owner, or some of them. */
export interface SunsetNote {
  readonly sunset: string;
  readonly owner: { readonly id: number; readonly username: string };
  readonly until: string;
  /** Whether the end is to be in the rows of the tokens as well. */
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

/** What an intent begins: without a user, it is the caller's. */
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

/** After its creation. A token that may have been made is not forgotten: only a refusal says that there is none. */
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

/** Whether a lease may have a living token. */
export function isOpen({ state }: Pick<Lease, 'state'>): boolean {
  return state === 'making' || state === 'unknown' || state === 'open';
}

/** A creation that takes longer was cut off, in milliseconds: requests end before. */
const MAKING_MS = 300_000;

/** Whether its token is to be revoked now: its end has come, or no one can have its value. */
export function isLeaseDue(lease: Lease, now: Date): boolean {
  const { state, begun, until } = lease;
  if (state === 'making') return now.getTime() - Date.parse(begun) > MAKING_MS;
  return state === 'unknown' || (state === 'open' && Date.parse(until) <= now.getTime());
}

/** How far the clock by which an end was asked for may be off, in milliseconds. */
const CLOCK_MS = 5000;

/** Whether the target itself ends a token when it was asked to, so that no lease has to. */
export function endsByItself(token: Pick<LeasedToken, 'expires'>, until: string): boolean {
  return Date.parse(token.expires) <= Date.parse(until) + CLOCK_MS;
}

/** The fingerprint of a token's value, as of `Token.fingerprint`: the first 12 hex digits of its SHA-256. */
export function fingerprintOf(value: Secret): string {
  return createHash('sha256').update(value.reveal()).digest('hex').slice(0, 12);
}
