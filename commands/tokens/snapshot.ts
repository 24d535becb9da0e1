import { defineCommand } from '../../src/cli/base-command.ts';
import { instantFor, requiredArgument, selectionOrAllFrom } from '../../src/cli/flags/flags.ts';
import { snapshotFlags } from '../../src/cli/tokens/token-flags.ts';

export default defineCommand({
  summary: 'Save a snapshot of tokens for comparison',
  description: `Saves the selected tokens, or all tokens, to a new file that only you can read. The file \
contains the owner, application, scope, description and times, but never the value. Use tokens diff to \
compare it with a later snapshot or the current state.`,
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
