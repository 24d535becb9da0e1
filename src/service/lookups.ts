import type { Database } from '../db/database.ts';
import { currentSettings, type Settings } from './settings/settings.ts';
import { type ClientRecord, findClients } from './store/applications.ts';
import { findRefreshTokens, type RefreshTokenRecord } from './store/refresh-tokens.ts';
import { type BearerRecord, findBearers } from './store/tokens.ts';

/** What is looked up with nearly every request, shared by those of the same moment. */
export interface Lookups {
  /** Live access tokens of active users, by their stored form. */
  readonly bearers: TickLookup<BearerRecord>;
  /** Applications by client identifier. */
  readonly clients: TickLookup<ClientRecord>;
  /** Refresh tokens by their stored form. */
  readonly refreshTokens: TickLookup<RefreshTokenRecord>;
  /** The settings in force. */
  settings(): Promise<Settings>;
}

/** Makes the lookups over a database. */
export function lookupsOf({
  database,
  now,
}: {
  readonly database: Database;
  readonly now: () => Date;
}): Lookups {
  const settings = new TickLookup(async () => new Map([['', await currentSettings(database)]]));
  return {
    bearers: new TickLookup(async (stored) => byKey(await findBearers(database, stored, now()), 'stored')),
    clients: new TickLookup(async (ids) => byKey(await findClients(database, ids), 'client_id')),
    refreshTokens: new TickLookup(async (stored) =>
      byKey(await findRefreshTokens(database, stored), 'stored'),
    ),
    async settings() {
      return (await settings.find('')) ?? currentSettings(database);
    },
  };
}

function byKey<K extends string, V extends { readonly [key in K]: string }>(
  rows: readonly V[],
  key: K,
): ReadonlyMap<string, V> {
  return new Map(rows.map((row) => [row[key], row]));
}

/** Who waits for what a key names. */
interface Waiting<V> {
  readonly resolve: (value: V | null) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Looks things up by key, those that are asked for at the same moment with one statement. It remembers
 * nothing: a key is looked up after it was asked for, so that what was revoked or changed before holds.
 */
class TickLookup<V> {
  readonly #ask: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>;
  #waiting = new Map<string, Waiting<V>[]>();

  /** @param ask Looks several keys up; those that it leaves out are answered with null. */
  constructor(ask: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>) {
    this.#ask = ask;
  }

  /** What a key names, or null. */
  find(key: string): Promise<V | null> {
    if (this.#waiting.size === 0) setImmediate(() => this.#answer());
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(key) ?? [];
      waiting.push({ resolve, reject });
      this.#waiting.set(key, waiting);
    });
  }

  async #answer(): Promise<void> {
    const asked = this.#waiting;
    this.#waiting = new Map();
    try {
      const found = await this.#ask([...asked.keys()]);
      for (const [key, waiting] of asked) {
        for (const { resolve } of waiting) resolve(found.get(key) ?? null);
      }
    } catch (error) {
      for (const { reject } of [...asked.values()].flat()) reject(error);
    }
  }
}
