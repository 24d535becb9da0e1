import { string } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Create an approver key',
  description: `Writes a private key (Ed25519) to a new file with mode 0600, and prints the public key for \
the configuration (approval.approvers, see tokenctl docs configuration). Each approver creates their own key \
and keeps it private.`,
  examples: ['--name bob --output approver.key'],
  flags: {
    name: string({ summary: 'The name in the key: your login name.', helpValue: 'NAME', required: true }),
    output: string({ summary: 'The new file for the private key.', helpValue: 'FILE', required: true }),
  },
  async run({ flags }) {
    const { makeApproverKey } = await import('../../src/cli/plans/plan-flow.ts');
    return makeApproverKey(flags);
  },
});
