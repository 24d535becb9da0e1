import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { Result } from '../../src/cli/output/result.ts';

/** Shows the authentication settings. */
export default class SettingsShow extends TokenctlCommand {
  static override summary = "Show the controller's authentication settings.";

  static override description =
    `With --json it prints the settings under the controller's names, such as AUTH_BASIC_ENABLED, \
ALLOW_OAUTH2_FOR_EXTERNAL_USERS and OAUTH2_PROVIDER with its three lifetimes in seconds.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --context production --json',
  ];

  async run(): Promise<Result> {
    const { flags } = await this.input(SettingsShow);
    const runtime = await this.runtime(flags);
    const { readSettings } = await import('../../src/operations/settings/read-settings.ts');
    const { settingsResult } = await import('../../src/cli/settings/settings-result.ts');
    return settingsResult(await readSettings({ target: await runtime.target() }));
  }
}
