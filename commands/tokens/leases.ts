import { defineCommand } from '../../src/cli/base-command.ts';
import { leaseFlags } from '../../src/cli/leases/lease-flags.ts';
import type { LeaseChangeJson, LeaseJson } from '../../src/cli/leases/lease-flow.ts';
import type { SunsetWeek } from '../../src/operations/sunset/sunset.ts';
import type { Result } from '../../src/reports/result.ts';

export default defineCommand({
  summary: 'List, extend or end the leases of tokens',
  description: `A lease is an end time that tokenctl sets for a token that the controller itself would \
accept longer. tokens create --for and exec create leases. Leases are recorded in the audit log. The job \
lease-end revokes the token at that time. Without the job, use --due. A lease belongs to the controller, \
regardless of the context that created it. --extend does not change the controller, except for the database \
row of a token with a sunset. If the configuration requires approvals, extending a sunset lease requires a \
plan that a second person approves (--plan-out, plan approve, --plan). See tokenctl docs short-lived-tokens.`,
  exitCodes: 'Exit code 5: some tokens were not revoked, or the revocation could not be verified.',
  examples: [
    '',
    '--all --json',
    '--extend lease-1a2b --for 2h --reason "still running"',
    '--extend 4711 --for 30d --plan-out extension.json',
    '--plan extension.json',
    '--end 4711',
    '--due --yes',
  ],
  flags: leaseFlags,
  changesWith: ['extend', 'end', 'due', 'plan'],
  async run({ flags }): Promise<Result<readonly LeaseJson[] | readonly SunsetWeek[] | LeaseChangeJson>> {
    if (flags.sunset === true) {
      const { sunsetStatusFlow } = await import('../../src/cli/sunset/sunset-flow.ts');
      return await sunsetStatusFlow(await this.runtime(flags));
    }
    const { leaseChangeFlow, leaseListFlow } = await import('../../src/cli/leases/lease-flow.ts');
    const movesEnd = flags.extend !== undefined || flags.plan !== undefined;
    const changes = movesEnd || flags.end !== undefined || flags.due === true;
    if (!changes) return await leaseListFlow(await this.runtime(flags), flags);
    if (!movesEnd) return await this.change(flags, leaseChangeFlow);
    const request = { runtime: await this.runtime(flags), flags };
    const { carryOut } = await import('../../src/cli/change/change.ts');
    return await carryOut(request, await leaseChangeFlow(request));
  },
});
