import { reportFlags } from '../../src/cli/audit-log/log-flags.ts';
import { defineCommand } from '../../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Report all changes in a period',
  description: `Verifies the log and lists for each run the actor, target, reason, ticket, planned and \
completed changes, failures, what was left open, and any later reconciliation of an interrupted run. Runs \
that started before the period or ended after it are included in full.`,
  exitCodes: 'If the log is broken, prints the report and exits with 6.',
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
