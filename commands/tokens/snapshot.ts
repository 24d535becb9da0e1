import { defineCommand } from '../../src/cli/base-command.ts';
import { instantFor, requiredArgument, selectionOrAllFrom } from '../../src/cli/flags/flags.ts';
import { snapshotFlags } from '../../src/cli/tokens/token-flags.ts';

export default defineCommand({
  summary: 'Save the tokens to a file, to compare later',
  description: `Saves the selected tokens, without a selection all of them, to a new file that only you can \
read: owner, application, scope, description and times, never the value. tokens diff compares it with a later \
one, or with now.`,
  examples: ['2026-q4.json', '--scope write write-tokens.json'],
  args: { output: requiredArgument('The new file.') },
  flags: snapshotFlags,
  async run({ args, flags }) {
    const { snapshotFlow } = await import('../../src/cli/tokens/snapshot-flow.ts');
    const runtime = await this.runtime(flags);
    const selection = selectionOrAllFrom(flags, await instantFor(flags, runtime));
    return await snapshotFlow({ runtime, selection, flags, output: args.output });
  },
});
