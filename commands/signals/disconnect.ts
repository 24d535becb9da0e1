import { string as textArgument } from '@oclif/core/args';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { changeFlags } from '../../src/cli/flags.ts';
import type { DisconnectionJson } from '../../src/cli/signals/connect-flow.ts';
import type { Result } from '../../src/reports/result.ts';

/** Deletes the stream of a transmitter. */
export default class SignalsDisconnect extends TokenctlCommand {
  static override summary = 'Delete the stream of a transmitter';

  static override description =
    `Deletes the stream of security events at its transmitter, which then sends no further events. Recorded events stay, and what \
waits is carried out.

With --json, prints what docs/schemas/signals-disconnect.json describes.`;

  static override examples = ['<%= config.bin %> <%= command.id %> corporate --dry-run'];

  static override args = {
    transmitter: textArgument({
      description: 'The name of the transmitter in the configuration.',
      required: true,
      ignoreStdin: true,
    }),
  };

  static override flags = changeFlags;

  async run(): Promise<Result<DisconnectionJson>> {
    const { args, flags } = await this.input(SignalsDisconnect);
    const { disconnectFlow } = await import('../../src/cli/signals/connect-flow.ts');
    const confirmation = await this.confirmation(flags);
    const runtime = await this.runtime(flags);
    return await disconnectFlow({ runtime, confirmation, name: args.transmitter, flags });
  }
}
