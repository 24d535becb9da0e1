import { defineCommand } from '../../src/cli/base-command.ts';
import { sunsetFlags } from '../../src/cli/sunset/sunset-flags.ts';
import type { SunsetJson, SunsetUndoJson } from '../../src/cli/sunset/sunset-flow.ts';
import type { Result } from '../../src/reports/result.ts';

export default defineCommand({
  summary: 'Give tokens an end that have none',
  description: `Plans an end for each personal token that never expires, or lives longer than --max-lifetime: a lease, as tokens create \
--for makes one, and over a database also an earlier expiry in its row, so that the controller refuses it then. The ends are spread over --over: all tokens of an owner end on one day, those that are not used come first, and none \
end on a weekend. Exceptions of the policy rule never-expires are left. Mails to owners (tokens notify-owners, the job owner-notices) name \
the day. The job lease-end revokes the tokens then; until that day, --undo takes the end back, with the old expiry, and tokens leases --extend moves it. Over REST, \
nothing changes on the controller before. tokens leases --sunset counts what is left by weeks, and names what is still in use.`,
  exitCodes: 'Exit code 130: interrupted; run it again to go on.',
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
