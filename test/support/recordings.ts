import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Peer } from './real-tables.ts';

/** Conversations with real controllers and gateways; kept beside the project, not in it. */
const FOLDER = join(import.meta.dirname, '../../../shared/recordings');

/** A request of the raw conversation, and its answer. */
interface Exchange {
  readonly as: string;
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly status: number;
  readonly response: unknown;
}

/** A management command on a copy of the filled tables, and the rows that it changed. */
export interface ManagementRun {
  readonly argv: readonly string[];
  /** Whether there were logins beside the filling. */
  readonly start: 'filled' | 'filled+logins';
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly changes: Readonly<Record<string, RecordedChange>>;
}

/** What became of the rows of a table. */
interface RecordedChange {
  readonly added?: readonly Readonly<Record<string, unknown>>[];
  readonly removed?: readonly Readonly<Record<string, unknown>>[];
  readonly changed?: readonly {
    readonly key: Readonly<Record<string, unknown>>;
    readonly columns: Readonly<Record<string, readonly [before: unknown, after: unknown]>>;
  }[];
}

/** An act, and the credentials that worked after it, by status. */
interface RecordedAct {
  readonly act: string;
  readonly doors: Readonly<Record<string, number | null>> | null;
  /** By table. */
  readonly changes: Readonly<Record<string, unknown>>;
}

/** A run of tokenctl 0.2.0 over REST. */
interface RecordedRun {
  readonly argv: readonly string[];
  readonly exchanges: readonly Pick<Exchange, 'method' | 'path' | 'status' | 'response'>[];
}

interface Recordings {
  readonly raw: Exchange;
  readonly manage: ManagementRun;
  readonly effects: RecordedAct;
  readonly tokenctl: RecordedRun;
}

/** Whether the conversations with a peer are at hand. */
export function hasRecordings(peer: Peer): boolean {
  return existsSync(join(FOLDER, peer, 'raw.jsonl.gz'));
}

/** Whether those with a controller 24.6.1 are. */
export const HAS_RECORDING = hasRecordings('awx-24.6.1');

const read = new Map<string, readonly unknown[]>();

/** The lines of a recording, in the order of time. */
export function recorded<Kind extends keyof Recordings>(peer: Peer, kind: Kind): readonly Recordings[Kind][] {
  const path = join(FOLDER, peer, `${kind}.jsonl.gz`);
  const lines =
    read.get(path) ??
    gunzipSync(readFileSync(path))
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
  read.set(path, lines);
  return lines as readonly Recordings[Kind][];
}

/** The first exchange of the superuser of a controller 24.6.1 that is meant. */
export function recordedExchange(isMeant: (exchange: Exchange) => boolean): Exchange {
  const found = recorded('awx-24.6.1', 'raw').find((each) => each.as === 'admin' && isMeant(each));
  if (found === undefined) throw new Error('not recorded');
  return found;
}

/** The user of a Basic Authorization header; the password of each is the name followed by `pw`. */
export function passwordUser(authorization: string | undefined): string | null {
  const [, encoded = ''] = /^Basic (.+)$/.exec(authorization ?? '') ?? [];
  const [name = '', password] = Buffer.from(encoded, 'base64').toString().split(':');
  return name !== '' && password === `${name}pw` ? name : null;
}
