import { defineCommand } from '../../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Run the jobs on their schedules until stopped',
  description: `Several schedulers can share a ledger, on one machine or, with PostgreSQL, on many. Each due \
time runs once.

On SIGTERM and Ctrl-C, it starts no new runs, lets current runs finish their in-flight work, and exits with 0. \
SIGHUP reloads the configuration. If it is invalid, the old one stays in use. /healthz, /readyz and /metrics \
are served on a loopback port. Prints nothing with --json.`,
  saysJson: true,
  staysRunning: true,
  examples: ['', '--config ./tokenctl.yaml'],
  async run({ flags }) {
    const { startScheduler } = await import('../../src/app/jobs/start.ts');
    await startScheduler(await this.surroundings(flags));
  },
});
