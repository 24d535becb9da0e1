import { option, string } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';
import { count, csvFlag } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'List received security events',
  description: `Lists the events in the queue, newest first, with their sender, subject and outcome. Use \
signals release or signals dismiss for held events.`,
  examples: ['--state held', '--transmitter corporate --json'],
  flags: {
    state: option({
      options: ['waiting', 'acting', 'done', 'held', 'ignored', 'dismissed'] as const,
      multiple: true,
      multipleNonGreedy: true,
    })({ summary: 'List events in this state.' }),
    transmitter: string({ summary: 'List events from this transmitter.', helpValue: 'NAME' }),
    limit: count({ summary: 'List at most this many events. Default: 100.', helpValue: 'N' }),
    ...csvFlag,
  },
  async run({ flags }) {
    const { signalListing } = await import('../../src/cli/signals/signal-view.ts');
    const { state: states, transmitter, limit = 100 } = flags;
    return await signalListing(await this.runtime(flags), { states, transmitter, limit });
  },
});
