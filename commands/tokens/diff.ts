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
  summary: 'Show token changes since a snapshot',
  description: `Compares two files created with tokens snapshot, or one file with the current state. Shows \
which tokens are new or gone, gained write access, were used for the first time, or have become idle. To \
compare with the current state, use the same selection as the snapshot. The last use is only known over a \
database connection.`,
  examples: ['2026-q3.json 2026-q4.json', '2026-q4.json', 'write-tokens.json --scope write --idle-for 30d'],
  args: {
    before: requiredArgument('The earlier snapshot file.'),
    after: optionalArgument('The later snapshot file. Default: the current tokens.'),
  },
  flags: {
    'idle-for': age({ summary: `How long a token must be unused to count as idle. Default: ${IDLE_DAYS}d.` }),
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
