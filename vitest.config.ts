import { existsSync, globSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** A project for a folder of `test/`. */
function project(
  name: string,
  test: TestProjectInlineConfiguration['test'] = {},
): TestProjectInlineConfiguration {
  return { extends: true, test: { name, include: [`test/${name}/**/*.test.ts`], ...test } };
}

const FOLDERS = ['unit', 'service', 'process', 'browser', 'soak'];

// A test outside the folders of the projects would never run.
const strays = globSync('**/*.{test,spec}.{ts,tsx,js,mjs,cjs}', {
  cwd: import.meta.dirname,
  exclude: ['node_modules/**', 'dist/**', ...FOLDERS.map((name) => `test/${name}/**/*.test.ts`)],
});
if (strays.length > 0) throw new Error(`Move these tests to a folder of a project: ${strays.join(', ')}`);

/** The tests of the service that run on each kind of database. The others would only run on PostgreSQL once more. */
const onEachDatabase = globSync('test/service/**/*.test.ts', { cwd: import.meta.dirname }).filter((path) =>
  readFileSync(join(import.meta.dirname, path), 'utf8').includes('DATABASES'),
);

/** The files that take longest, which begin first: one that began last would run alone, on one core. */
const LONGEST = [
  'soak/database-revocation-killed',
  'service/rights-matrix',
  'service/access',
  'process/faults/incident-killed',
  'process/cli/multi-context',
  'process/cli/version-matrix',
  'process/cli/drop-ins',
  'process/faults/revocation-boundaries',
  'browser/every-page',
  'browser/login',
  'service/conformance/conformance',
  'process/cli/log-export',
  'service/start',
  'process/release/image',
  'service/jobs',
].map((name) => join(import.meta.dirname, `test/${name}.test.ts`));

const missing = LONGEST.filter((path) => !existsSync(path));
if (missing.length > 0) throw new Error(`Correct the list of the longest tests: ${missing.join(', ')}`);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const position = ({ moduleId }: TestSpecification) => {
      const index = LONGEST.indexOf(moduleId);
      return index === -1 ? LONGEST.length : index;
    };
    return (await super.sort(files)).sort((a, b) => position(a) - position(b));
  }
}

export default defineConfig({
  test: {
    globalSetup: ['test/support/postgres.ts'],
    setupFiles: ['test/support/closed-network.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // More than the two cores that the tests are made for: files wait for servers and processes.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
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
      histories: 150,
      directoryEntries: 2_000,
      endings: Number(process.env['ENDINGS'] ?? 20),
      longTests: false,
    },
    projects: [
      project('unit', { isolate: false }),
      project('service', { isolate: false }),
      project('process', { isolate: false }),
      project('browser'),
      project('soak', {
        include: [
          'test/soak/**/*.test.ts',
          'test/unit/operations/audit-planted-faults.test.ts',
          'test/unit/operations/investigation-histories.test.ts',
          'test/unit/operations/chance-real-tables.test.ts',
          'test/unit/directories/openldap.test.ts',
          'test/process/cli/users-gone-ldap.test.ts',
          'test/service/every-route.test.ts',
          'test/service/collection/collection.test.ts',
          'test/process/cli/acceptance.test.ts',
          'test/process/cli/version-matrix.test.ts',
          'test/process/cli/hidden-settings.test.ts',
          'test/process/cli/skewed-clock.test.ts',
        ],
        provide: {
          longTests: true,
          auditedTokens: 100_000,
          malformedRequests: 20_000,
          directoryEntries: 20_000,
          histories: Number(process.env['HISTORIES'] ?? 300),
        },
        testTimeout: 3_600_000,
        hookTimeout: 300_000,
      }),
      // The service once more, on its embedded database.
      project('soak-embedded', {
        include: onEachDatabase,
        provide: { serviceDatabases: ['the embedded database'] },
        testTimeout: 300_000,
        hookTimeout: 300_000,
      }),
    ],
  },
});
