import { defineCommand } from '../../src/cli/base-command.ts';
import { cleanFlags } from '../../src/cli/investigation/investigation-flags.ts';

export default defineCommand({
  summary: 'Remove what an intruder left behind',
  description: `Investigates again, and ends what remains: revokes tokens, deletes applications, users, \
schedules and other objects that the actor made, removes roles and links, restores changed fields to the \
values before, and cancels running jobs. Ways in come first. What another user changed since is not touched; \
nor is what the activity stream has no value for: it is listed with what to do by hand. Reads everything \
again at the end. Running it again finishes the work.

The theft has a beginning: --since, or the --since of the saved investigation. What the user did before it \
is never cleaned. The plan is shown first, with the author and time of each item. What cannot be undone \
(deleted objects, canceled jobs) takes a confirmation of its own, or --irreversible beside --yes; otherwise \
it is left.

A database context revokes tokens, deletes applications, removes the roles of users, restores fields and \
settings, and deactivates or disables users, schedules and hosts instead of deleting them. The rest (running \
jobs, projects, other made objects, roles of teams) is done over REST in the same run: in the context whose \
databaseContext names this one, or that of --rest-context. Without one, the plan lists it with the reason.

--undo restores roles and links that a cleaning removed, enables what it disabled, and reverts fields \
that still have the value that it wrote. What it deleted or canceled, and secrets, cannot be undone: the \
plans of both say so.`,
  exitCodes: 'Exit code 5: something is left.',
  examples: [
    '--from stolen-token.json --dry-run',
    '--from stolen-token.json --reason "token stolen" --ticket SEC-7',
    '--incident inc-1a2b3c4d --since 2026-11-20T08:00:00Z --rule schedule --yes --irreversible',
    '--undo 0b9c8f1e --item schedule:8 --dry-run',
  ],
  flags: cleanFlags,
  async run({ flags }) {
    const { cleanFlow } = await import('../../src/cli/investigation/clean-flow.ts');
    return await this.change(flags, cleanFlow);
  },
});
