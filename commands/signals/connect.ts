import { defineCommand } from '../../src/cli/base-command.ts';
import { changeFlags, requiredArgument, seconds } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Create and test a security event stream',
  description: `Reads /.well-known/ssf-configuration of a transmitter in the "signals" section, compares its \
issuer and keys with the configuration, creates the stream if it does not exist, requests a verification \
event, and waits until it is recorded. For a push stream, tokenctl signals serve must be running. A poll \
stream is polled by this command. The transmitter's token comes from the configuration. If the audience \
or address of the stream differs from the configuration, the command says so. Correct it and run the \
command again.`,
  exitCodes: 'Exit code 5: the stream exists, but no event from it has been verified yet.',
  examples: ['https://idp.example.com --dry-run', 'https://idp.example.com --wait 120'],
  args: { issuer: requiredArgument("The transmitter's issuer: an https address.") },
  flags: {
    wait: seconds({ summary: 'How long to wait for the verification event, in seconds. Default: 60.' }),
    ...changeFlags,
  },
  async run({ args, flags }) {
    const { connectFlow } = await import('../../src/cli/signals/connect-flow.ts');
    const { wait: waitSeconds = 60 } = flags;
    const { issuer } = args;
    return await this.change(flags, (request) => connectFlow({ ...request, issuer, waitSeconds }));
  },
});
