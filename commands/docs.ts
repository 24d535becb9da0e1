import { string as flag } from '@oclif/core/flags';
import { defineCommand, outputFlags } from '../src/cli/base-command.ts';
import { optionalArgument } from '../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Print a page of the documentation',
  description: `Prints the page as Markdown. Without a name, lists the pages and the location of their \
files. With --schema, prints the JSON schema of a command's --json output.`,
  examples: ['', 'policy', '--schema "tokens list"'],
  args: { page: optionalArgument('The name of the page.') },
  flags: {
    schema: flag({
      summary: 'Print the JSON schema of this command.',
      helpValue: 'COMMAND',
      exclusive: ['json'],
    }),
  },
  /** A page needs no configuration. */
  baseFlags: outputFlags,
  async run({ args, flags }) {
    const { docsResult, schemaResult } = await import('../src/cli/output/pages.ts');
    if (flags.schema !== undefined) return await schemaResult(this.config.root, flags.schema);
    return await docsResult(this.config.root, args.page);
  },
});
