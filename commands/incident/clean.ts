import { defineCommand } from '../../src/cli/base-command.ts';
import { cleanFlags } from '../../src/cli/investigation/investigation-flags.ts';

export default defineCommand({
  summary: 'Remove what an intruder left behind',
  description: `Investigates again and removes what is left: revokes tokens; deletes applications, users, \
schedules and other objects that the actor created; removes roles and links; restores changed fields; and \
cancels running jobs. Access is closed first. Items that another user has changed since are left alone. \
Items whose previous value is not in the activity stream are listed with manual steps. At the end, \
everything is checked again. If the command was interrupted, run it again to finish.

The start of the incident is --since, or the --since of the saved investigation. Anything the user did \
before that is never cleaned. The plan comes first, with the author and time of each item. Actions that \
cannot be undone (deleting objects, canceling jobs) need a separate confirmation, or --irreversible with \
--yes. Otherwise they are skipped.

A database context revokes tokens, deletes applications, removes users' roles, and restores fields and \
settings. It deactivates or disables users, schedules and hosts instead of deleting them. Everything else \
(running jobs, projects, other created objects, team roles) is done over REST in the same run, in the \
context whose databaseContext is this one or in --rest-context. Without a REST context, the plan lists these \
items with the reason.

--undo restores removed roles and links, enables what was disabled, and restores fields that have not \
changed since the cleanup. Deletions, cancellations and changes to secrets cannot be undone. Both plans say \
so.`,
  exitCodes: 'Exit code 5: some items remain.',
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
