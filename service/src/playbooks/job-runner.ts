import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '@tokenctl/common/db/database.ts';
import type { FastifyBaseLogger } from 'fastify';
import { inventoryContent } from '../store/groups.ts';
import {
  appendOutput,
  endJob,
  failLostJobs,
  type JobStatus,
  type RunnableJob,
  renewJobs,
  startJob,
} from '../store/jobs.ts';
import type { Isolation, JobAccess } from './isolation.ts';
import { renderExtraVariables, renderInventory } from './job-variables.ts';
import { JOB_FILES, type PlaybookEnd, runPlaybook } from './playbook.ts';
import { findPlaybook, JobProblem } from './project-playbook.ts';

interface JobRunnerOptions {
  readonly database: Database;
  readonly log: FastifyBaseLogger;
  readonly now: () => Date;
  readonly projects: string;
  /** The PATH to search for `ansible-playbook`. */
  readonly searchPath: string;
  readonly access: JobAccess;
  readonly isolation: Isolation;
}

const MAX_RUNNING = 4;
const MAX_WAITING = 100;
const MAX_OUTPUT = 4 * 1024 * 1024;
export const MAX_RUN_SECONDS = 6 * 3_600;
const HEARTBEAT_MS = 1_000;
const SWEEP_MS = 5_000;
const LOST_AFTER_SECONDS = 15;
const LOST = 'The service that ran this job stopped before the job ended.';

/**
 * Runs the jobs launched at this process: four at a time, the others wait in order. The state of a job is in
 * the database, for all replicas. A cancellation at another replica takes effect within a second.
 */
export class JobRunner {
  /** Identifies this process in the rows of its jobs. */
  readonly id = randomUUID();
  readonly #options: JobRunnerOptions;
  readonly #waiting: number[] = [];
  /** Waiting jobs that wait for another job of their template. */
  readonly #blocked = new Set<number>();
  readonly #running = new Map<number, { readonly stop: AbortController; readonly done: Promise<void> }>();
  readonly #timers: NodeJS.Timeout[] = [];
  #stopped = false;

  constructor(options: JobRunnerOptions) {
    this.#options = options;
  }

  /** Ends the jobs of killed processes, now and periodically. */
  async begin(): Promise<void> {
    // The embedded database has one process: all running jobs are left over from an earlier one.
    await this.#endLost(this.#options.database.kind === 'embedded' ? 0 : LOST_AFTER_SECONDS);
    this.#repeat(HEARTBEAT_MS, () => this.look());
    this.#repeat(SWEEP_MS, () => this.#endLost(LOST_AFTER_SECONDS));
  }

  get projects(): string {
    return this.#options.projects;
  }

  get load(): { readonly running: number; readonly waiting: number } {
    return { running: this.#running.size, waiting: this.#waiting.length };
  }

  get hasRoom(): boolean {
    return !this.#stopped && this.#waiting.length < MAX_WAITING;
  }

  /** Queues a job that was inserted with the id of this runner. */
  enqueue(id: number): void {
    this.#waiting.push(id);
    this.#startNext();
  }

  /** Writes the heartbeat of this process's jobs, and stops canceled ones. */
  async look(): Promise<void> {
    this.#blocked.clear();
    this.#startNext();
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

  /** Cancels all running and waiting jobs. Resolves when they have ended. */
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
        this.#options.log.error({ err: error }, 'job housekeeping failed; retrying');
      });
    }, interval);
    this.#timers.push(timer.unref());
  }

  #endLost(seconds: number): Promise<number> {
    return failLostJobs(this.#options.database, { seconds, explanation: LOST });
  }

  #startNext(): void {
    while (this.#running.size < MAX_RUNNING && !this.#stopped) {
      const next = this.#waiting.findIndex((each) => !this.#blocked.has(each));
      const [id] = next === -1 ? [] : this.#waiting.splice(next, 1);
      if (id === undefined) return;
      const stop = new AbortController();
      const done = this.#run(id, stop).finally(() => {
        this.#running.delete(id);
        // Another job of its template may run now.
        if (!this.#blocked.has(id)) this.#blocked.clear();
        this.#startNext();
      });
      this.#running.set(id, { stop, done });
    }
  }

  /** Runs a job to its end. Never rejects. */
  async #run(id: number, stop: AbortController): Promise<void> {
    const { database, now } = this.#options;
    let limit: NodeJS.Timeout | undefined;
    try {
      const job = await database.transaction((transaction) =>
        startJob(transaction, { id, runner: this.id, at: now() }),
      );
      if (job === null) return;
      if (job === 'blocked') return await this.#wait(id);
      limit = setTimeout(
        () => stop.abort(job.timeout > 0 ? 'timeout' : 'too long'),
        job.timeout > 0 ? job.timeout * 1000 : MAX_RUN_SECONDS * 1000,
      ).unref();
      const end = await this.#play(id, job, stop.signal);
      await this.#end(id, outcomeOf(end, stop.signal));
    } catch (error) {
      await this.#end(id, stop.signal.aborted ? outcomeOf(null, stop.signal) : this.#fault(id, error));
    } finally {
      clearTimeout(limit);
    }
  }

  /** Puts back a job that waits for another job of its template, in launch order. */
  async #wait(id: number): Promise<void> {
    if (this.#stopped) return this.#end(id, { status: 'canceled', explanation: STOPPED });
    this.#blocked.add(id);
    this.#waiting.push(id);
    this.#waiting.sort((one, other) => one - other);
  }

  #fault(id: number, error: unknown): { readonly status: JobStatus; readonly explanation: string } {
    if (error instanceof JobProblem) return { status: 'error', explanation: error.message };
    this.#options.log.error({ err: error, job: id }, 'job failed with an internal error');
    return { status: 'error', explanation: "Internal error. See the service's log." };
  }

  async #play(id: number, job: RunnableJob, stop: AbortSignal): Promise<PlaybookEnd> {
    const { database, projects, searchPath, access, isolation } = this.#options;
    if (job.inventory_id === null) throw new JobProblem('The inventory of this job was deleted.');
    const place = await findPlaybook(projects, job);
    const content = await renderInventory(await inventoryContent(database, job.inventory_id), access);
    const variables = renderExtraVariables(job.extra_vars, access);
    const files = await mkdtemp(join(tmpdir(), 'tokenctl-job-'));
    const output = new JobOutput(
      (number, content) => appendOutput(database, { jobId: id, number, content }),
      MAX_OUTPUT,
    );
    try {
      await writeFile(join(files, JOB_FILES.inventory), content, { mode: 0o600 });
      await writeFile(join(files, JOB_FILES.extraVariables), variables, { mode: 0o600 });
      return await runPlaybook(
        { ...place, files, options: job, searchPath, isolation },
        { print: (text) => output.add(text), stop },
      );
    } finally {
      await output.flush();
      await rm(files, { recursive: true, force: true });
    }
  }

  /** Never rejects. If the end cannot be written, the job is ended as lost once its heartbeat is old. */
  async #end(id: number, { status, explanation }: { status: JobStatus; explanation: string }): Promise<void> {
    const { database, log, now } = this.#options;
    try {
      await endJob(database, { id, runner: this.id, status, explanation, at: now() });
    } catch (error) {
      log.error({ err: error, job: id }, 'recording the end of a job failed');
    }
  }
}

type StopReason = 'canceled' | 'stopped' | 'timeout' | 'too long';

const STOPPED = 'The service was stopped while this job was waiting or running.';

const ENDED_EARLY: Readonly<Record<StopReason, readonly [JobStatus, explanation: string]>> = {
  canceled: ['canceled', ''],
  stopped: ['canceled', STOPPED],
  // In the controller's words.
  timeout: ['failed', 'Job terminated due to timeout'],
  'too long': ['failed', 'The job ran for more than six hours.'],
};

/** A job's final status and explanation. `end` is null if no process started; `stop` has a {@link StopReason}. */
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
    explanation: signal === null ? '' : `ansible-playbook was killed by ${signal}.`,
  };
}

const CHUNK_SIZE = 32_768;
const FLUSH_MS = 250;

/** Collects a job's output and writes it in chunks, at most 250 ms later. Drops output beyond `limit` characters. */
class JobOutput {
  readonly #write: (number: number, content: string) => Promise<void>;
  readonly #limit: number;
  #kept = 0;
  #number = 0;
  #waiting = '';
  #timer: NodeJS.Timeout | undefined;
  #written: Promise<void> = Promise.resolve();

  /** @param write Stores one chunk; called sequentially, with chunks numbered from 0. */
  constructor(write: (number: number, content: string) => Promise<void>, limit: number) {
    this.#write = write;
    this.#limit = limit;
  }

  /** Adds text. Resolves when more may follow; rejects if a chunk could not be stored. */
  async add(text: string): Promise<void> {
    if (this.#kept >= this.#limit) return;
    // A text column cannot contain NUL.
    const clean = text.replaceAll('\0', '\u{fffd}').slice(0, this.#limit - this.#kept);
    this.#kept += clean.length;
    this.#waiting += clean;
    if (this.#kept >= this.#limit) {
      this.#waiting += `\n[Output beyond ${this.#limit} characters is not kept.]\n`;
    }
    if (this.#waiting.length >= CHUNK_SIZE) return this.flush();
    this.#timer ??= setTimeout(() => {
      this.flush().catch(() => undefined);
    }, FLUSH_MS);
  }

  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#written = this.#written.then(async () => {
      const content = this.#waiting;
      this.#waiting = '';
      if (content !== '') await this.#write(this.#number++, content);
    });
    // The next call of add or flush reports a failure. Until then it must not count as unhandled.
    this.#written.catch(() => undefined);
    return this.#written;
  }
}
