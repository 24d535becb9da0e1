import { defineCommand } from '../../src/cli/base-command.ts';
import { lifetimeFlags } from '../../src/cli/settings/settings-flags.ts';

export default defineCommand({
  summary: 'Show or set token lifetimes',
  description: `Without flags, shows all three lifetimes. A lifetime is a duration (90d, 12h, 10m) or a \
number of seconds. Lifetimes that you do not specify stay unchanged. Existing access tokens keep their \
expiry date.`,
  examples: ['', '--access 90d --refresh 30d --dry-run'],
  flags: lifetimeFlags,
  async run({ flags }) {
    const { givesLifetime, lifetimeFlow, lifetimeStatus } = await import(
      '../../src/cli/settings/lifetime-flow.ts'
    );
    if (!givesLifetime(flags)) return await this.inContexts(flags, ({ runtime }) => lifetimeStatus(runtime));
    return await this.changeInContexts(flags, (member) => lifetimeFlow({ ...member, flags }));
  },
});
