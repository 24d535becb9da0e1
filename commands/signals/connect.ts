import { string as textArgument } from '@oclif/core/args';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { changeFlags, seconds } from '../../src/cli/flags.ts';
import type { ConnectionJson } from '../../src/cli/signals/connect-flow.ts';
import type { Result } from '../../src/reports/result.ts';

/** Connects to a transmitter of security events. */
export default class SignalsConnect extends TokenctlCommand {
  static override summary = 'Create a stream of security events and try it';

  static override description =
    `Reads /.well-known/ssf-configuration of a transmitter of the section "signals", compares its issuer and keys with the \
configuration, creates the stream unless it exists, has a verification event sent, and waits until that is recorded. For a \
pushed stream, tokenctl signals serve has to run; a polled stream is polled. Tokens come from the files that the configuration \
names. If the stream has another audience or address than the configuration, it says which: correct it and run this again.

With --json, prints what docs/schemas/signals-connect.json describes.

Exit code 5: the stream exists, and no event of it was verified yet.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> https://idp.example.com --dry-run',
    '<%= config.bin %> <%= command.id %> https://idp.example.com --wait 120',
  ];

  static override args = {
    issuer: textArgument({
      description: 'The issuer of the transmitter: an https address.',
      required: true,
      ignoreStdin: true,
    }),
  };

  static override flags = {
    wait: seconds({ summary: 'How long to wait for the verification event, in seconds. Default: 60.' }),
    ...changeFlags,
  };

  async run(): Promise<Result<ConnectionJson>> {
    const { args, flags } = await this.input(SignalsConnect);
    const { connectFlow } = await import('../../src/cli/signals/connect-flow.ts');
    const confirmation = await this.confirmation(flags);
    const runtime = await this.runtime(flags);
    const { wait: waitSeconds = 60 } = flags;
    return await connectFlow({ runtime, confirmation, issuer: args.issuer, waitSeconds, flags });
  }
}
