import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

/** A project for each folder of `test/`. */
function project(
  name: string,
  test: TestProjectInlineConfiguration['test'] = {},
): TestProjectInlineConfiguration {
  return { extends: true, test: { name, include: [`test/${name}/**/*.test.ts`], ...test } };
}

export default defineConfig({
  test: {
    globalSetup: ['test/support/postgres.ts'],
    setupFiles: ['test/support/closed-network.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
    // The command framework prints help through the console.
    disableConsoleIntercept: true,
    // Commands run inside the test's process as they were built: one instance of each module.
    server: { deps: { external: [/\/dist\//] } },
    // The programs that tests start compile once, not each time.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), 'tokenctl-test-compile-cache') },
    provide: { serviceDatabases: ['PostgreSQL'] },
    projects: [
      project('unit', { isolate: false }),
      project('service'),
      project('process'),
      project('browser'),
      project('soak', { testTimeout: 3_600_000, hookTimeout: 300_000 }),
      // All tests of the service once more, on its embedded database.
      project('soak-embedded', {
        include: ['test/service/**/*.test.ts'],
        provide: { serviceDatabases: ['the embedded database'] },
        testTimeout: 300_000,
        hookTimeout: 300_000,
      }),
      // One peer at a time: each is a PostgreSQL server and web workers of its own.
      project('peers', { testTimeout: 300_000, hookTimeout: 300_000, fileParallelism: false }),
    ],
  },
});
