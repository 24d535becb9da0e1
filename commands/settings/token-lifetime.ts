import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { LifetimeJson } from '../../src/cli/settings/lifetime-flow.ts';
import { lifetimeFlags } from '../../src/cli/settings/settings-flags.ts';
import type { Result } from '../../src/reports/result.ts';

export default class SettingsTokenLifetime extends TokenctlCommand {
  static override summary = 'Show or set token lifetimes';

  static override description =
    `Without flags, shows all three lifetimes. A lifetime is an age (90d, 12h, 10m) or a number of seconds. Lifetimes \
that are not given stay unchanged. Existing access tokens keep their expiry date.

With --json, prints what docs/schemas/settings-token-lifetime.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --access 90d --refresh 30d --dry-run',
  ];

  static override flags = lifetimeFlags;

  async run(): Promise<Result<LifetimeJson>> {
    const { flags } = await this.input(SettingsTokenLifetime);
    const { givesLifetime, lifetimeFlow, lifetimeStatus } = await import(
      '../../src/cli/settings/lifetime-flow.ts'
    );
    if (!givesLifetime(flags)) {
      return await this.inContexts(flags, null, ({ runtime }) => lifetimeStatus(runtime));
    }
    return await this.inContexts(flags, await this.confirmation(flags), (member) =>
      lifetimeFlow({ ...member, flags }),
    );
  }
}
