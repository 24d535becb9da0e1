import { string } from '@oclif/core/args';
import { defineCommand, outputFlags } from '../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Print a page of the documentation',
  description: 'Prints the page as Markdown. Without a name, lists the pages and where their files are.',
  examples: ['', 'policy'],
  args: { page: string({ description: 'The name of the page.', ignoreStdin: true }) },
  /** A page needs no configuration. */
  baseFlags: outputFlags,
  async run({ args }) {
    const { docsResult } = await import('../src/cli/output/pages.ts');
    return await docsResult(this.config.root, args.page);
  },
});
