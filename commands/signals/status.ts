import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { SignalsStatusJson } from '../../src/cli/signals/status-flow.ts';
import type { Result } from '../../src/reports/result.ts';

/** Shows the state of the streams and of the queue. */
export default class SignalsStatus extends TokenctlCommand {
  static override summary = 'Show streams and waiting security events';

  static override description =
    `Shows how many events wait, are held, and were carried out, when the last event of each transmitter arrived, and the state of \
its stream there, where the configuration has a token for its management.

With --json, prints what docs/schemas/signals-status.json describes.

Exit code 3: a stream is missing, paused or disabled, or its transmitter does not answer.`;

  static override examples = ['<%= config.bin %> <%= command.id %>'];

  async run(): Promise<Result<SignalsStatusJson>> {
    const { flags } = await this.input(SignalsStatus);
    const { statusFlow } = await import('../../src/cli/signals/status-flow.ts');
    return await statusFlow(await this.runtime(flags));
  }
}
