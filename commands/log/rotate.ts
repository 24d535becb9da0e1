import type { RotationJson } from '../../src/cli/audit-log/maintenance-flow.ts';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { age } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/result.ts';

export default class LogRotate extends TokenctlCommand {
  static override summary = 'Close the file of the audit log and start a new one';

  static override description =
    `The closed file is renamed to the numbers of its entries, such as audit.jsonl.1-5000. All files together are one \
chain. Other processes may keep writing. --remove-older-than removes closed files whose entries are all older \
and have an outcome. An entry records the removal, so that log verify can verify the rest.

With --json, prints what docs/schemas/log-rotate.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --remove-older-than 2y',
  ];

  static override flags = {
    'remove-older-than': age({ summary: 'Remove closed files whose entries are all older.' }),
  };

  async run(): Promise<Result<RotationJson>> {
    const { flags } = await this.input(LogRotate);
    const { rotationFlow } = await import('../../src/cli/audit-log/maintenance-flow.ts');
    return await rotationFlow(await this.runtime(flags), flags['remove-older-than']);
  }
}
