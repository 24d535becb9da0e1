import { defineCommand } from '../../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Print the name of the current context',
  description:
    'Includes what TOKENCTL_CONTEXT, CONTROLLER_HOST, AAP_HOSTNAME or TOKENCTL_DATABASE selects in this shell.',
  examples: [''],
  async run({ flags }) {
    const runtime = await this.runtime(flags);
    const { currentResult } = await import('../../src/cli/contexts/context-view.ts');
    return currentResult(runtime.configuration.currentContext);
  },
});
