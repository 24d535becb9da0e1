import { string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { countArgument } from '../../src/cli/token-audit/token-argument.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Proves that an entry is in the audit log. */
export default class LogProve extends TokenctlCommand {
  static override summary = 'Prove to somebody without the log that an entry is in it.';

  static override description =
    `Whoever has the entry, the proof and the public key verifies it without the log: the proof is in the form of \
c2sp.org/tlog-proof, the checkpoint included. With --output the proof goes into that file, and the entry's line into one \
beside it that ends in .entry.

With --json it prints seq, entry (its line), proof, origin and size (how many entries the checkpoint covers).`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> 17',
    '<%= config.bin %> <%= command.id %> 17 --checkpoint audit.checkpoint --output entry-17.proof',
  ];

  static override args = {
    seq: countArgument({ description: "The entry's number.", required: true }),
  };

  static override flags = {
    checkpoint: string({
      summary: 'A checkpoint that covers the entry; one is made otherwise.',
      helpValue: 'FILE',
    }),
    output: string({ summary: 'Where the proof goes; printed otherwise.', helpValue: 'FILE' }),
  };

  async run(): Promise<Result> {
    const { flags, args } = await this.input(LogProve);
    const { proofFlow } = await import('../../src/cli/audit-log/checkpoint-flow.ts');
    return await proofFlow(await this.runtime(flags), args.seq, flags);
  }
}
