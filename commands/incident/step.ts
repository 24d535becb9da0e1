import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags.ts';
import { stepFlags } from '../../src/cli/incident/incident-flags.ts';
import type { IncidentStepJson } from '../../src/cli/incident/runbook.ts';
import type { Result } from '../../src/reports/result.ts';

export default class IncidentStep extends TokenctlCommand {
  static override summary = 'Tick off a step of a runbook';

  static override description =
    `Records in the audit log that you did a step of a runbook for an incident. incident report and incident timeline \
show it. Changes nothing on the controller, and checks nothing: it says what you say.

With --json, prints what docs/schemas/incident-step.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> inc-1a2b3c4d --runbook stolen-token --step 2',
    '<%= config.bin %> <%= command.id %> inc-1a2b3c4d --runbook stolen-token --step 2 --undo',
  ];

  static override args = {
    incident: requiredArgument('The incident id, or its first characters.'),
  };

  static override flags = stepFlags;

  async run(): Promise<Result<IncidentStepJson>> {
    const { args, flags } = await this.input(IncidentStep);
    const runtime = await this.runtime(flags);
    const { stepFlow } = await import('../../src/cli/incident/runbook.ts');
    return await stepFlow({ runtime, incident: args.incident, flags, root: this.config.root });
  }
}
