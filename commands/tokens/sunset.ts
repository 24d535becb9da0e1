import { defineCommand } from '../../src/cli/base-command.ts';
import { sunsetFlags } from '../../src/cli/sunset/sunset-flags.ts';
import type { SunsetJson, SunsetUndoJson } from '../../src/cli/sunset/sunset-flow.ts';
import type { Result } from '../../src/reports/result.ts';

export default defineCommand({
  summary: 'Set an end date for permanent tokens',
  description: `Plans an end date for each personal token that never expires or lives longer than \
--max-lifetime. Each token gets a lease, as with tokens create --for. Over a database connection, its expiry \
date is also changed, so that the controller rejects the token after it. The end dates are spread over \
--over. All tokens of an owner end on the same day, unused tokens come first, and no token ends on a \
weekend. Exceptions to the policy rule never-expires are skipped. Emails to owners (tokens notify-owners, \
the job owner-notices) state the date. The job lease-end revokes the tokens on that date. Until then, --undo \
removes the end date and restores the old expiry, and tokens leases --extend changes it. Over REST, \
nothing changes on the controller before that date. tokens leases --sunset shows the remaining tokens by \
week, and which are still in use.`,
  exitCodes: 'Exit code 130: interrupted. Run the command again to continue.',
  examples: [
    '--dry-run',
    '--over 90d --per-day 50 --reason "no permanent tokens" --ticket SEC-12',
    '--undo sunset-1a2b3c4d --user ci-deploy',
  ],
  flags: sunsetFlags,
  async run({ flags }): Promise<Result<SunsetJson | SunsetUndoJson>> {
    const { sunsetFlow, sunsetUndoFlow } = await import('../../src/cli/sunset/sunset-flow.ts');
    const { undo } = flags;
    if (undo !== undefined) return await this.change(flags, (request) => sunsetUndoFlow(request, undo));
    return await this.change(flags, sunsetFlow);
  },
});
