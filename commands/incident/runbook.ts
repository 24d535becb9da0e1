import { string } from '@oclif/core/args';
import { defineCommand } from '../../src/cli/base-command.ts';
import { runbookFlags, runbooks } from '../../src/cli/incident/incident-flags.ts';
import { runbookResult } from '../../src/cli/incident/runbook.ts';

export default defineCommand({
  summary: 'Print a runbook for an incident',
  description: `Prints the runbook as Markdown. Without a name, lists the runbooks. With --incident, its \
commands are those of the incident: user, contexts, reason, ticket, the beginning of the theft and the run \
of the cleaning are filled in from the audit log and the configuration. Before there is an incident, give \
what you know. What is not known is a placeholder such as <user>, with which a command does not run.

Where the configuration does not say which contexts are the same controller, they are asked for up to three \
seconds. With nothing given, no one is asked, and the runbook is printed as it is written.`,
  examples: [
    'stolen-token',
    'stolen-token --user alice --since 2h --reason "laptop stolen" --ticket SEC-7',
    'stolen-token --incident inc-1a2b3c4d',
  ],
  args: {
    name: string({ description: 'The name of the runbook.', options: [...runbooks], ignoreStdin: true }),
  },
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
