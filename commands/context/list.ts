import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { csvFlag } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Lists contexts. */
export default class ContextList extends TokenctlCommand {
  static override summary = 'List contexts';

  static override description =
    `With --json, prints an array of name, current and kind. For kind rest, also url, username, credential (kind, and \
file or env: the location, never the secret), caFile and verifyTls. For kind database, also database: a URL \
without a password, or the file or env that holds the URL.`;

  static override examples = ['<%= config.bin %> <%= command.id %>'];

  static override flags = { ...csvFlag };

  async run(): Promise<Result> {
    const { flags } = await this.input(ContextList);
    const runtime = await this.runtime(flags);
    const { contextListing } = await import('../../src/cli/contexts/context-view.ts');
    return contextListing(runtime.configuration);
  }
}
