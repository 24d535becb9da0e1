import type { LogKeyJson } from '../../src/cli/audit-log/checkpoint-flow.ts';
import { keyFlags } from '../../src/cli/audit-log/log-flags.ts';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { Result } from '../../src/reports/result.ts';

export default class LogInit extends TokenctlCommand {
  static override summary = 'Create or replace the key that signs checkpoints';

  static override description =
    `Writes the private key to a file of mode 0600 (auditLog.key in the configuration; default: audit.jsonl.key next \
to the log), and the public key to a file of the same name plus .pub. An entry in the log records the public \
key. With --rotate, a new key replaces the current one, and both sign the same checkpoint.

With --json, prints what docs/schemas/log-init.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --name example.org/audit',
    '<%= config.bin %> <%= command.id %> --rotate --output handover.txt',
  ];

  static override flags = keyFlags;

  async run(): Promise<Result<LogKeyJson>> {
    const { flags } = await this.input(LogInit);
    const { keyFlow } = await import('../../src/cli/audit-log/checkpoint-flow.ts');
    return await keyFlow(await this.runtime(flags), flags);
  }
}
