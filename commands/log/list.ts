import { boolean, option, string } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';
import { count, csvFlag, moment } from '../../src/cli/flags/flags.ts';
import { instantOf } from '../../src/cli/flags/times.ts';

export default defineCommand({
  summary: 'List who did what, by the audit log',
  description: `Prints a sentence for each run of a command, oldest first: who did what where, how it ended, \
how long it took, and the ticket or the reason. log show RUN has the details of one run. With --raw, prints \
the entries of the audit log instead.`,
  examples: ['--limit 20', '--operation tokens.revoke --since 7d --json'],
  flags: {
    raw: boolean({ summary: 'Print the entries instead of runs.' }),
    limit: count({ summary: 'Show only the newest N runs or entries.', helpValue: 'N' }),
    operation: string({
      summary: 'Only runs of this operation, such as tokens.revoke, or tokens for all of its operations.',
    }),
    run: string({ summary: 'Only this run: its UUID, or how it begins.', helpValue: 'RUN' }),
    kind: option({ options: ['intent', 'outcome', 'note'] as const })({
      summary: 'Only entries of this kind.',
      dependsOn: ['raw'],
    }),
    since: moment({ summary: 'Only runs that ended since a date, or within an age (7d).' }),
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
