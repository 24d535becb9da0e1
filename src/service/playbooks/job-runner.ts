import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyBaseLogger } from 'fastify';
import type { Database } from '../../db/database.ts';
import {
  appendOutput,
  enabledHosts,
  endJob,
  failLostJobs,
  type JobStatus,
  type RunnableJob,
  renewJobs,
  startJob,
} from '../store/jobs.ts';
import { findPlaybook, JobProblem, type PlaybookEnd, renderInventory, runPlaybook } from './playbook.ts';

/** What a runner works with. */
interface JobRunnerOptions {
  readonly database: Database;
  readonly log: FastifyBaseLogger;
  readonly now: () => Date;
  /** The folder that holds the folders of all projects. */
  readonly projects: string;
  /** Where `ansible-playbook` is looked for: a PATH. */
  readonly searchPath: string;
}

const MOST_RUNNING = 4;
const MOST_WAITING = 100;
const MOST_OUTPUT = 4 * 1024 * 1024;
const LONGEST_RUN_MS = 6 * 3_600_000;
const HEARTBEAT_MS = 1_000;
const SWEEP_MS = 5_000;
const LOST_AFTER_SECONDS = 15;
const LOST = 'The service that ran this job ended before the job did.';

/**
 * Runs jobs of this process, a few at a time and the others in their order. What is asked and what became of
 * it stands in the database, where other replicas see it; a cancellation asked of another replica is noticed
 * within a second.
 */
export class JobRunner {
  /** Names this process in the rows of its jobs. */
  readonly id = randomUUID();
  readonly #options: JobRunnerOptions;
  readonly #waiting: number[] = [];
  readonly #running = new Map<number, { readonly stop: AbortController; readonly done: Promise<void> }>();
  readonly #timers: NodeJS.Timeout[] = [];
  #stopped = false;

  constructor(options: JobRunnerOptions) {
    this.#options = options;
  }

  /** Ends jobs that a killed process left behind, now and from time to time. */
  async begin(): Promise<void> {
    // The embedded database belongs to one process: what runs there according to it was left behind.
    await this.#endLost(this.#options.database.kind === 'embedded' ? 0 : LOST_AFTER_SECONDS);
    this.#repeat(HEARTBEAT_MS, () => this.look());
    this.#repeat(SWEEP_MS, () => this.#endLost(LOST_AFTER_SECONDS));
  }

  /** How many jobs run and wait here. */
  get load(): { readonly running: number; readonly waiting: number } {
    return { running: this.#running.size, waiting: this.#waiting.length };
  }

  /** Whether another job can be taken. */
  get hasRoom(): boolean {
    return !this.#stopped && this.#waiting.length < MOST_WAITING;
  }

  /** Takes a job that was inserted with this runner's id. */
  enqueue(id: number): void {
    this.#waiting.push(id);
    this.#startNext();
  }

  /** Tells the database that this process lives, and ends those of its jobs that are to be canceled. */
  async look(): Promise<void> {
    const running = [...this.#running];
    const ids = [...running.map(([id]) => id), ...this.#waiting];
    if (ids.length === 0) return;
    const jobs = await renewJobs(this.#options.database, { ids, runner: this.id });
    const canceled = new Map(jobs.map((job) => [job.id, job.cancel_flag]));
    for (const [id, { stop }] of running) if (canceled.get(id) ?? true) stop.abort('canceled');
    for (const id of ids) {
      const place = canceled.has(id) ? -1 : this.#waiting.indexOf(id);
      if (place >= 0) this.#waiting.splice(place, 1);
    }
  }

  /** Ends what runs and what waits, and waits until it has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    for (const id of this.#waiting.splice(0)) {
      await this.#end(id, { status: 'canceled', explanation: STOPPED });
    }
    for (const { stop } of this.#running.values()) stop.abort('stopped');
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  #repeat(interval: number, work: () => Promise<unknown>): void {
    const timer = setInterval(() => {
      work().catch((error: unknown) => {
        this.#options.log.error({ err: error }, 'jobs could not be looked after; it is tried again');
      });
    }, interval);
    this.#timers.push(timer.unref());
  }

  #endLost(seconds: number): Promise<number> {
    return failLostJobs(this.#options.database, { seconds, explanation: LOST });
  }

  #startNext(): void {
    while (this.#running.size < MOST_RUNNING && !this.#stopped) {
      const id = this.#waiting.shift();
      if (id === undefined) return;
      const stop = new AbortController();
      const done = this.#run(id, stop).finally(() => {
        this.#running.delete(id);
        this.#startNext();
      });
      this.#running.set(id, { stop, done });
    }
  }

  /** Runs a job to its end. Never rejects. */
  async #run(id: number, stop: AbortController): Promise<void> {
    const { database, now } = this.#options;
    const limit = setTimeout(() => stop.abort('too long'), LONGEST_RUN_MS).unref();
    try {
      const job = await startJob(database, { id, runner: this.id, at: now() });
      if (job === null) return;
      const end = await this.#play(id, job, stop.signal);
      await this.#end(id, outcomeOf(end, stop.signal));
    } catch (error) {
      await this.#end(id, stop.signal.aborted ? outcomeOf(null, stop.signal) : this.#fault(id, error));
    } finally {
      clearTimeout(limit);
    }
  }

  #fault(id: number, error: unknown): { readonly status: JobStatus; readonly explanation: string } {
    if (error instanceof JobProblem) return { status: 'error', explanation: error.message };
    this.#options.log.error({ err: error, job: id }, 'a job ended through a fault of the service');
    return { status: 'error', explanation: 'The service could not run this job; its log says why.' };
  }

  async #play(id: number, job: RunnableJob, stop: AbortSignal): Promise<PlaybookEnd> {
    const { database, projects, searchPath } = this.#options;
    if (job.inventory_id === null) throw new JobProblem('The inventory of this job is gone.');
    const place = await findPlaybook(projects, job);
    const hosts = renderInventory(await enabledHosts(database, job.inventory_id));
    const home = await mkdtemp(join(tmpdir(), 'tokenctl-job-'));
    const output = new JobOutput(
      (number, content) => appendOutput(database, { jobId: id, number, content }),
      MOST_OUTPUT,
    );
    try {
      const inventory = join(home, 'inventory.yml');
      await writeFile(inventory, hosts, { mode: 0o600 });
      return await runPlaybook(
        { ...place, inventory, limit: job.limit, home, searchPath },
        { print: (text) => output.add(text), stop },
      );
    } finally {
      await output.flush();
      await rm(home, { recursive: true, force: true });
    }
  }

  /** Never rejects: a job whose end cannot be written is ended as lost once its heartbeat is old. */
  async #end(
    id: number,
    { status, explanation }: { readonly status: JobStatus; readonly explanation: string },
  ): Promise<void> {
    const { database, log, now } = this.#options;
    try {
      await endJob(database, { id, runner: this.id, status, explanation, at: now() });
    } catch (error) {
      log.error({ err: error, job: id }, 'the end of a job could not be written');
    }
  }
}

/** Why a run is to end before its time. */
type StopReason = 'canceled' | 'stopped' | 'too long';

/** What a job says whose service was stopped. */
const STOPPED = 'The service was stopped while this job waited or ran.';

const ENDED_EARLY: Readonly<Record<StopReason, readonly [JobStatus, explanation: string]>> = {
  canceled: ['canceled', ''],
  stopped: ['canceled', STOPPED],
  'too long': ['failed', 'The job ran for longer than six hours.'],
};

/**
 * What became of a job, and why where that is not plain.
 *
 * @param end How the process ended, null where there was none.
 * @param stop Aborted with a {@link StopReason} where it was made to end.
 */
function outcomeOf(
  end: PlaybookEnd | null,
  stop: AbortSignal,
): { readonly status: JobStatus; readonly explanation: string } {
  if (stop.aborted) {
    const [status, explanation] = ENDED_EARLY[stop.reason as StopReason];
    return { status, explanation };
  }
  if (end?.code === 0) return { status: 'successful', explanation: '' };
  const signal = end?.signal ?? null;
  return {
    status: 'failed',
    explanation: signal === null ? '' : `ansible-playbook was ended by ${signal}.`,
  };
}

const PIECE = 32_768;
const LATEST_MS = 250;

/**
 * Collects what a job prints and writes it in pieces, a quarter of a second late at the most. What exceeds
 * `most` characters is dropped, and a line says so.
 */
class JobOutput {
  readonly #write: (number: number, content: string) => Promise<void>;
  readonly #most: number;
  #kept = 0;
  #number = 0;
  #waiting = '';
  #timer: NodeJS.Timeout | undefined;
  #written: Promise<void> = Promise.resolve();

  /** @param write Stores one piece; pieces come one after the other, numbered from 0. */
  constructor(write: (number: number, content: string) => Promise<void>, most: number) {
    this.#write = write;
    this.#most = most;
  }

  /** Takes text. Resolves when more may come; rejects once pieces cannot be stored. */
  async add(text: string): Promise<void> {
    if (this.#kept >= this.#most) return;
    // A text column cannot hold NUL.
    const clean = text.replaceAll('\0', '\u{fffd}').slice(0, this.#most - this.#kept);
    this.#kept += clean.length;
    this.#waiting += clean;
    if (this.#kept >= this.#most) {
      this.#waiting += `\n[Output beyond ${this.#most} characters is not kept.]\n`;
    }
    if (this.#waiting.length >= PIECE) return this.flush();
    this.#timer ??= setTimeout(() => {
      this.flush().catch(() => undefined);
    }, LATEST_MS);
  }

  /** Writes what waits. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#written = this.#written.then(async () => {
      const content = this.#waiting;
      this.#waiting = '';
      if (content !== '') await this.#write(this.#number++, content);
    });
    // Whoever adds or flushes next hears of a failure; until then nobody may listen.
    this.#written.catch(() => undefined);
    return this.#written;
  }
}
