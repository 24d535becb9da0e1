import type { Database } from '../../db/database.ts';
import { currentSettings, type Settings } from '../settings/settings.ts';
import { type ClientRecord, findClients } from '../store/clients.ts';
import { findRefreshTokens, type RefreshTokenRecord } from '../store/refresh-tokens.ts';
import { type BearerRecord, findBearers } from '../store/tokens.ts';
import { TickLookup } from './tick-lookup.ts';

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
