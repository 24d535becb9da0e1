import { defineCommand } from '../../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Show event streams and pending events',
  description: `Shows how many events are pending, held and processed, when each transmitter's last event \
arrived, and the state of its stream if the configuration has a management token.`,
  exitCodes: 'Exit code 3: a stream is missing, paused or disabled, or its transmitter does not respond.',
  examples: [''],
  async run({ flags }) {
    const { statusFlow } = await import('../../src/cli/signals/status-flow.ts');
    return await statusFlow(await this.runtime(flags));
  },
});
