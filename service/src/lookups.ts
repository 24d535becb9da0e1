import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from '@tokenctl/common/db/database.ts';
import { currentSettings } from './settings/settings.ts';
import { findClients } from './store/applications.ts';
import { findRefreshTokens } from './store/refresh-tokens.ts';
import { findBearers } from './store/tokens.ts';

/** Lookups that nearly every request needs, batched across concurrent requests. */
export type Lookups = ReturnType<typeof createLookups>;

export function createLookups({ database, now }: { database: Database; now: () => Date }) {
  const settings = new BatchedLookup(async () => new Map([['', await currentSettings(database)]]));
  return {
    /** Live access tokens of active users, by hash. */
    bearers: new BatchedLookup(async (stored) => byKey(await findBearers(database, stored, now()), 'stored')),
    clients: new BatchedLookup(async (ids) => byKey(await findClients(database, ids), 'client_id')),
    refreshTokens: new BatchedLookup(async (stored) =>
      byKey(await findRefreshTokens(database, stored), 'stored'),
    ),
    async settings() {
      return (await settings.find('')) ?? currentSettings(database);
    },
  };
}

function byKey<K extends string, V extends { readonly [key in K]: string }>(rows: readonly V[], key: K) {
  return new Map(rows.map((row) => [row[key], row]));
}

interface PendingLookup<V> {
  readonly resolve: (value: V | null) => void;
  readonly reject: (error: unknown) => void;
}

/** How many keys are answered in one turn of the event loop: those answers are on their way while the next are made. */
const ANSWERED_AT_ONCE = 8;

/**
 * Looks up values by key, with one statement for all keys requested in the same tick of the event loop. It
 * caches nothing: every lookup reads after its request, so it sees every earlier revocation and change.
 */
class BatchedLookup<V> {
  readonly #load: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>;
  #pending = new Map<string, PendingLookup<V>[]>();

  /** @param load Looks up several keys; missing keys resolve to null. */
  constructor(load: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>) {
    this.#load = load;
  }

  find(key: string): Promise<V | null> {
    if (this.#pending.size === 0) setImmediate(() => this.#resolve());
    return new Promise((resolve, reject) => {
      const pending = this.#pending.get(key) ?? [];
      pending.push({ resolve, reject });
      this.#pending.set(key, pending);
    });
  }

  async #resolve(): Promise<void> {
    const asked = this.#pending;
    this.#pending = new Map();
    try {
      const found = await this.#load([...asked.keys()]);
      let answered = 0;
      for (const [key, pending] of asked) {
        for (const { resolve } of pending) resolve(found.get(key) ?? null);
        answered += 1;
        if (answered % ANSWERED_AT_ONCE === 0 && answered < asked.size) await nextTurn();
      }
    } catch (error) {
      for (const { reject } of [...asked.values()].flat()) reject(error);
    }
  }
}
