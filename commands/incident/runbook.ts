import { string } from '@oclif/core/args';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { runbookFlags, runbooks } from '../../src/cli/incident/incident-flags.ts';
import { type RunbookJson, runbookResult } from '../../src/cli/incident/runbook.ts';
import type { Result } from '../../src/reports/result.ts';

export default class IncidentRunbook extends TokenctlCommand {
  static override summary = 'Print a runbook for an incident';

  static override description =
    `Prints the runbook as Markdown. Without a name, lists the runbooks. With --incident, its commands are those of the \
incident: user, contexts, reason, ticket, the beginning of the theft and the run of the cleaning are filled in from the \
audit log and the configuration. Before there is an incident, give what you know. What is not known is a placeholder such \
as <user>, with which a command does not run.

With --json, prints what docs/schemas/incident-runbook.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> stolen-token',
    '<%= config.bin %> <%= command.id %> stolen-token --user alice --reason "laptop stolen" --ticket SEC-7',
    '<%= config.bin %> <%= command.id %> stolen-token --incident inc-1a2b3c4d',
  ];

  static override args = {
    name: string({ description: 'The name of the runbook.', options: [...runbooks], ignoreStdin: true }),
  };

  static override flags = runbookFlags;

  async run(): Promise<Result<RunbookJson>> {
    const { args, flags } = await this.input(IncidentRunbook);
    const { incident, user, application, reason, ticket } = flags;
    const given = { incident, user, application, reason, ticket };
    if (args.name === undefined || Object.values(given).every((value) => value === undefined))
      return await runbookResult(this.config.root, args.name);
    const { caseGiven } = await import('../../src/cli/incident/runbook-case.ts');
    const known = await caseGiven(await this.runtime(flags), given);
    return await runbookResult(this.config.root, args.name, known);
  }
}
