import { reportFlags } from '../../src/cli/audit-log/log-flags.ts';
import { defineCommand } from '../../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Report all changes of a period and who ordered them',
  description: `Verifies the log, and lists for each run: the actor, the target, the reason and ticket, what \
was planned and done, what failed, what is left open, and the later reconciliation of an interrupted run. \
Runs that started before the period or ended after it are complete as well.`,
  exitCodes: 'Exits with 6, after the report, if the log is broken.',
  examples: [
    '--since 7d',
    '--since 2026-11-20T08:00:00Z --until 2026-11-21 --format html --output incident.html',
  ],
  flags: reportFlags,
  async run({ flags }) {
    const { reportFlow } = await import('../../src/cli/audit-log/report-flow.ts');
    const runtime = await this.runtime(flags);
    return await reportFlow({
      runtime,
      flags,
      json: this.jsonEnabled() && flags.output === undefined,
      version: this.config.version,
    });
  },
});
