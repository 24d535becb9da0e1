import { globSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { WAIT_LIMIT_MS } from '@tokenctl/testing/limits.ts';
import { durationKey, recordedDurations } from '@tokenctl/testing/progress-reporter.ts';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The tests of the toolkit, of the service and of what both share. */
const TESTS = '{test,common/test,service/test}';

/** Tests that are too long to run before each commit; `npm run test:long` runs them. */
const LONG = `${TESTS}/**/*.long.test.ts`;

/** The tests in the folders that {@link TESTS} names: those in a browser, those that run for long, and all others. */
const FOLDERS = {
  browser: `${TESTS}/browser/**/*.test.ts`,
  soak: `${TESTS}/soak/**/*.test.ts`,
  short: `{test/{unit,process},common/test,service/test}/**/*.test.ts`,
};

/** A project for the tests of some folders. */
function project(
  name: string,
  test: TestProjectInlineConfiguration['test'] = {},
): TestProjectInlineConfiguration {
  return { extends: true, test: { name, ...test } };
}

/** The short tests, also those that are too long in part. */
const short = globSync(FOLDERS.short, {
  cwd: import.meta.dirname,
  exclude: [FOLDERS.browser, FOLDERS.soak],
}).map((path) => ({ path, text: readFileSync(join(import.meta.dirname, path), 'utf8') }));

/** Of the long projects the shortest comes first; of the others, that whose files take longer. */
const ORDER = ['soak-embedded', 'browser', 'soak', 'short'];

// A test outside the folders of the projects would never run.
const strays = globSync('**/*.{test,spec}.{ts,tsx,js,mjs,cjs}', {
  cwd: import.meta.dirname,
  exclude: ['**/node_modules/**', 'dist/**', ...Object.values(FOLDERS)],
});
if (strays.length > 0) throw new Error(`Move these tests to a folder of a project: ${strays.join(', ')}`);

/** The tests of the service that run on each kind of database. The others would only run on PostgreSQL once more. */
const onEachDatabase = short.filter(({ text }) => /\bDATABASES\b/.test(text)).map(({ path }) => path);

/** The tests with parts that only the long tests run: single tests with the tag, properties that are tried less often. */
const partlyLong = short
  .filter(({ text }) => /tags: \['long'\]|\b(?:runs|kinds)\(|EMPTY_DATABASES|'longTests'/.test(text))
  .map(({ path }) => path);

/** The projects of the long tests. They have a limit in CI (`.ci/run`): their shortest files run first, so that it ends few of them. */
const LIMITED = new Set(['soak', 'soak-embedded', 'browser']);

/** Starts the files first that took longest when `npm run test:durations` last recorded them: one that starts last would run alone. */
class ByDuration extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const durations = recordedDurations();
    const order = ({ project, moduleId }: TestSpecification) => {
      const key = durationKey(project.name, relative(import.meta.dirname, moduleId));
      const duration = durations[key] ?? Number.POSITIVE_INFINITY;
      return LIMITED.has(project.name) ? duration : -duration;
    };
    const sorted = await super.sort(files);
    return sorted.toSorted(
      (one, other) =>
        ORDER.indexOf(one.project.name) - ORDER.indexOf(other.project.name) || order(one) - order(other) || 0,
    );
  }
}

export default defineConfig({
  test: {
    tags: [{ name: 'long', description: 'Too long to run before each commit; npm run test:long runs them.' }],
    globalSetup: ['testing/src/postgres.ts', 'service/test/support/service-template.ts'],
    reporters: ['./testing/src/progress-reporter.ts'],
    setupFiles: ['testing/src/closed-network.ts'],
    // A limit ends a test that hangs; no test sets its own.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    // More than the two cores that the tests are made for: files wait for servers and processes.
    maxWorkers: 4,
    sequence: { sequencer: ByDuration },
    // The command framework prints help through the console.
    disableConsoleIntercept: true,
    // Commands run inside the test's process as they were built: one instance of each module.
    server: { deps: { external: [/\/dist\//] } },
    // The programs that tests start compile once, not each time.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), 'tokenctl-test-compile-cache') },
    provide: {
      serviceDatabases: ['PostgreSQL'],
      auditedTokens: 10_000,
      malformedRequests: 2_000,
      histories: 5,
      directoryEntries: 2_000,
      endings: Number(process.env['ENDINGS'] ?? 20),
      longTests: false,
    },
    projects: [
      // One project: a worker keeps the modules that it has loaded for the files of one project only.
      project('short', {
        isolate: false,
        include: [FOLDERS.short],
        exclude: [LONG, FOLDERS.browser, FOLDERS.soak],
      }),
      project('browser', {
        include: [FOLDERS.browser],
        exclude: [LONG],
        expect: { poll: { timeout: WAIT_LIMIT_MS } },
      }),
      project('soak', {
        include: [FOLDERS.soak, LONG, ...partlyLong],
        exclude: [],
        testTimeout: 3_600_000,
        provide: {
          longTests: true,
          auditedTokens: 100_000,
          malformedRequests: 20_000,
          directoryEntries: 20_000,
          histories: Number(process.env['HISTORIES'] ?? 300),
        },
      }),
      // The service once more, on its embedded database.
      project('soak-embedded', {
        include: onEachDatabase,
        exclude: [],
        provide: { serviceDatabases: ['the embedded database'] },
      }),
    ],
  },
});
