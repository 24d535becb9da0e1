import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { RenamedContextJson } from '../../src/cli/contexts/edit-context.ts';
import { requiredArgument } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/result.ts';

export default class ContextRename extends TokenctlCommand {
  static override summary = 'Rename a context';

  static override description =
    `Renames the context in the configuration file, also where groups, jobs and other contexts name it. The audit log \
keeps the old name in its entries; incidents are found by the address of the controller.

With --json, prints what docs/schemas/context-rename.json describes.`;

  static override examples = ['<%= config.bin %> <%= command.id %> lab staging'];

  static override args = {
    name: requiredArgument('The name of the context.'),
    to: requiredArgument('Its new name.'),
  };

  async run(): Promise<Result<RenamedContextJson>> {
    const { args, flags } = await this.input(ContextRename);
    const runtime = await this.runtime({ ...flags, context: undefined, 'database-file': undefined });
    const { renamingFlow } = await import('../../src/cli/contexts/edit-context.ts');
    return renamingFlow(runtime.configuration, args.name, args.to);
  }
}
