import { boolean } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Show whether lockdowns are still in effect',
  description: `Compares the audit log with the controller. Reports settings that were changed back, users \
that were activated again, and new tokens of locked-down users. Also lists interrupted lockdowns, lifted \
lockdowns whose users are still deactivated, entries missing from the activity stream and, from the audit \
log, incidents at other addresses. A controller's REST API and database are two addresses. Incidents of both \
are checked, and can be lifted at either one as far as the context allows.

A request that the controller accepted before a lockdown can create a token after it. With --wait, the \
command waits up to two minutes for such requests to finish, and then lists the tokens.`,
  exitCodes: `Exit code 0 regardless of the result. With --check, exit code 3 means that an open incident is \
not in effect, overdue or unfinished, or that an incident of another context is overdue. Exit code 5 means \
that the lockdown is in effect as far as this context can check, but something could not be checked.`,
  examples: ['', '--check --json', '--wait'],
  flags: {
    all: boolean({ summary: 'Include all lifted incidents.' }),
    wait: boolean({ summary: 'First wait for requests that started before the lockdown.' }),
    check: boolean({
      summary: 'Exit with 3 if a lockdown is not in effect, or 5 if that could not be fully checked.',
    }),
    ...allContextsFlag,
  },
  async run({ flags }) {
    const { incidentStatus } = await import('../../src/operations/incident/incident-status.ts');
    const { statusResult, waitUntil } = await import('../../src/cli/incident/status-result.ts');
    return await this.inContexts(flags, async ({ runtime, several }) => {
      const reading = await runtime.reading();
      const { description } = reading;
      const found = await incidentStatus({
        ...reading,
        all: flags.all === true,
        evidence: () => runtime.evidence(),
        ...(flags.wait === true && { wait: waitUntil }),
      });
      // With several contexts, incidents at other addresses are mostly listed under their own context.
      const isOwn = ({ address }: { address: string }) => address === description.address;
      const shown = several
        ? {
            incidents: found.incidents.filter(isOwn),
            left: found.left.filter(isOwn),
            elsewhere: [],
            stream: found.stream,
          }
        : found;
      return statusResult(shown, { description, check: flags.check === true });
    });
  },
});
