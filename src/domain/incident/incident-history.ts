import { isDeepStrictEqual } from 'node:util';
import { type RecordedPath, recordedPaths } from '../access.ts';
import { controllerTime } from '../clock-difference.ts';
import {
  type Incident,
  type IncidentEntry,
  isIncidentEntry,
  keptIn,
  type Lock,
  type LockValue,
  lockKey,
  locksIn,
  openingOf,
} from './incident.ts';

/** A held value: the incidents that hold it, their value, and the one before the first incident. */
export interface Hold {
  readonly lock: Omit<Lock, 'before' | 'locked'>;
  readonly before: LockValue;
  readonly locked: LockValue;
  /** The incidents' ids, in the order they set it; with ` at ` and the address if it is another one. */
  readonly holders: readonly string[];
  /** When the first of them set it (RFC 3339). */
  readonly since: string;
  /** The same by the controller's clock. */
  readonly setAt: Date;
}

/** An incident as a holder: one that several contexts share has the same id at each address. */
interface Holder {
  readonly id: string;
  readonly address: string;
  /** It was lifted, and left this value unchanged. */
  readonly isLifted?: true;
}

type StoredHold = Omit<Hold, 'holders'> & { readonly holders: readonly Holder[] };

/** What the incidents of one controller hold, at all its addresses, by what they set. */
export class ControllerHolds {
  readonly byKey = new Map<string, StoredHold>();

  /** Adds the holds of an address that turns out to belong to this controller. */
  absorb(other: ControllerHolds): void {
    for (const [key, hold] of other.byKey) {
      const known = this.byKey.get(key);
      const first = known !== undefined && known.since <= hold.since ? known : hold;
      this.byKey.set(key, { ...first, holders: [...(known?.holders ?? []), ...hold.holders] });
    }
  }
}

/**
 * The incidents of one target, built from its entries in the audit log: add every entry in order, then query.
 * Holds are shared with the other addresses of the same controller. An intent counts as done until its
 * outcome says that the target refused: a killed process must not make a possible lock disappear.
 */
export class IncidentHistory {
  readonly #incidents = new Map<string, Incident>();
  readonly #address: string;
  #holds = new ControllerHolds();
  /** The holds that each intent added, by its number. */
  readonly #claimed = new Map<number, readonly string[]>();

  constructor(address = '') {
    this.#address = address;
  }

  get address(): string {
    return this.#address;
  }

  /** Shares its holds with the other addresses of its controller. */
  join(holds: ControllerHolds): void {
    if (holds === this.#holds) return;
    holds.absorb(this.#holds);
    this.#holds = holds;
  }

  add(entry: IncidentEntry): void {
    if (!isIncidentEntry(entry)) return;
    const id = String(entry.data['incident']);
    if (entry.operation === 'incident.lockdown' && entry.data['step'] === 'operation') {
      this.#note(id, entry);
      return;
    }
    const incident = this.#incidents.get(id);
    if (incident === undefined) return;
    if (entry.operation === 'incident.lift') this.#lift(incident, entry);
    else if (entry.operation === 'incident.extend') this.#extend(incident, entry);
    else this.#step(incident, entry);
  }

  /** All incidents, in the order they began. */
  get incidents(): readonly Incident[] {
    return [...this.#incidents.values()];
  }

  get open(): readonly Incident[] {
    return this.incidents.filter(({ state }) => state !== 'lifted');
  }

  /** What an incident holds, in the order it was locked. */
  heldBy(incident: string): readonly Hold[] {
    return [...this.#holds.byKey.values()]
      .filter((hold) => this.#isHeld(hold, incident))
      .map((hold) => this.#shown(hold));
  }

  /** The hold on a value; null if no incident holds it. */
  holdOn(lock: Hold['lock']): Hold | null {
    const hold = this.#holds.byKey.get(lockKey(lock));
    return hold === undefined ? null : this.#shown(hold);
  }

  #isHeld({ holders }: StoredHold, incident: string): boolean {
    return holders.some((each) => this.#is(each, incident));
  }

  #is({ id, address }: Holder, incident: string): boolean {
    return id === incident && address === this.#address;
  }

  #shown(hold: StoredHold): Hold {
    const name = ({ id, address }: Holder) => (address === this.#address ? id : `${id} at ${address}`);
    return { ...hold, holders: hold.holders.map(name) };
  }

  #note(id: string, entry: IncidentEntry): void {
    const known = this.#incidents.get(id);
    if (entry.kind === 'intent') {
      this.#incidents.set(id, openingOf(entry, known ?? null));
      return;
    }
    if (known === undefined) return;
    const { result } = entry.data;
    const state = result === 'locked' || result === 'partly' ? result : 'unfinished';
    const ends = laterEnds(known.ends, recordedPaths(entry.data));
    this.#incidents.set(id, {
      ...known,
      state,
      ends,
      ...(state === 'locked' && { locked: controllerTime(entry).toISOString() }),
    });
  }

  #step(incident: Incident, entry: IncidentEntry): void {
    const { kind, seq, closes, data } = entry;
    if (kind === 'intent') {
      const fresh = locksIn(data).filter((lock) => this.#claim(incident.id, entry, lock));
      this.#claimed.set(seq, fresh.map(lockKey));
      return;
    }
    const claimed = this.#claimed.get(closes ?? 0) ?? [];
    const users = Array.isArray(data['refused']) ? data['refused'] : [];
    const roles = Array.isArray(data['refusedKeys']) ? data['refusedKeys'].map(String) : [];
    const given = data['result'] === 'refused' ? claimed : [...users.map((id) => `user:${id}`), ...roles];
    for (const key of given) if (claimed.includes(key)) this.#release(incident.id, key);
    const { file, sha256 } = data;
    if (typeof file === 'string' && typeof sha256 === 'string') {
      this.#incidents.set(incident.id, { ...incident, snapshot: { file, sha256 } });
    }
  }

  /**
   * Makes an incident hold a value; returns whether it did not hold it before. The value found is the
   * original one, unless other incidents already hold it and it was unchanged since.
   */
  #claim(incident: string, entry: IncidentEntry, { before, locked, ...lock }: Lock): boolean {
    const key = lockKey(lock);
    const hold = this.#holds.byKey.get(key);
    const isHolder = hold !== undefined && this.#isHeld(hold, incident);
    const asLeft = hold !== undefined && (isHolder || isDeepStrictEqual(before, hold.locked));
    const holder = { id: incident, address: this.#address };
    // A value that a lift left is no longer left if someone changed it since.
    const others = hold?.holders.filter(({ isLifted }) => asLeft || isLifted !== true) ?? [];
    this.#holds.byKey.set(key, {
      lock,
      before: asLeft ? hold.before : before,
      locked,
      since: asLeft ? hold.since : entry.at,
      setAt: asLeft ? hold.setAt : controllerTime(entry),
      holders: isHolder ? hold.holders : [...others, holder],
    });
    return !isHolder;
  }

  #release(incident: string, key: string): void {
    const hold = this.#holds.byKey.get(key);
    const holders = hold?.holders.filter((each) => !this.#is(each, incident)) ?? [];
    if (hold === undefined || holders.length === 0) this.#holds.byKey.delete(key);
    else this.#holds.byKey.set(key, { ...hold, holders });
  }

  #lift(incident: Incident, { kind, at, actor, data }: IncidentEntry): void {
    if (data['step'] !== 'operation') return;
    const isLifted = kind === 'outcome' && data['result'] === 'lifted';
    if (!isLifted) {
      const { keepDeactivated: keeps } = data;
      const keepsDeactivated = typeof keeps === 'boolean' ? keeps : incident.keepsDeactivated;
      this.#incidents.set(incident.id, { ...incident, state: 'lifting', keepsDeactivated });
      return;
    }
    const stays = keptIn(data);
    const kept = new Set(stays.map(lockKey));
    for (const key of this.#holds.byKey.keys()) {
      if (kept.has(key)) this.#leave(incident.id, key);
      else this.#release(incident.id, key);
    }
    // Restoring access later does not change when the incident was closed.
    const lifted = incident.lifted ?? { at, by: actor };
    this.#incidents.set(incident.id, { ...incident, state: 'lifted', lifted, released: at, stays });
  }

  /** Keeps what a lift left, until a later lift restores it. */
  #leave(incident: string, key: string): void {
    const hold = this.#holds.byKey.get(key);
    if (hold === undefined) return;
    const holders = hold.holders.map((each) =>
      this.#is(each, incident) ? { ...each, isLifted: true as const } : each,
    );
    this.#holds.byKey.set(key, { ...hold, holders });
  }

  #extend(incident: Incident, { data }: IncidentEntry): void {
    const { until } = data;
    this.#incidents.set(incident.id, { ...incident, until: typeof until === 'string' ? until : null });
  }
}

/** Until when each access path may be open: the known time, or a later one that a lockdown's run recorded. */
function laterEnds(known: Incident['ends'], paths: readonly RecordedPath[]): Incident['ends'] {
  const ends = { ...known };
  for (const { path, until, covered } of paths) {
    if (until !== null && covered && until > (ends[path] ?? '')) ends[path] = until;
  }
  return ends;
}
