import { custom, option, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { type Moment, parseMoment } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

const moment = custom<Moment>({ parse: async (input) => parseMoment(input), helpValue: 'WHEN' });

/** Reports on the audit log. */
export default class LogReport extends TokenctlCommand {
  static override summary =
    'Report who revoked and changed what, when, on whose order: for the record of an incident.';

  static override description =
    `Verifies the log, and tells of each run: what it was to do and did, where, for which reason and ticket, what failed, \
what stayed alive, and what was found out later where it was interrupted. Runs are told whole, also where they began before \
the time or ended after it.

With --json it prints since, until, verification (entries, head, break, tornBytes), totals and runs (run, operation, actor, \
target, reason, ticket, selection, began, ended, first, last, state, counts, owners, moreOwners, changes, failures, \
staysAlive, stillAlive, closedLater, open); with --output: output, runs and entries. Exits with 6, after the report, where \
the log does not hold.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --since 7d',
    '<%= config.bin %> <%= command.id %> --since 2026-11-20T08:00:00Z --until 2026-11-21 --format html --output incident.html',
  ];

  static override flags = {
    since: moment({ summary: 'From a date or an age (7d) on.' }),
    until: moment({ summary: 'Before a date or an age.' }),
    format: option({ options: ['markdown', 'html'] as const })({
      summary: 'What the report is written as; Markdown otherwise.',
    }),
    output: string({ summary: 'The file that it goes into.', helpValue: 'FILE' }),
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(LogReport);
    const { reportFlow } = await import('../../src/cli/audit-log/report-flow.ts');
    const runtime = await this.runtime(flags);
    return await reportFlow({
      runtime,
      flags,
      json: this.jsonEnabled() && flags.output === undefined,
      version: this.config.version,
    });
  }
}
