import { string } from '@oclif/core/args';
import { defineCommand } from '../../src/cli/base-command.ts';
import { runbookFlags, runbooks } from '../../src/cli/incident/incident-flags.ts';
import { runbookResult } from '../../src/cli/incident/runbook.ts';

export default defineCommand({
  summary: 'Print a runbook for an incident',
  description: `Prints the runbook as Markdown. Without a name, lists the runbooks. With --incident, fills \
in the user, contexts, reason, ticket, start of the incident and cleanup run from the audit log and the \
configuration. If there is no incident yet, provide what you know. Unknown values are placeholders such as \
<user>. A command with a placeholder does not run.

If the configuration does not say which contexts belong to the same controller, the contexts are asked, for \
up to three seconds. Without flags, no context is asked, and the runbook is printed unchanged.`,
  examples: [
    'stolen-token',
    'stolen-token --user alice --since 2h --reason "laptop stolen" --ticket SEC-7',
    'stolen-token --incident inc-1a2b3c4d',
  ],
  args: { name: string({ description: 'The runbook name.', options: [...runbooks], ignoreStdin: true }) },
  flags: runbookFlags,
  async run({ args, flags }) {
    const { incident, user, application, reason, ticket, since } = flags;
    const given = { incident, user, application, reason, ticket, since };
    if (args.name === undefined || Object.values(given).every((value) => value === undefined))
      return await runbookResult(this.config.root, args.name);
    const { caseGiven } = await import('../../src/cli/incident/runbook-case.ts');
    const known = await caseGiven(await this.runtime(flags), given);
    return await runbookResult(this.config.root, args.name, known);
  },
});
