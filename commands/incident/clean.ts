import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { CleaningJson } from '../../src/cli/investigation/clean-flow.ts';
import { cleanFlags } from '../../src/cli/investigation/investigation-flags.ts';
import type { Result } from '../../src/reports/result.ts';

export default class IncidentClean extends TokenctlCommand {
  static override summary = 'End what an intruder left behind';

  static override description =
    `Investigates again, and ends what remains: revokes tokens, deletes applications, users, schedules and other objects that \
the actor made, removes roles and links, restores changed fields to the values before, and cancels running jobs. Ways in \
come first. What another user changed since is not touched; nor is what the activity stream has no value for: it is listed \
with what to do by hand. Reads everything again at the end. Running it again finishes the work.

The theft has a beginning: --since, or the --since of the saved investigation. What the user did before it is never cleaned. \
The plan is shown first, with the author and time of each item. What cannot be undone (deleted objects, cancelled jobs) takes \
a confirmation of its own, or --irreversible beside --yes; otherwise it is left.

A database context revokes tokens, deletes applications, removes the roles of users, restores fields and settings, and \
deactivates or disables users, schedules and hosts instead of deleting them. The rest (running jobs, projects, other made \
objects, roles of teams) is done over REST in the same run: in the context whose databaseContext names this one, or that of \
--rest-context. Without one, the plan lists it with the reason.

--undo gives back roles and links that a cleaning removed, enables what it disabled, and sets back fields that still have the \
value that it wrote. What it deleted or cancelled, and secrets, cannot be undone: the plans of both say so.

With --json, prints what docs/schemas/incident-clean.json describes.

Exit code 5: something is left.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --from stolen-token.json --dry-run',
    '<%= config.bin %> <%= command.id %> --from stolen-token.json --reason "token stolen" --ticket SEC-7',
    '<%= config.bin %> <%= command.id %> --incident inc-1a2b3c4d --since 2026-11-20T08:00:00Z --rule schedule --yes --irreversible',
    '<%= config.bin %> <%= command.id %> --undo 0b9c8f1e --item schedule:8 --dry-run',
  ];

  static override flags = cleanFlags;

  async run(): Promise<Result<CleaningJson>> {
    const { flags } = await this.input(IncidentClean);
    const { cleanFlow } = await import('../../src/cli/investigation/clean-flow.ts');
    const confirmation = await this.confirmation(flags);
    const runtime = await this.runtime(flags);
    return await cleanFlow({ runtime, confirmation, flags });
  }
}
