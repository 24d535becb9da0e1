import { defineCommand } from '../../src/cli/base-command.ts';
import { optionalArgument } from '../../src/cli/flags/flags.ts';
import { liftFlags } from '../../src/cli/incident/incident-flags.ts';

export default defineCommand({
  summary: 'Lift a lockdown',
  description: `Restores settings and users to their previous values, in reverse order. Without an ID, lifts \
the only open incident. If several are open, specify one. The plan comes first. A value that another open \
incident also holds is restored when that incident is lifted. A value that has changed since the lockdown is \
left as is. Revoked tokens stay revoked. Lifting an incident twice has no effect. You can lift a \
controller's incident over its REST API or its database, regardless of which one was used for the lockdown. \
Only a database context can activate users.

A deactivated user's session is rejected but not ended. A platform gateway accepts it again from its cache \
after the user is activated. If such sessions may exist, the plan says how long they last. With --yes, and \
in the job incident-lift, users stay deactivated until then.

With --keep-deactivated, settings are restored, but users stay deactivated and do not get their roles back. \
Use it for accounts whose passwords an intruder knows. The incident still counts as lifted. An interrupted \
lift continues with the same choice, including in the job incident-lift. To restore access later, lift the \
same incident with --no-keep-deactivated.`,
  exitCodes: 'Exit code 5: not everything was restored.',
  examples: [
    '',
    'inc-1a2b3c4d --dry-run',
    'inc-1a2b3c4d --keep-deactivated --reason "laptop not found yet"',
    '--due --yes',
  ],
  args: { incident: optionalArgument('The incident ID or its first characters.') },
  flags: liftFlags,
  async run({ args, flags }) {
    const { liftFlow, requireOneIncident } = await import('../../src/cli/incident/lift-flow.ts');
    requireOneIncident(args.incident, flags.due);
    const { incident } = args;
    return await this.changeInContexts(flags, (member) => liftFlow({ ...member, incident, flags }));
  },
});
