import { defineCommand } from '../../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Print the current context name',
  description:
    'Also takes TOKENCTL_CONTEXT, CONTROLLER_HOST, AAP_HOSTNAME and TOKENCTL_DATABASE in this shell into account.',
  examples: [''],
  async run({ flags }) {
    const runtime = await this.runtime(flags);
    const { currentResult } = await import('../../src/cli/contexts/context-view.ts');
    return currentResult(runtime.configuration.currentContext);
  },
});
