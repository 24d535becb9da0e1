import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Lists contexts. */
export default class ContextList extends TokenctlCommand {
  static override summary = 'List the contexts: names for the controllers to work on.';

  static override description =
    `With --json it prints an array of name, current and kind; of the kind rest also url, username, credential (kind, \
and file or env: where it is, never the secret itself), caFile and verifyTls; of the kind database also database: a \
URL without a password, or file or env, where the URL is.`;

  static override examples = ['<%= config.bin %> <%= command.id %>'];

  async run(): Promise<Result> {
    const { flags } = await this.input(ContextList);
    const runtime = await this.runtime(flags);
    const { contextListing } = await import('../../src/cli/contexts/context-view.ts');
    return contextListing(runtime.configuration);
  }
}
