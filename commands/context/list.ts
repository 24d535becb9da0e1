import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { ListedContext } from '../../src/cli/contexts/context-view.ts';
import { csvFlag } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/result.ts';

export default class ContextList extends TokenctlCommand {
  static override summary = 'List contexts';

  static override description = `With --json, prints what docs/schemas/context-list.json describes.`;

  static override examples = ['<%= config.bin %> <%= command.id %>'];

  static override flags = { ...csvFlag };

  async run(): Promise<Result<readonly ListedContext[]>> {
    const { flags } = await this.input(ContextList);
    const runtime = await this.runtime(flags);
    const { contextListing } = await import('../../src/cli/contexts/context-view.ts');
    return contextListing(runtime.configuration);
  }
}
