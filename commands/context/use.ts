import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { ChosenContextJson } from '../../src/cli/contexts/context-view.ts';
import { requiredArgument } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/result.ts';

export default class ContextUse extends TokenctlCommand {
  static override summary = 'Set the current context';

  static override description = `With --json, prints what docs/schemas/context-use.json describes.`;

  static override examples = ['<%= config.bin %> <%= command.id %> production'];

  static override args = {
    name: requiredArgument('The name of the context.'),
  };

  async run(): Promise<Result<ChosenContextJson>> {
    const { args, flags } = await this.input(ContextUse);
    const runtime = await this.runtime({ ...flags, context: undefined, 'database-file': undefined });
    const { useContext } = await import('../../src/config/contexts.ts');
    const { chosenResult } = await import('../../src/cli/contexts/context-view.ts');
    useContext(runtime.configuration, args.name);
    return chosenResult(args.name, runtime.configuration.environmentContext);
  }
}
