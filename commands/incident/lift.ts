import { string } from '@oclif/core/args';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { liftFlags } from '../../src/cli/incident/incident-flags.ts';
import type { LiftJson } from '../../src/cli/incident/lift-flow.ts';
import type { Result } from '../../src/reports/result.ts';

export default class IncidentLift extends TokenctlCommand {
  static override summary = 'Lift a lockdown';

  static override description =
    `Restores settings and users to their previous values, in reverse order. Without an id, lifts the only open \
incident; if several are open, give the id of one. The plan is shown first. A value that another open incident \
holds stays until that incident is lifted. A value that was changed since the lockdown is not touched. Revoked \
tokens stay revoked. Lifting an incident twice does nothing. An incident of a controller can be lifted over its \
REST API or its database, wherever it was locked down; only a database context can activate users.

The session of a deactivated user is refused and not ended: a platform gateway accepts it again from its cache once \
the user is active. If there may be such sessions, the plan says until when. With --yes, and in the job incident-lift, \
the users then stay deactivated until that time.

With --json, prints what docs/schemas/incident-lift.json describes.

Exit code 5: not everything was restored.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> inc-1a2b3c4d --dry-run',
    '<%= config.bin %> <%= command.id %> --due --yes',
  ];

  static override args = {
    incident: string({ description: 'The incident id, or its first characters.', ignoreStdin: true }),
  };

  static override flags = liftFlags;

  async run(): Promise<Result<LiftJson>> {
    const { args, flags } = await this.input(IncidentLift);
    const { liftFlow, requireOneIncident } = await import('../../src/cli/incident/lift-flow.ts');
    requireOneIncident(args.incident, flags.due);
    const confirmation = await this.confirmation(flags);
    const { incident } = args;
    return await this.inContexts(flags, confirmation, (member) => liftFlow({ ...member, incident, flags }));
  }
}
