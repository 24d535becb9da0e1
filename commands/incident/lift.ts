import { string } from '@oclif/core/args';
import { boolean } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, changeFlags } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Lifts a lockdown. */
export default class IncidentLift extends TokenctlCommand {
  static override summary = 'Lift a lockdown: give back what it changed, and nothing that was changed since.';

  static override description =
    `Restores settings and users as they were before, in the opposite order. What another open incident holds as well \
stays until the last of them is lifted; what somebody has set to something else since stays as it is. What was revoked \
stays revoked. Lifting twice does nothing.

With --json it prints an array: incident, result (lifted, partly, unchanged), steps (step, result, message), left (what, \
name, before, locked, found, action: as_before, kept, changed, gone), interrupted, stopped, run. With --dry-run, or where \
nothing is open: dryRun and plans.

Exits with 5 where something is left.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> inc-1a2b3c4d --dry-run',
    '<%= config.bin %> <%= command.id %> --due --yes',
  ];

  static override args = {
    incident: string({ description: 'The id of the incident, or its beginning.', ignoreStdin: true }),
  };

  static override flags = {
    due: boolean({ summary: 'Lift every incident whose time is over (--for).' }),
    ...changeFlags,
    ...allContextsFlag,
  };

  async run(): Promise<Result> {
    const { args, flags } = await this.input(IncidentLift);
    const { confirmationFrom: consentFrom } = await import('../../src/cli/confirmation.ts');
    const { liftFlow, requireOneIncident } = await import('../../src/cli/incident/lift-flow.ts');
    requireOneIncident(args.incident, flags.due);
    const confirmation = consentFrom(flags);
    const { incident } = args;
    return await this.inContexts(flags, confirmation, (member) => liftFlow({ ...member, incident, flags }));
  }
}
