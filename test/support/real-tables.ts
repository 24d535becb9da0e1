import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Database } from '@tokenctl/common/db/database.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase, templateDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import pg from 'pg';
import { describe, inject, test } from 'vitest';
import type { Target } from '../../src/operations/ports/target.ts';
import {
  type DatabaseTargetOptions,
  openDatabaseTarget,
} from '../../src/targets/database/database-target.ts';

/** Dumps of the databases of real controllers and gateways; kept beside the project, not in it. */
const FOLDER = join(import.meta.dirname, '../../../shared/tables');

const SHIFT = existsSync(join(FOLDER, 'shift.sql')) ? readFileSync(join(FOLDER, 'shift.sql'), 'utf8') : '';

const PEERS = [
  'awx-21.14.0',
  'awx-23.5.1',
  'awx-24.6.1',
  'awx-devel',
  'gateway',
  'gateway-plain',
  'gateway-newest',
] as const;

/** A real controller or gateway whose tables can be loaded. */
export type Peer = (typeof PEERS)[number];

/** The peers whose tables are at hand. Where the dumps are absent, `describe.each` of it leaves its tests out. */
export const REAL_PEERS: readonly Peer[] = PEERS.filter((peer) => existsSync(join(FOLDER, `${peer}.sql.gz`)));

/** As `describe.each`. Without any, the suite is skipped: a file without a suite fails. */
export function describeEach<Of extends string>(
  peers: readonly Of[],
): (name: string, body: (peer: Of) => void) => void {
  if (peers.length > 0) return (name, body) => describe.each(peers)(name, (peer) => body(peer));
  return (name) => describe.skip(name, () => test('needs the tables of controllers', () => {}));
}

/** What a dump was filled with. A user's password is the name followed by `pw`. */
interface Filling {
  /** The ids of the users by name. */
  readonly users: Readonly<Record<string, number>>;
  readonly applications: Readonly<
    Record<
      string,
      {
        readonly id: number;
        readonly client_id: string;
        readonly client_secret?: string;
        readonly client_type: string;
        readonly authorization_grant_type: string;
      }
    >
  >;
  /** A token of the superuser, of scope write. */
  readonly admintoken: string;
  /** Every token with its value in clear; those of an application come without their id. */
  readonly tokens: readonly {
    readonly user: string;
    readonly application: string | null;
    readonly scope: string;
    readonly id?: number;
    readonly token: string;
    readonly refresh_token?: string;
  }[];
}

/** A database with the tables and rows of a real peer; its times are as old as on the day of the dump. */
export interface RealTables {
  readonly url: string;
  readonly database: Database;
  readonly filling: Filling;
  /** Opens a target on it; `close` closes it. */
  open(options?: Partial<DatabaseTargetOptions> & { readonly url?: string }): Promise<Target>;
  close(): Promise<void>;
}

/**
 * Makes a new database of the tests' server, or of another, with the tables of a peer: a copy of a template, which the first test that
 * needs it loads for all processes.
 */
export async function loadRealTables(peer: Peer, server = inject('postgresUrl')): Promise<RealTables> {
  const url = await createDatabase(server, { template: await templateOf(server, peer) });
  const database = await openOn(url);
  const targets: Target[] = [];
  return {
    url,
    database,
    filling: JSON.parse(readFileSync(join(FOLDER, `${peer}.fill.json`), 'utf8')) as Filling,
    async open({ url: as = url, ...options } = {}) {
      const target = await openDatabaseTarget({ context: 'test', connection: new Secret(as), ...options });
      targets.push(target);
      return target;
    },
    async close() {
      await Promise.all(targets.map((target) => target.close()));
      await database.close();
    },
  };
}

/** The dump of a peer, as SQL. */
export function dumpOf(peer: Peer): string {
  return gunzipSync(readFileSync(join(FOLDER, `${peer}.sql.gz`))).toString();
}

/** The template of a peer on the server, which is made if it is not there yet. */
function templateOf(server: string, peer: Peer): Promise<string> {
  const name = `real_${peer.replaceAll(/[^a-z0-9]/g, '_')}_${inject('testRun')}`;
  return templateDatabase(server, name, async (url) => {
    // The dump leaves its connection without a search path.
    for (const sql of [dumpOf(peer), SHIFT]) {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query(sql);
      await client.end();
    }
  });
}
