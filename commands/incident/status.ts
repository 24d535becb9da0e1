import { boolean } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Show lockdowns and whether they are still in effect',
  description: `Compares the audit log with the controller. It reports settings that were changed back, \
users who are active again and new tokens of locked users. It also lists interrupted lockdowns, lifted ones whose \
users stay deactivated, entries that are missing in the activity stream and, from the audit log, incidents at other addresses. The REST API and the database of one controller are two addresses; \
incidents of both are checked and can be lifted at either, as far as the context can.

A request that the controller took before a lockdown can make a token after it. With --wait, the command \
waits until such requests have ended, for up to two minutes, and lists the tokens after that.`,
  exitCodes: `Exit code 0, whatever it finds: the question was answered. With --check, exit code 3 means \
that an open incident is not in effect, overdue or unfinished, or that one of another context is overdue. \
Exit code 5 means that it is in effect as far as this context can check, and that something was not checked.`,
  examples: ['', '--check --json', '--wait'],
  flags: {
    all: boolean({ summary: 'Include all lifted incidents.' }),
    wait: boolean({ summary: 'First wait for requests from before the lockdown.' }),
    check: boolean({
      summary: 'Exit with 3 if a lockdown is not in effect, and with 5 if that was not fully checked.',
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
      // With several contexts, the incidents elsewhere are mostly listed under their own context.
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
