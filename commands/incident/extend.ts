import { string } from '@oclif/core/args';
import { boolean } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { accountFlags, age, allContextsFlag } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Sets when a lockdown is to be lifted. */
export default class IncidentExtend extends TokenctlCommand {
  static override summary = 'Set when an open incident is to be lifted.';

  static override description =
    `Changes nothing at the target: the time stands in the audit log, and the job incident-lift and incident lift --due \
go by it.

With --json it prints incident and until.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> inc-1a2b3c4d --for 4h --reason "not over yet"',
  ];

  static override args = {
    incident: string({
      description: 'The id of the incident, or its beginning.',
      required: true,
      ignoreStdin: true,
    }),
  };

  static override flags = {
    for: age({ summary: 'After that long from now.', exactlyOne: ['for', 'unlimited'] }),
    unlimited: boolean({ summary: 'Not by itself.' }),
    ...accountFlags,
    ...allContextsFlag,
  };

  async run(): Promise<Result> {
    const { args, flags } = await this.input(IncidentExtend);
    const { extendFlow } = await import('../../src/cli/incident/lift-flow.ts');
    const { incident } = args;
    return await this.inContexts(flags, null, ({ runtime }) => extendFlow({ runtime, incident, flags }));
  }
}
