import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags.ts';
import { extendFlags } from '../../src/cli/incident/incident-flags.ts';
import type { ExtensionJson } from '../../src/cli/incident/lift-flow.ts';
import type { Result } from '../../src/reports/result.ts';

export default class IncidentExtend extends TokenctlCommand {
  static override summary = 'Change when a lockdown ends';

  static override description =
    `Changes nothing on the controller. The new end time is recorded in the audit log; the job incident-lift and the \
command incident lift --due use it.

With --json, prints what docs/schemas/incident-extend.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> inc-1a2b3c4d --for 4h --reason "still investigating"',
  ];

  static override args = {
    incident: requiredArgument('The incident id, or its first characters.'),
  };

  static override flags = extendFlags;

  async run(): Promise<Result<ExtensionJson>> {
    const { args, flags } = await this.input(IncidentExtend);
    const { extendFlow } = await import('../../src/cli/incident/lift-flow.ts');
    const { incident } = args;
    return await this.inContexts(flags, null, ({ runtime }) => extendFlow({ runtime, incident, flags }));
  }
}
