import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase, type PostgresServer, startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openFileLog } from '../../src/audit-log/file-log.ts';
import type { Entry } from '../../src/operations/ports/audit-log.ts';
import type { RunRecord } from '../../src/operations/ports/scheduler.ts';
import { openLedgerTables } from '../../src/scheduler/ledger/ledger.ts';
import { bundledProgram } from '../support/bundled-program.ts';
import { makeTables } from '../support/controller-tables.ts';
import { stillClock } from '../support/drafts.ts';
import { entriesOf } from '../support/fixture.ts';
import { fillEstate } from '../support/token-estate.ts';
import type { ReplicaOptions } from './scheduler-process.ts';

const program = bundledProgram(join(import.meta.dirname, 'scheduler-process.ts'));

const TICKS = 200;
const ESTATES = 5;
const REPLICAS = 5;
/** A replica is killed after so many runs that completed. */
const KILL_AFTER = 5;
/** Tokens that expire between two ticks. */
const EXPIRING = 2;

const MINUTES = TICKS / ESTATES;
const SCHEDULE = '* * * * *';
const END = Date.parse('2026-03-01T03:59:00Z');
const BEGIN = END - MINUTES * 60_000;

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 60_000);
afterAll(() => server.stop());

/** A controller's database, in which tokens expire steadily while the ticks last. */
async function estate(): Promise<string> {
  const url = await createDatabase(server.url);
  const database = await openOn(url);
  await makeTables(database, 'service');
  await fillEstate(database, { tokens: MINUTES * EXPIRING, users: 5, applications: 2 });
  await database.execute(
    `UPDATE main_oauth2accesstoken SET created = to_timestamp($1::float8 - 86400),
       expires = to_timestamp($1::float8 + id * $2::float8)`,
    [BEGIN / 1000, 60 / EXPIRING],
  );
  await database.close();
  return url;
}

/** The replicas, one of which is killed every few runs and started again. */
class Replicas {
  readonly said: string[] = [];
  readonly drained: (number | null)[] = [];
  completed = 0;
  kills = 0;
  readonly #running = new Map<number, ChildProcess>();
  readonly #ready = new WeakSet<ChildProcess>();
  readonly #options: Omit<ReplicaOptions, 'holder'>;
  #started = 0;
  #over = false;

  constructor(options: Omit<ReplicaOptions, 'holder'>) {
    this.#options = options;
  }

  start(place: number): void {
    if (this.#over) return;
    this.#started += 1;
    const options: ReplicaOptions = { ...this.#options, holder: `replica-${this.#started}` };
    const child = spawn(process.execPath, [program.path(), JSON.stringify(options)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#running.set(place, child);
    createInterface(child.stdout).on('line', (line) => {
      if (line === 'ready') this.#ready.add(child);
      this.#hear(line);
    });
    // One that cannot start, since the database is away, is started again, as a supervisor does.
    child.once('exit', async (code, signal) => {
      if (this.#running.get(place) !== child || signal !== null) return;
      if (code === 0) this.drained.push(code);
      await sleep(200);
      if (this.#running.get(place) === child) this.start(place);
    });
  }

  /** Ends one as a failing machine does, or as an administrator does, who waits until it has started. */
  async end(place: number, wanted: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#running.get(place);
    this.#running.delete(place);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const signal = this.#ready.has(child) ? wanted : 'SIGKILL';
    const exited = once(child, 'exit');
    child.kill(signal);
    const [code] = (await exited) as [number | null];
    if (signal === 'SIGTERM') this.drained.push(code);
  }

  #hear(line: string): void {
    if (line.startsWith('completed')) this.completed += 1;
    this.said.push(line);
    if (!line.startsWith('completed') || this.completed % KILL_AFTER !== 0) return;
    const places = [...this.#running.keys()];
    const place = places[Math.floor(Math.random() * places.length)];
    if (place === undefined) return;
    this.kills += 1;
    void this.end(place, this.kills % 4 === 0 ? 'SIGTERM' : 'SIGKILL').then(() => this.start(place));
  }

  /** Ends all that are there, and starts no more. */
  async endAll(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#over = true;
    await Promise.all([...this.#running.keys()].map((place) => this.end(place, signal)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.endAll('SIGKILL');
  }
}

describe(`${REPLICAS} replicas and ${TICKS} ticks, a replica killed every ${KILL_AFTER} of them, the database restarted twice`, () => {
  test('run every tick once, lose none, and never two of a job at once; estates, ledger and audit log agree', async () => {
    await using folder = await temporaryFolder();
    const auditLog = join(folder.path, 'audit.jsonl');
    const ledger = await createDatabase(server.url);
    const estates: string[] = [];
    for (let index = 0; index < ESTATES; index += 1) estates.push(await estate());
    const store = await openLedgerTables({ database: await openOn(ledger) });
    const names = estates.map((_, index) => `sweep@estate-${index}`);
    await store.register(
      names.map((name) => ({ name, schedule: `${SCHEDULE} UTC` })),
      new Date(BEGIN),
    );
    const began = { virtual: BEGIN, real: Date.now() };
    await using replicas = new Replicas({
      ledger,
      auditLog,
      estates,
      began,
      schedule: SCHEDULE,
      end: END,
      speed: 600,
      lease: 10_000,
    });
    for (let place = 0; place < REPLICAS; place += 1) replicas.start(place);
    for (const share of [1 / 3, 2 / 3]) {
      while (replicas.completed < TICKS * share) await sleep(20);
      await server.restart();
    }

    const finished = async () => {
      const history = await store.history({ states: ['completed'], limit: TICKS + 100 }).catch(() => []);
      return history.length >= TICKS;
    };
    while (!(await finished())) await sleep(200);
    await sleep(1000);
    await replicas.endAll('SIGTERM');

    const history = await store.history({ limit: TICKS * 100 });
    await store.close();
    const log = openFileLog({ path: auditLog, clock: stillClock });
    const entries = await entriesOf(log);

    expect(replicas.said.filter((line) => line.startsWith('OVERLAP'))).toEqual([]);
    expect(replicas.kills).toBeGreaterThan(TICKS / KILL_AFTER / 2);
    expect(new Set(replicas.drained)).toEqual(new Set([0]));
    expectEveryTickOnce(history, names);
    expect(await log.verify()).toMatchObject({ break: null, tornBytes: 0 });
    expect(entries.at(-1)?.open).toEqual([]);
    for (const [index, url] of estates.entries()) {
      await expectAgreement({ url, context: `estate-${index}`, entries, history });
    }
  }, 3_600_000);
});

function expectEveryTickOnce(history: readonly RunRecord[], names: readonly string[]): void {
  const expected = names.flatMap((name) =>
    Array.from(
      { length: MINUTES },
      (_, minute) => `${name} ${new Date(BEGIN + (minute + 1) * 60_000).toISOString()}`,
    ),
  );
  const completed = history.filter(({ state }) => state === 'completed');
  expect(completed.map(({ job, due }) => `${job} ${due.toISOString()}`).sort()).toEqual(expected.sort());
  expect(history.filter(({ state }) => state === 'running')).toEqual([]);
  const runs = new Set(history.map(({ run }) => run));
  expect(runs.size).toBe(history.length);
  // Those that were killed half-way are known as such, and were run again.
  expect(history.filter(({ state }) => state === 'lost').length).toBeGreaterThan(0);
}

/** Every token of an estate is gone, and the log says in which run; completed runs say so in the ledger as well. */
async function expectAgreement(found: {
  readonly url: string;
  readonly context: string;
  readonly entries: readonly Entry[];
  readonly history: readonly RunRecord[];
}): Promise<void> {
  const { url, context, entries, history } = found;
  const database = await openOn(url);
  const [left] = await database.query<{ tokens: number; refresh: number }>(
    `SELECT (SELECT count(*)::int FROM main_oauth2accesstoken) AS tokens,
       (SELECT count(*)::int FROM oauth2_provider_refreshtoken WHERE revoked IS NULL) AS refresh`,
  );
  await database.close();
  expect(left).toEqual({ tokens: 0, refresh: 0 });

  const own = entries.filter(({ target }) => target['context'] === context);
  const runs = new Map(history.map((record) => [record.run, record]));
  const revokedIn = new Map<string, number[]>();
  for (const { kind, data, actor, closes } of own) {
    if (kind !== 'outcome' || data['step'] !== 'batch') continue;
    // A killed run's batch is closed by the next one, and belongs to the run that began it.
    const run = data['reconciled'] === true ? jobRunOf(entries, closes) : actor['job_run'];
    const gone = (data['reconciled'] === true ? data['gone'] : data['revoked']) as number[];
    revokedIn.set(run ?? '', [...(revokedIn.get(run ?? '') ?? []), ...gone]);
  }
  expect([...revokedIn.keys()].filter((run) => runs.get(run)?.job !== `sweep@${context}`)).toEqual([]);
  const revoked = [...revokedIn.values()].flat();
  expect(revoked.sort((a, b) => a - b)).toEqual(
    Array.from({ length: MINUTES * EXPIRING }, (_, index) => index + 1),
  );
  for (const { run, state, job, summary } of history) {
    if (state !== 'completed' || job !== `sweep@${context}`) continue;
    expect(summary['revoked'] ?? 0, `run ${run}`).toBe(revokedIn.get(run)?.length ?? 0);
  }
}

function jobRunOf(entries: readonly Entry[], seq: number | undefined): string | undefined {
  return entries.find((entry) => entry.seq === seq)?.actor['job_run'];
}
