import type { ProofJson } from '../../src/cli/audit-log/checkpoint-flow.ts';
import { proofFlags } from '../../src/cli/audit-log/log-flags.ts';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { countArgument } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/result.ts';

export default class LogProve extends TokenctlCommand {
  static override summary = 'Prove that an entry is in the audit log';

  static override description =
    `The proof can be verified with the entry and the public key, without the log. It has the format \
c2sp.org/tlog-proof, which includes the checkpoint. With --output, writes the proof to that file, and the line \
of the entry to a file of the same name plus .entry.

With --json, prints what docs/schemas/log-prove.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> 17',
    '<%= config.bin %> <%= command.id %> 17 --checkpoint audit.checkpoint --output entry-17.proof',
  ];

  static override args = {
    seq: countArgument({ description: 'The number of the entry.', required: true }),
  };

  static override flags = proofFlags;

  async run(): Promise<Result<ProofJson>> {
    const { flags, args } = await this.input(LogProve);
    const { proofFlow } = await import('../../src/cli/audit-log/checkpoint-flow.ts');
    return await proofFlow(await this.runtime(flags), args.seq, flags);
  }
}
