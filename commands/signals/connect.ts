import { string as textArgument } from '@oclif/core/args';
import { defineCommand } from '../../src/cli/base-command.ts';
import { changeFlags, seconds } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Create a stream of security events and try it',
  description: `Reads /.well-known/ssf-configuration of a transmitter of the section "signals", compares its \
issuer and keys with the configuration, creates the stream unless it exists, has a verification event sent, \
and waits until that is recorded. For a pushed stream, tokenctl signals serve has to run; a polled stream is \
polled. Tokens come from the files that the configuration names. If the stream has another audience or \
address than the configuration, it says which: correct it and run this again.`,
  exitCodes: 'Exit code 5: the stream exists, and no event of it was verified yet.',
  examples: ['https://idp.example.com --dry-run', 'https://idp.example.com --wait 120'],
  args: {
    issuer: textArgument({
      description: 'The issuer of the transmitter: an https address.',
      required: true,
      ignoreStdin: true,
    }),
  },
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
