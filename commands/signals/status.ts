import { defineCommand } from '../../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Show streams and waiting security events',
  description: `Shows how many events wait, are held, and were carried out, when the last event of each \
transmitter arrived, and the state of its stream there, where the configuration has a token for its \
management.`,
  exitCodes: 'Exit code 3: a stream is missing, paused or disabled, or its transmitter does not answer.',
  examples: [''],
  async run({ flags }) {
    const { statusFlow } = await import('../../src/cli/signals/status-flow.ts');
    return await statusFlow(await this.runtime(flags));
  },
});
