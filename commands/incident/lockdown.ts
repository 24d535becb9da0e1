import { defineCommand } from '../../src/cli/base-command.ts';
import { lockdownFlags } from '../../src/cli/incident/incident-flags.ts';

export default defineCommand({
  summary: 'Contain an incident',
  description: `Closes every access path that this context can close, and records how to undo it. The steps \
run in this order: turn off basic authentication and tokens for external users; deactivate users; save a \
snapshot (a file with mode 0600 in the state directory, with its SHA-256 in the audit log); revoke tokens \
and end sessions until none remain; shorten the lifetimes of new tokens; check which access paths are \
closed. The report lists the access paths that are still open, and those that this context cannot check. The \
plan comes first. To confirm, type the name of the only user or application, or otherwise the number of \
access tokens. With --yes, nothing is counted in advance, which saves time. Steps that this context cannot \
perform are listed with the command to run. This context's own token is kept. The audit log records the \
previous values for incident lift. If the command is interrupted, run it again.

With --all or --identity-provider, basic authentication and external tokens are turned off by default. With \
--all, token lifetimes are also set to one hour. The --no- flags prevent this. With --user or --application, \
these steps require their flags because they affect all users.

Controllers cannot deactivate users over the REST API. For a local user, use --user with --reset-password \
there. The new password is tested immediately and again at the end. --strip-roles removes all roles, \
including superuser. incident lift restores them. --end-applications deletes applications that the users \
created. Access that stays possible, such as logging in through an identity provider, is listed under "Still \
open".

If this context uses a password, basic authentication cannot be turned off without --rescue-token, which \
names a new file. The command creates a token with scope write in it, tests it, uses it for the lockdown, \
and keeps it.

If the configuration requires a second person to approve (see tokenctl docs configuration), locking down one \
user needs no approval. Any other lockdown needs a plan (--plan-out) that someone else approved with plan \
approve, or --break-glass.`,
  exitCodes: `Exit code 5: the lockdown is incomplete, or an access path could not be checked, which is \
always the case over the REST API. Exit code 130: interrupted.`,
  examples: [
    '--user alice --deactivate --reason "laptop stolen" --ticket SEC-7',
    '--identity-provider social --for 4h',
    '--all --dry-run',
    '--all --rescue-token ./rescue.token --reason "provider compromised"',
  ],
  flags: lockdownFlags,
  async run({ flags }) {
    const { lockdownFlow } = await import('../../src/cli/incident/lockdown-flow.ts');
    const { lockdownOrder } = await import('../../src/cli/incident/lockdown-order.ts');
    const { requireOneContext } = await import('../../src/cli/multi-context/multi-context-flow.ts');
    const order = lockdownOrder(flags);
    return await this.changeInContexts(flags, (member) => {
      if (flags.plan !== undefined) requireOneContext(member, '--plan');
      if (flags['plan-out'] !== undefined) requireOneContext(member, '--plan-out');
      return lockdownFlow({ ...member, flags, order });
    });
  },
});
