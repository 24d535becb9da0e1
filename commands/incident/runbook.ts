import { string } from '@oclif/core/args';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { runbooks } from '../../src/cli/incident/incident-flags.ts';
import { type RunbookJson, runbookResult } from '../../src/cli/incident/runbook.ts';
import type { Result } from '../../src/reports/result.ts';

export default class IncidentRunbook extends TokenctlCommand {
  static override summary = 'Print a runbook for an incident';

  static override description = `Prints the runbook as Markdown. Without a name, lists the runbooks.

With --json, prints what docs/schemas/incident-runbook.json describes.`;

  static override examples = ['<%= config.bin %> <%= command.id %> stolen-token'];

  static override args = {
    name: string({ description: 'The name of the runbook.', options: [...runbooks], ignoreStdin: true }),
  };

  async run(): Promise<Result<RunbookJson>> {
    const { args } = await this.input(IncidentRunbook);
    return await runbookResult(this.config.root, args.name);
  }
}
