import { defineCommand } from '../../src/cli/base-command.ts';
import { lockdownFlags } from '../../src/cli/incident/incident-flags.ts';

export default defineCommand({
  summary: 'Contain an incident',
  description: `Closes the ways in that this context can close, and records how to undo it. The steps run in \
this order: turn off basic authentication and tokens for external users; deactivate users; save a snapshot \
(a file with mode 0600 in the state directory, its SHA-256 in the audit log); revoke refresh tokens and access \
tokens and end sessions until none remain; shorten the lifetimes of new tokens; check which ways in \
are closed. The report says which are open, and which this context cannot check. The plan is shown first; \
confirm by typing the name of the one user or application, or else the number of access tokens. With --yes \
nothing is counted beforehand, which saves time. Steps that the target cannot do are listed with the command \
to run. The token of this context is kept. The audit log records the previous values for incident lift. If \
interrupted, run the same command again.

With --all or --identity-provider, basic authentication and external tokens are turned off by default, and \
with --all token lifetimes are set to one hour; the --no- flags prevent this. With --user or --application \
these steps need their flags, because they affect all users.

A controller does not deactivate users over its REST API. There, with --user, --reset-password ends what the \
password of a local user opens: the new password is tried at once and again at the end. --strip-roles takes \
all roles, superuser included, and incident lift gives them back. --end-applications deletes the \
applications that the users made. What stays possible, as logging in at an identity provider, is listed \
under "Still open".

Turning basic authentication off is refused if this context uses a password, unless --rescue-token names a \
new file: a token with scope write is created in it first, tried, used for the lockdown, and kept.

Where the configuration requires a second person to approve (see tokenctl docs configuration), a lockdown of one user \
needs no one else. Any other needs a plan (--plan-out) that another person approved with plan approve, or \
--break-glass.`,
  exitCodes: `Exit code 5: not everything was locked down, or an access path could not be checked, as always \
over the REST API. Exit code 130: interrupted.`,
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
