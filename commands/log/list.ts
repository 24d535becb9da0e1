import { boolean, option, string } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';
import { count, csvFlag, moment } from '../../src/cli/flags/flags.ts';
import { instantOf } from '../../src/cli/flags/times.ts';

export default defineCommand({
  summary: 'List changes recorded in the audit log',
  description: `Prints one sentence for each run of a command, oldest first: who did what and where, how it \
ended, how long it took, and the ticket or reason. Use log show RUN for the details. With --raw, prints the \
audit log entries instead.`,
  examples: ['--limit 20', '--operation tokens.revoke --since 7d --json'],
  flags: {
    raw: boolean({ summary: 'Print entries instead of runs.' }),
    limit: count({ summary: 'Show only the newest N runs or entries.', helpValue: 'N' }),
    operation: string({
      summary: 'Only runs of this operation, such as tokens.revoke, or of a whole group, such as tokens.',
    }),
    run: string({ summary: 'Only this run: its UUID or the first characters.', helpValue: 'RUN' }),
    kind: option({ options: ['intent', 'outcome', 'note'] as const })({
      summary: 'Only entries of this kind.',
      dependsOn: ['raw'],
    }),
    since: moment({ summary: 'Only runs that ended since this date or within this age (7d).' }),
    ...csvFlag,
  },
  async run({ flags }) {
    const runtime = await this.runtime(flags);
    const { listLog, listRuns, unlessEmptied } = await import('../../src/operations/audit-log/list-log.ts');
    const { entryListing, runListing } = await import('../../src/cli/audit-log/entry-listing.ts');
    const { auditLogName } = await import('../../src/app/open-audit-log.ts');
    const log = auditLogName(runtime.configuration);
    const { limit, operation, run, kind, since, raw } = flags;
    const options = {
      log: await runtime.auditLog(),
      last: limit,
      operation,
      run,
      since: since && instantOf(since, runtime.clock.now()),
    };
    if (raw !== true) return runListing(unlessEmptied(listRuns(options), options.log), log);
    return entryListing(unlessEmptied(listLog({ ...options, kind }), options.log), log);
  },
});
