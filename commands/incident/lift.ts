import { string } from '@oclif/core/args';
import { defineCommand } from '../../src/cli/base-command.ts';
import { liftFlags } from '../../src/cli/incident/incident-flags.ts';

export default defineCommand({
  summary: 'Lift a lockdown',
  description: `Restores settings and users to their previous values, in reverse order. Without an id, lifts \
the only open incident; if several are open, give the id of one. The plan is shown first. A value that \
another open incident holds stays until that incident is lifted. A value that was changed since the lockdown \
is not touched. Revoked tokens stay revoked. Lifting an incident twice does nothing. An incident of a \
controller can be lifted over its REST API or its database, wherever it was locked down; only a database \
context can activate users.

The session of a deactivated user is refused and not ended: a platform gateway accepts it again from its \
cache once the user is active. If there may be such sessions, the plan says until when. With --yes, and in \
the job incident-lift, the users then stay deactivated until that time.

With --keep-deactivated, settings are restored, and the users stay deactivated and without the roles that \
were taken: an account whose password is known to an intruder is not restored. The incident is lifted all \
the same. A lift that was interrupted goes on with that choice, in the job incident-lift too. To give the access back \
later, lift the same incident with --no-keep-deactivated.`,
  exitCodes: 'Exit code 5: not everything was restored.',
  examples: [
    '',
    'inc-1a2b3c4d --dry-run',
    'inc-1a2b3c4d --keep-deactivated --reason "laptop not found yet"',
    '--due --yes',
  ],
  args: { incident: string({ description: 'The incident id, or its first characters.', ignoreStdin: true }) },
  flags: liftFlags,
  async run({ args, flags }) {
    const { liftFlow, requireOneIncident } = await import('../../src/cli/incident/lift-flow.ts');
    requireOneIncident(args.incident, flags.due);
    const { incident } = args;
    return await this.changeInContexts(flags, (member) => liftFlow({ ...member, incident, flags }));
  },
});
