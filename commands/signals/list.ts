import { option, string } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';
import { count, csvFlag } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'List received security events',
  description: `Lists the events in the queue, newest first: who sent them, whom they are about, and what \
came of them. Held events wait for signals release or signals dismiss.`,
  examples: ['--state held', '--transmitter corporate --json'],
  flags: {
    state: option({
      options: ['waiting', 'acting', 'done', 'held', 'ignored', 'dismissed'] as const,
      multiple: true,
      multipleNonGreedy: true,
    })({ summary: 'List events in this state.' }),
    transmitter: string({ summary: 'List events of this transmitter.', helpValue: 'NAME' }),
    limit: count({ summary: 'List at most this many. Default: 100.', helpValue: 'N' }),
    ...csvFlag,
  },
  async run({ flags }) {
    const { signalListing } = await import('../../src/cli/signals/signal-view.ts');
    const { state: states, transmitter, limit = 100 } = flags;
    return await signalListing(await this.runtime(flags), { states, transmitter, limit });
  },
});
