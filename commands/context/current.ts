import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { CurrentContextJson } from '../../src/cli/contexts/context-view.ts';
import type { Result } from '../../src/reports/result.ts';

export default class ContextCurrent extends TokenctlCommand {
  static override summary = 'Print the name of the current context';

  static override description =
    `Includes what TOKENCTL_CONTEXT, CONTROLLER_HOST or TOKENCTL_DATABASE selects in this shell.

With --json, prints what docs/schemas/context-current.json describes.`;

  static override examples = ['<%= config.bin %> <%= command.id %>'];

  async run(): Promise<Result<CurrentContextJson>> {
    const { flags } = await this.input(ContextCurrent);
    const runtime = await this.runtime(flags);
    const { currentResult } = await import('../../src/cli/contexts/context-view.ts');
    return currentResult(runtime.configuration.currentContext);
  }
}
