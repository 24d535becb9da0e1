import { string as textArgument } from '@oclif/core/args';
import { defineCommand } from '../../src/cli/base-command.ts';
import { changeFlags } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: "Delete a transmitter's event stream",
  description: `Deletes the event stream at its transmitter, which then sends no more events. Recorded \
events are kept, and pending events are still processed.`,
  examples: ['corporate --dry-run'],
  args: {
    transmitter: textArgument({
      description: "The transmitter's name in the configuration.",
      required: true,
      ignoreStdin: true,
    }),
  },
  flags: changeFlags,
  async run({ args, flags }) {
    const { disconnectFlow } = await import('../../src/cli/signals/connect-flow.ts');
    return await this.change(flags, (request) => disconnectFlow({ ...request, name: args.transmitter }));
  },
});
