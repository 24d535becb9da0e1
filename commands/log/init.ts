import { keyFlags } from '../../src/cli/audit-log/log-flags.ts';
import { defineCommand } from '../../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Create or replace the key that signs checkpoints',
  description: `Writes the private key to a file with mode 0600 (auditLog.key in the configuration, by \
default audit.jsonl.key next to the log), and the public key to a file with the same name plus .pub. The \
public key is recorded in the log. With --rotate, a new key replaces the current one, and both keys sign the \
same checkpoint.`,
  examples: ['--name example.org/audit', '--rotate --output handover.txt'],
  flags: keyFlags,
  async run({ flags }) {
    const { keyFlow } = await import('../../src/cli/audit-log/checkpoint-flow.ts');
    return await keyFlow(await this.runtime(flags), flags);
  },
});
