import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, changeFlags, seconds } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Shows or sets how long tokens live. */
export default class SettingsTokenLifetime extends TokenctlCommand {
  static override summary = 'Show or set how long new tokens and authorization codes live.';

  static override description =
    `Without a lifetime it shows all three. A lifetime is an age (90d, 12h, 10m) or a number of seconds; what is not \
given keeps its value. Access tokens that exist keep the expiry that they were made with.

With --json it prints setting and lifetimes (in seconds, under the controller's names); where it sets them also \
changed, dryRun and holds (at_once or within_a_minute).`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --access 90d --refresh 30d --dry-run',
  ];

  static override flags = {
    access: seconds({ summary: 'How long access tokens live.' }),
    refresh: seconds({ summary: 'How long refresh tokens live.' }),
    code: seconds({ summary: 'How long authorization codes live.' }),
    ...changeFlags,
    ...allContextsFlag,
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(SettingsTokenLifetime);
    const { givesLifetime, lifetimeFlow, lifetimeStatus } = await import(
      '../../src/cli/settings/lifetime-flow.ts'
    );
    const { confirmationFrom: consentFrom } = await import('../../src/cli/confirmation.ts');
    if (!givesLifetime(flags)) {
      return await this.inContexts(flags, null, ({ runtime }) => lifetimeStatus(runtime));
    }
    return await this.inContexts(flags, consentFrom(flags), (member) => lifetimeFlow({ ...member, flags }));
  }
}
