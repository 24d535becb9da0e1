import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags.ts';
import { markFlags } from '../../src/cli/investigation/investigation-flags.ts';
import type { IncidentMarkJson } from '../../src/cli/investigation/mark-flow.ts';
import type { Result } from '../../src/reports/result.ts';

export default class IncidentMark extends TokenctlCommand {
  static override summary = 'Mark items as honest work, which a cleaning leaves';

  static override description =
    `Records in the audit log that items of the investigations of an incident are honest work, not the intruder's. \
incident clean leaves what is marked, for everybody who works on the incident. Changes nothing on the controller, and checks \
nothing: it says what you say.

With --json, prints what docs/schemas/incident-mark.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> inc-1a2b3c4d --item schedule:8 --item job_template:7',
    '<%= config.bin %> <%= command.id %> inc-1a2b3c4d --item schedule:8 --undo',
  ];

  static override args = {
    incident: requiredArgument('The incident id, or its first characters.'),
  };

  static override flags = markFlags;

  async run(): Promise<Result<IncidentMarkJson>> {
    const { args, flags } = await this.input(IncidentMark);
    const runtime = await this.runtime(flags);
    const { markFlow } = await import('../../src/cli/investigation/mark-flow.ts');
    return await markFlow({ runtime, incident: args.incident, flags });
  }
}
