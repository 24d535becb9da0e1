import { option, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { count, csvFlag } from '../../src/cli/flags.ts';
import type { SignalJson } from '../../src/cli/signals/signal-view.ts';
import type { Result } from '../../src/reports/result.ts';

/** Lists received security events. */
export default class SignalsList extends TokenctlCommand {
  static override summary = 'List received security events';

  static override description =
    `Lists the events in the queue, newest first: who sent them, whom they are about, and what came of them. Held events wait for \
signals release or signals dismiss.

With --json, prints what docs/schemas/signals-list.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --state held',
    '<%= config.bin %> <%= command.id %> --transmitter corporate --json',
  ];

  static override flags = {
    state: option({
      options: ['waiting', 'acting', 'done', 'held', 'ignored', 'dismissed'] as const,
      multiple: true,
      multipleNonGreedy: true,
    })({ summary: 'List events in this state.' }),
    transmitter: string({ summary: 'List events of this transmitter.', helpValue: 'NAME' }),
    limit: count({ summary: 'List at most this many. Default: 100.', helpValue: 'N' }),
    ...csvFlag,
  };

  async run(): Promise<Result<readonly SignalJson[]>> {
    const { flags } = await this.input(SignalsList);
    const { signalListing } = await import('../../src/cli/signals/signal-view.ts');
    const { state: states, transmitter, limit = 100 } = flags;
    return await signalListing(await this.runtime(flags), { states, transmitter, limit });
  }
}
