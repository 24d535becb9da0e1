import { defineCommand } from '../../src/cli/base-command.ts';
import { countArgument } from '../../src/cli/flags/flags.ts';
import { rotationFlags } from '../../src/cli/tokens/token-flags.ts';

export default defineCommand({
  summary: 'Replace a personal access token',
  description: `Creates a token with the same owner, scope and description in a new file that only you can \
read, tests it, and revokes the old token. If the new token does not work, the old token stays valid. With \
--grace, both tokens are valid for that time. The command waits, and Ctrl-C leaves the old token valid. Over \
REST, you can rotate your own tokens, including the one that this context uses. Over a database connection, \
you can rotate any user's tokens; the new token is then verified in the database, not tested against the \
API. A token of an application is issued by that application and cannot be rotated here.

With --consumer, does now what a rotation job does on schedule: creates the token, tests it, writes it to \
the consumer's store, reads it back, and starts the overlap period of the old token.`,
  exitCodes: 'Exit code 5: the old token is still valid. Exit code 130: interrupted during the wait.',
  examples: [
    '4711 --output ./new.token',
    '4711 --output ./new.token --grace 10m --yes --ticket OPS-17',
    '4711 --context production-db --expires 90d --output ./new.token',
    '--consumer deploy --adopt 4711',
  ],
  args: { id: countArgument({ description: 'The ID of the token to replace. Omit it with --consumer.' }) },
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
