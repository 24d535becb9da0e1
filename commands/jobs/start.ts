import { defineCommand } from '../../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Run the jobs on their schedules until stopped',
  description: `Several schedulers can share a ledger, on one machine or, with PostgreSQL, on many: each \
tick runs once.

SIGTERM and Ctrl-C start no further tick, let runs finish the work in flight, and exit with 0. SIGHUP \
reloads the configuration; an invalid one is rejected and the old one kept. /healthz, /readyz and /metrics \
are served on a port of the loopback address. Prints nothing with --json.`,
  saysJson: true,
  staysRunning: true,
  examples: ['', '--config ./tokenctl.yaml'],
  async run({ flags }) {
    const { startScheduler } = await import('../../src/app/jobs/start.ts');
    await startScheduler(await this.surroundings(flags));
  },
});
