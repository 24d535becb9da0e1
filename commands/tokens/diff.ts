import { defineCommand } from '../../src/cli/base-command.ts';
import {
  age,
  instantFor,
  optionalArgument,
  requiredArgument,
  selectionOrAllFrom,
} from '../../src/cli/flags/flags.ts';
import { snapshotFlags } from '../../src/cli/tokens/token-flags.ts';

const IDLE_DAYS = 90;

export default defineCommand({
  summary: 'Show how the tokens changed since a snapshot',
  description: `Compares two files of tokens snapshot, or one with now: which tokens are new or gone, may \
write now, were used for the first time, or were not used for a while. With now, give the selection of the \
snapshot again. The last use is known over a database connection only.`,
  examples: ['2026-q3.json 2026-q4.json', '2026-q4.json', 'write-tokens.json --scope write --idle-for 30d'],
  args: {
    before: requiredArgument('The file of the earlier snapshot.'),
    after: optionalArgument('The file of the later snapshot. Default: the tokens as they are now.'),
  },
  flags: {
    'idle-for': age({ summary: `How long an idle token was not used. Default: ${IDLE_DAYS}d.` }),
    ...snapshotFlags,
  },
  async run({ args, flags }) {
    const { tokenDiffFlow } = await import('../../src/cli/tokens/snapshot-flow.ts');
    const runtime = await this.runtime(flags);
    const selection = selectionOrAllFrom(flags, await instantFor(flags, runtime));
    const idleFor = flags['idle-for'] ?? IDLE_DAYS * 86_400_000;
    const { before, after } = args;
    return await tokenDiffFlow({ runtime, selection, flags, before, after, idleFor });
  },
});
