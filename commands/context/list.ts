import { defineCommand } from '../../src/cli/base-command.ts';
import { csvFlag } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'List contexts',
  examples: [''],
  flags: csvFlag,
  async run({ flags }) {
    const runtime = await this.runtime(flags);
    const { contextListing } = await import('../../src/cli/contexts/context-view.ts');
    return contextListing(runtime.configuration);
  },
});
