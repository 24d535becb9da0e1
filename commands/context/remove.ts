import { boolean } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { RemovedContextJson } from '../../src/cli/contexts/edit-context.ts';
import { requiredArgument } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/result.ts';

export default class ContextRemove extends TokenctlCommand {
  static override summary = 'Remove a context';

  static override description =
    `Removes the context from the configuration file and its groups, and deletes the file in which context add stored \
its credential. Files and variables of your own stay. A context that a job or another context names is not \
removed. Nothing changes at the controller: a token of the context stays valid.

With --json, prints what docs/schemas/context-remove.json describes.`;

  static override examples = ['<%= config.bin %> <%= command.id %> lab'];

  static override args = {
    name: requiredArgument('The name of the context.'),
  };

  static override flags = {
    'keep-credential': boolean({ summary: 'Keep the file with the stored credential.' }),
  };

  async run(): Promise<Result<RemovedContextJson>> {
    const { args, flags } = await this.input(ContextRemove);
    const runtime = await this.runtime({ ...flags, context: undefined, 'database-file': undefined });
    const { removalFlow } = await import('../../src/cli/contexts/edit-context.ts');
    return removalFlow(runtime.configuration, args.name, flags['keep-credential'] === true);
  }
}
