import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { SerializedError } from 'vitest';
import {
  MinimalReporter,
  type TestCase,
  type TestModule,
  type TestSpecification,
  type Vitest,
} from 'vitest/node';
import { missingTools } from './tools.ts';

const DURATIONS = join(import.meta.dirname, '../durations.json');
const PROGRESS_MS = 10_000;
const SLOWEST = 10;
const LIMIT_MS = Number(process.env['TEST_MINUTES'] ?? Number.POSITIVE_INFINITY) * 60_000;

/** The name of a recorded duration: some files run in two projects, and take longer in one. */
export function durationKey(project: string, path: string): string {
  return project === 'short' || path.includes(`test/${project}/`) ? path : `${project}: ${path}`;
}

/** How long each test file took when that was last recorded, in milliseconds, by its {@link durationKey}. */
export function recordedDurations(): Readonly<Record<string, number>> {
  return JSON.parse(readFileSync(DURATIONS, 'utf8')) as Record<string, number>;
}

/**
 * Prints what a person who waits wants to know: how many files are done, each failure at once with the command that
 * runs only it, and at the end the slowest files and the tools without which tests were skipped. With
 * RECORD_DURATIONS=1 it also writes `testing/durations.json`, by which the longest files start first. After TEST_MINUTES it ends
 * the run and names the files that did not come to their end.
 */
export default class ProgressReporter extends MinimalReporter {
  #files = 0;
  #done = 0;
  #failed = 0;
  #begin = 0;
  #timer: NodeJS.Timeout | undefined;
  #vitest: Vitest | undefined;
  readonly #durations = new Map<string, number>();
  readonly #left = new Set<string>();
  #isTimeUp = false;

  override onInit(vitest: Vitest): void {
    super.onInit(vitest);
    this.#vitest = vitest;
  }

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    super.onTestRunStart([...specifications]);
    this.#files = specifications.length;
    this.#begin = Date.now();
    this.#timer = setInterval(() => this.#progress(), PROGRESS_MS).unref();
    for (const { project, moduleId } of specifications) {
      this.#left.add(durationKey(project.name, relative(project.config.root, moduleId)));
    }
  }

  override onTestCaseResult(test: TestCase): void {
    super.onTestCaseResult(test);
    const { state, errors = [] } = test.result();
    if (state !== 'failed') return;
    const { project, relativeModuleId: path } = test.module;
    this.#failed += 1;
    this.log(`\nFAILED ${path} > ${test.fullName}`);
    for (const { message } of errors.slice(0, 1)) this.log(`  ${message.split('\n')[0]}`);
    this.log(`  Run only this: npx vitest run --project=${project.name} ${path} -t ${quoted(test.name)}\n`);
  }

  override onTestModuleEnd(module: TestModule): void {
    super.onTestModuleEnd(module);
    this.#done += 1;
    const { duration, collectDuration, setupDuration } = module.diagnostic();
    const path = durationKey(module.project.name, module.relativeModuleId);
    this.#durations.set(path, duration + collectDuration + setupDuration);
    if (!this.#isTimeUp) this.#left.delete(path);
    // A run that a limit ends has recorded what it came to.
    if (process.env['RECORD_DURATIONS'] === '1') this.#record();
  }

  override onTestRunEnd(
    modules: readonly TestModule[],
    errors: readonly SerializedError[],
    reason: 'passed' | 'interrupted' | 'failed',
  ): void {
    clearInterval(this.#timer);
    super.onTestRunEnd([...modules], [...errors], reason);
    const slowest = [...this.#durations].toSorted(([, one], [, other]) => other - one).slice(0, SLOWEST);
    if (slowest.length === SLOWEST) {
      this.log('The slowest files:');
      for (const [path, milliseconds] of slowest) {
        this.log(`  ${(milliseconds / 1000).toFixed(1).padStart(6)} s  ${path}`);
      }
    }
    if (this.#left.size > 0) this.log(`\nDid not come to their end: ${[...this.#left].join(', ')}`);
    const projects = modules.map(({ project }) => project.name);
    for (const line of missingTools(projects)) this.log(line);
  }

  #progress(): void {
    if (!this.#isTimeUp && Date.now() - this.#begin > LIMIT_MS) {
      this.#isTimeUp = true;
      this.log('The time is up: no other test starts.');
      this.#vitest?.cancelCurrentRun('keyboard-input').catch((error: unknown) => this.log(String(error)));
    }
    const seconds = Math.round((Date.now() - this.#begin) / 1000);
    const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
    this.log(`${this.#done} of ${this.#files} files, ${time}, ${this.#failed} failed`);
  }

  /** Keeps what is known of files that did not run now. */
  #record(): void {
    const rounded = [...this.#durations].map(([path, time]) => [path, Math.round(time / 100) * 100] as const);
    const all = Object.entries({ ...recordedDurations(), ...Object.fromEntries(rounded) });
    const sorted = all.toSorted(([one], [other]) => (one < other ? -1 : 1));
    writeFileSync(DURATIONS, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
  }
}

/** A name as a pattern for `-t`, in quotes for a shell. */
function quoted(name: string): string {
  return `'${name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll("'", "'\\''")}'`;
}
