import { isDeepStrictEqual } from 'node:util';
import {
  type Incident,
  type IncidentEntry,
  isIncidentEntry,
  type Lock,
  type LockValue,
  lockKey,
  locksIn,
  openingOf,
} from './incident.ts';

/** What holds a value: the incidents, the value that they set, and the one that was there before the first. */
export interface Hold {
  readonly lock: Omit<Lock, 'before' | 'locked'>;
  readonly before: LockValue;
  readonly locked: LockValue;
  /** Ids of the incidents, in the order in which they came to hold it. */
  readonly holders: readonly string[];
  /** When the first of them came to hold it (RFC 3339). */
  readonly since: string;
}

/**
 * The incidents of one target, built from its entries in the audit log: add every entry in order, then
 * ask. An intent counts as done until its outcome says that the target refused: nothing that may be locked is
 * forgotten because a process was killed.
 */
export class IncidentHistory {
  readonly #incidents = new Map<string, Incident>();
  readonly #holds = new Map<string, Hold>();
  /** What each intent came to hold anew, by its number. */
  readonly #claimed = new Map<number, readonly string[]>();

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

  /** All of them, in the order in which they began. */
  get incidents(): readonly Incident[] {
    return [...this.#incidents.values()];
  }

  /** Those that are not lifted. */
  get open(): readonly Incident[] {
    return this.incidents.filter(({ state }) => state !== 'lifted');
  }

  /** What an incident holds, in the order in which it was locked. */
  heldBy(incident: string): readonly Hold[] {
    return [...this.#holds.values()].filter(({ holders }) => holders.includes(incident));
  }

  /** What holds this; null where no incident does. */
  holdOn(lock: Hold['lock']): Hold | null {
    return this.#holds.get(lockKey(lock)) ?? null;
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
    const codesUntil = codesUntilIn(entry.data['accessPaths']) ?? known.codesUntil;
    this.#incidents.set(id, { ...known, state, codesUntil, ...(state === 'locked' && { locked: entry.at }) });
  }

  #step(incident: Incident, { kind, seq, at, closes, data }: IncidentEntry): void {
    if (kind === 'intent') {
      const fresh = locksIn(data).filter((lock) => this.#claim(incident.id, at, lock));
      this.#claimed.set(seq, fresh.map(lockKey));
      return;
    }
    const claimed = this.#claimed.get(closes ?? 0) ?? [];
    const users = Array.isArray(data['refused']) ? data['refused'] : [];
    const given = data['result'] === 'refused' ? claimed : users.map((id) => `user:${id}`);
    for (const key of given) if (claimed.includes(key)) this.#release(incident.id, key);
    const { file, sha256 } = data;
    if (typeof file === 'string' && typeof sha256 === 'string') {
      this.#incidents.set(incident.id, { ...incident, snapshot: { file, sha256 } });
    }
  }

  /**
   * Has an incident hold a value. What was found there is the value before, unless others hold it already and
   * it was as they had left it.
   *
   * @returns Whether it did not hold it already.
   */
  #claim(incident: string, at: string, { before, locked, ...lock }: Lock): boolean {
    const key = lockKey(lock);
    const hold = this.#holds.get(key);
    const isHolder = hold?.holders.includes(incident) === true;
    const asLeft = hold !== undefined && (isHolder || isDeepStrictEqual(before, hold.locked));
    this.#holds.set(key, {
      lock,
      before: asLeft ? hold.before : before,
      locked,
      since: asLeft ? hold.since : at,
      holders: isHolder ? hold.holders : [...(hold?.holders ?? []), incident],
    });
    return !isHolder;
  }

  #release(incident: string, key: string): void {
    const hold = this.#holds.get(key);
    const holders = hold?.holders.filter((each) => each !== incident) ?? [];
    if (hold === undefined || holders.length === 0) this.#holds.delete(key);
    else this.#holds.set(key, { ...hold, holders });
  }

  #lift(incident: Incident, { kind, at, actor, data }: IncidentEntry): void {
    if (data['step'] !== 'operation') return;
    const isLifted = kind === 'outcome' && data['result'] === 'lifted';
    if (isLifted) for (const key of this.#holds.keys()) this.#release(incident.id, key);
    const ending = isLifted
      ? { state: 'lifted' as const, lifted: { at, by: actor } }
      : { state: 'lifting' as const };
    this.#incidents.set(incident.id, { ...incident, ...ending });
  }

  #extend(incident: Incident, { data }: IncidentEntry): void {
    const { until } = data;
    this.#incidents.set(incident.id, { ...incident, until: typeof until === 'string' ? until : null });
  }
}

/** When the last authorization code that was not deleted expires, by the access paths of a lockdown. */
function codesUntilIn(accessPaths: unknown): string | null {
  if (!Array.isArray(accessPaths)) return null;
  for (const each of accessPaths as unknown[]) {
    const { path, until } = (typeof each === 'object' && each !== null ? each : {}) as Record<
      string,
      unknown
    >;
    if (path === 'authorization_codes' && typeof until === 'string') return until;
  }
  return null;
}
