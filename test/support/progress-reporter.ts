import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { SerializedError } from 'vitest';
import { MinimalReporter, type TestCase, type TestModule, type TestSpecification } from 'vitest/node';
import { missingTools } from './tools.ts';

const DURATIONS = join(import.meta.dirname, '../durations.json');
const PROGRESS_MS = 10_000;
const SLOWEST = 10;

/** How long each test file took when that was last recorded, in milliseconds, by its path in the project. */
export function recordedDurations(): Readonly<Record<string, number>> {
  return JSON.parse(readFileSync(DURATIONS, 'utf8')) as Record<string, number>;
}

/**
 * Prints what a person who waits wants to know: how many files are done, each failure at once with the command that
 * runs only it, and at the end the slowest files and the tools without which tests were skipped. With
 * RECORD_DURATIONS=1 it also writes `test/durations.json`, by which the longest files start first.
 */
export default class ProgressReporter extends MinimalReporter {
  #files = 0;
  #done = 0;
  #failed = 0;
  #begin = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #durations = new Map<string, number>();

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    super.onTestRunStart([...specifications]);
    this.#files = specifications.length;
    this.#begin = Date.now();
    this.#timer = setInterval(() => this.#progress(), PROGRESS_MS).unref();
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
    const path = module.relativeModuleId;
    const sum = duration + collectDuration + setupDuration;
    this.#durations.set(path, Math.max(sum, this.#durations.get(path) ?? 0));
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
    const projects = modules.map(({ project }) => project.name);
    for (const line of missingTools(projects)) this.log(line);
    if (process.env['RECORD_DURATIONS'] === '1') this.#record();
  }

  #progress(): void {
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
    this.log(`Recorded the durations of ${rounded.length} files in test/${basename(DURATIONS)}.`);
  }
}

/** A name as a pattern for `-t`, in quotes for a shell. */
function quoted(name: string): string {
  return `'${name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll("'", "'\\''")}'`;
}
