import { defineCommand } from '../../src/cli/base-command.ts';
import { changeFlags, requiredArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: "Delete a transmitter's event stream",
  description: `Deletes the event stream at its transmitter, which then sends no more events. Recorded \
events are kept, and pending events are still processed.`,
  examples: ['corporate --dry-run'],
  args: { transmitter: requiredArgument("The transmitter's name in the configuration.") },
  flags: changeFlags,
  async run({ args, flags }) {
    const { disconnectFlow } = await import('../../src/cli/signals/connect-flow.ts');
    return await this.change(flags, (request) => disconnectFlow({ ...request, name: args.transmitter }));
  },
});
