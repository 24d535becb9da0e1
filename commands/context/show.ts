import { string } from '@oclif/core/args';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { ShownContextJson } from '../../src/cli/contexts/context-view.ts';
import type { Result } from '../../src/reports/result.ts';

export default class ContextShow extends TokenctlCommand {
  static override summary = 'Show the settings of a context';

  static override description =
    `Reads the configuration only, and sends nothing. tokenctl context check tries the connection.

With --json, prints what docs/schemas/context-show.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> production --json',
  ];

  static override args = {
    name: string({ description: 'The context to show. Default: the current one.', ignoreStdin: true }),
  };

  async run(): Promise<Result<ShownContextJson>> {
    const { args, flags } = await this.input(ContextShow);
    const { configuration } = await this.runtime({ ...flags, context: undefined });
    const { contextOf } = await import('../../src/config/contexts.ts');
    const { shownContextResult } = await import('../../src/cli/contexts/context-view.ts');
    const name = args.name ?? flags.context ?? configuration.currentContext;
    return shownContextResult(configuration, contextOf(configuration, name));
  }
}
