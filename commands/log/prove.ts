import { proofFlags } from '../../src/cli/audit-log/log-flags.ts';
import { defineCommand } from '../../src/cli/base-command.ts';
import { countArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Prove that an entry is in the audit log',
  description: `The proof can be verified with the entry and the public key, without the log. It uses the \
format c2sp.org/tlog-proof, which includes the checkpoint. With --output, writes the proof to that file, and \
the entry to a file with the same name plus .entry.`,
  examples: ['17', '17 --checkpoint audit.checkpoint --output entry-17.proof'],
  args: { seq: countArgument({ description: 'The number of the entry.', required: true }) },
  flags: proofFlags,
  async run({ flags, args }) {
    const { proofFlow } = await import('../../src/cli/audit-log/checkpoint-flow.ts');
    return await proofFlow(await this.runtime(flags), args.seq, flags);
  },
});
