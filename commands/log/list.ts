import { custom, option, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { count, csvFlag, instantOf, type Moment, parseMoment } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Lists entries of the audit log. */
export default class LogList extends TokenctlCommand {
  static override summary = 'List entries of the audit log, oldest first';

  static override description =
    `With --json it prints an array of the entries, one per line, unchanged: v, seq, at, previous, kind, \
operation, run, actor, target, data, open, closes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --limit 20',
    '<%= config.bin %> <%= command.id %> --operation tokens.revoke --since 7d --json',
  ];

  static override flags = {
    limit: count({ summary: 'Show only the newest N entries.', helpValue: 'N' }),
    operation: string({
      summary: 'Only entries of this operation, such as tokens.revoke, or tokens for all of its operations.',
    }),
    run: string({ summary: 'Only entries of this run.', helpValue: 'UUID' }),
    kind: option({ options: ['intent', 'outcome', 'note'] as const })({
      summary: 'Only entries of this kind.',
    }),
    since: custom<Moment>({ parse: async (input) => parseMoment(input) })({
      summary: 'Only entries since a date, or within an age (7d).',
      helpValue: 'WHEN',
    }),
    ...csvFlag,
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(LogList);
    const runtime = await this.runtime(flags);
    const { listLog } = await import('../../src/operations/audit-log/list-log.ts');
    const { entryListing } = await import('../../src/cli/audit-log/entry-listing.ts');
    const { limit, operation, run, kind, since } = flags;
    return entryListing(
      listLog({
        log: await runtime.auditLog(),
        ...(limit !== undefined && { last: limit }),
        ...(operation !== undefined && { operation }),
        ...(run !== undefined && { run }),
        ...(kind !== undefined && { kind }),
        ...(since !== undefined && { since: instantOf(since, runtime.clock.now()) }),
      }),
    );
  }
}
