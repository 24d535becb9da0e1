import { string as textArgument } from '@oclif/core/args';
import { defineCommand } from '../../src/cli/base-command.ts';
import { changeFlags } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Delete the stream of a transmitter',
  description: `Deletes the stream of security events at its transmitter, which then sends no further \
events. Recorded events stay, and what waits is carried out.`,
  examples: ['corporate --dry-run'],
  args: {
    transmitter: textArgument({
      description: 'The name of the transmitter in the configuration.',
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
