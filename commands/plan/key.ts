import { string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { ApproverKeyJson } from '../../src/cli/plans/plan-flow.ts';
import type { Result } from '../../src/reports/result.ts';

export default class PlanKey extends TokenctlCommand {
  static override summary = 'Create the key of an approver';

  static override description =
    `Writes a private key (Ed25519) to a new file of mode 0600, and prints the public key for the configuration \
(approval.approvers in docs/configuration.md). Each approver makes a key and keeps it to themselves.

With --json, prints what docs/schemas/plan-key.json describes.`;

  static override examples = ['<%= config.bin %> <%= command.id %> --name bob --output approver.key'];

  static override flags = {
    name: string({
      summary: 'The name in the key: the one that you log in with.',
      helpValue: 'NAME',
      required: true,
    }),
    output: string({ summary: 'The new file of the private key.', helpValue: 'FILE', required: true }),
  };

  async run(): Promise<Result<ApproverKeyJson>> {
    const { flags } = await this.input(PlanKey);
    const { makeApproverKey } = await import('../../src/cli/plans/plan-flow.ts');
    return makeApproverKey(flags);
  }
}
