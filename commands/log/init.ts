import { boolean, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Makes the key of the audit log. */
export default class LogInit extends TokenctlCommand {
  static override summary = 'Make the key that signs checkpoints of the audit log, or replace it.';

  static override description =
    `The private key goes into a file of mode 0600 (auditLog.key of the configuration; audit.jsonl.key beside the log \
otherwise), the public ones into one beside it that ends in .pub. A note in the log says which key it is. With --rotate \
a new key takes over, and both sign the same checkpoint.

With --json it prints verifier (the public key) and seq (the note's number); with --rotate also replaced and checkpoint.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --name example.org/audit',
    '<%= config.bin %> <%= command.id %> --rotate --output handover.txt',
  ];

  static override flags = {
    name: string({
      summary:
        'What the log is called in checkpoints, by convention a URL without its scheme; HOST/audit otherwise.',
      helpValue: 'NAME',
      exclusive: ['rotate'],
    }),
    rotate: boolean({ summary: 'Replace the key by a new one of the same name.' }),
    output: string({
      summary: 'Where the checkpoint of both keys goes.',
      helpValue: 'FILE',
      dependsOn: ['rotate'],
    }),
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(LogInit);
    const { keyFlow } = await import('../../src/cli/audit-log/checkpoint-flow.ts');
    return await keyFlow(await this.runtime(flags), flags);
  }
}
