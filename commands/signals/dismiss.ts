import { defineCommand } from '../../src/cli/base-command.ts';
import { changeFlags, requiredArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Dismiss a held event',
  description: `Dismisses a held event. Nothing is done for it, even if it is sent again. The audit log \
records who dismissed it and why.`,
  examples: ['1f0c9a2b77de --reason "a test of the provider"'],
  args: { id: requiredArgument('The event ID or its first digits.') },
  flags: changeFlags,
  async run({ args, flags }) {
    const { decideFlow } = await import('../../src/cli/signals/decide-flow.ts');
    const decided = { id: args.id, decision: 'dismissed' } as const;
    return await this.change(flags, (request) => decideFlow({ ...request, ...decided }));
  },
});
