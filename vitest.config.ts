import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

/** What every project has in common. */
function project(
  name: string,
  include: readonly string[],
  test: TestProjectInlineConfiguration['test'] = {},
): TestProjectInlineConfiguration {
  return {
    extends: true,
    test: { name, include: include.map((folder) => `test/${folder}/**/*.test.ts`), ...test },
  };
}

export default defineConfig({
  test: {
    globalSetup: ['test/support/postgres.ts'],
    setupFiles: ['test/support/closed-network.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    // The command framework prints help through the console.
    disableConsoleIntercept: true,
    // Commands run inside the test's process as they were built: one instance of each module.
    server: { deps: { external: [/\/dist\//] } },
    projects: [
      project('unit', [
        'domain',
        'config',
        'operations',
        'audit-log',
        'notify',
        'scheduler',
        'targets',
        'db',
        'jobs',
      ]),
      project('service', ['service', 'contract', 'conformance']),
      project('process', ['cli', 'faults']),
      project('browser', ['browser']),
      project('soak', ['soak'], { testTimeout: 1_200_000 }),
      project('peers', ['peers'], { testTimeout: 300_000, hookTimeout: 300_000 }),
    ],
  },
});
