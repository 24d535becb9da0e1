import { boolean, string } from '@oclif/core/flags';
import type { LogKeyJson } from '../../src/cli/audit-log/checkpoint-flow.ts';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Creates the key of the audit log. */
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

  static override flags = {
    name: string({
      summary: 'The name of the log in checkpoints, such as example.org/audit. Default: HOST/audit.',
      helpValue: 'NAME',
      exclusive: ['rotate'],
    }),
    rotate: boolean({ summary: 'Replace the key with a new one of the same name.' }),
    output: string({
      summary: 'Write the checkpoint that both keys signed to this file.',
      helpValue: 'FILE',
      dependsOn: ['rotate'],
    }),
  };

  async run(): Promise<Result<LogKeyJson>> {
    const { flags } = await this.input(LogInit);
    const { keyFlow } = await import('../../src/cli/audit-log/checkpoint-flow.ts');
    return await keyFlow(await this.runtime(flags), flags);
  }
}
