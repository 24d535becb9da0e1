import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag } from '../../src/cli/flags.ts';
import type { AuthenticationSettings } from '../../src/operations/ports/target-parts.ts';
import type { Result } from '../../src/reports/result.ts';

export default class SettingsShow extends TokenctlCommand {
  static override summary = 'Show the authentication settings';

  static override description = `With --json, prints what docs/schemas/settings-show.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --context production --json',
  ];

  static override flags = { ...allContextsFlag };

  async run(): Promise<Result<AuthenticationSettings>> {
    const { flags } = await this.input(SettingsShow);
    const { readSettings } = await import('../../src/operations/settings/settings.ts');
    const { settingsResult } = await import('../../src/cli/settings/settings-result.ts');
    return await this.inContexts(flags, null, async ({ runtime }) =>
      settingsResult(await readSettings({ target: await runtime.target() }), await runtime.description()),
    );
  }
}
