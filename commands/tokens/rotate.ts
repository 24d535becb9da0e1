import { defineCommand } from '../../src/cli/base-command.ts';
import { countArgument } from '../../src/cli/flags/flags.ts';
import { rotationFlags } from '../../src/cli/tokens/token-flags.ts';

export default defineCommand({
  summary: 'Replace a personal access token',
  description: `Creates a token of the same owner, scope and description in a new file that only you can \
read, tries it, and revokes the old one. If the new token does not work, the old one stays. With --grace, \
both are valid for that time: the command waits, and Ctrl-C leaves the old token valid. Over REST you can \
rotate your own tokens, also the one that this context uses; over a database connection, those of any user: \
there the new token is verified in the database, not tested against the API. A token of an application comes from that application and \
cannot be rotated here.

With --consumer, does now what a job of the kind rotation does when it is time: creates the token, tries it, writes it \
to the store of the consumer, reads it back, and has the overlap of the old one begin.`,
  exitCodes: 'Exit code 5: the old token is still valid. Exit code 130: interrupted while it waited.',
  examples: [
    '4711 --output ./new.token',
    '4711 --output ./new.token --grace 10m --yes --ticket OPS-17',
    '4711 --context production-db --expires 90d --output ./new.token',
    '--consumer deploy --adopt 4711',
  ],
  args: {
    id: countArgument({ description: 'The id of the token to replace; none with --consumer.' }),
  },
  flags: rotationFlags,
  async run({ args, flags }) {
    const { consumer } = flags;
    if (consumer !== undefined) {
      const { consumerFlow } = await import('../../src/cli/tokens/consumer-flow.ts');
      return await this.change(flags, (request) => consumerFlow({ ...request, tokenId: args.id }, consumer));
    }
    const { rotationFlow } = await import('../../src/cli/tokens/rotation-flow.ts');
    return await this.change(flags, (request) => rotationFlow({ ...request, tokenId: args.id }));
  },
});
