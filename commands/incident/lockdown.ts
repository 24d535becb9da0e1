import { boolean, option, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import {
  age,
  allContextsFlag,
  approvalFlags,
  changeFlags,
  localFlags,
  rescueFlag,
} from '../../src/cli/flags.ts';
import type { LockdownJson } from '../../src/cli/incident/lockdown-flow.ts';
import { providers } from '../../src/domain/incident/incident.ts';
import type { Result } from '../../src/reports/tables/result.ts';

const SEVERAL = { multiple: true, multipleNonGreedy: true, helpGroup: 'SELECTION' } as const;

const SCOPES = ['user', 'application', 'identity-provider', 'all'];
const MEASURES = [
  'deactivate',
  'keep-active',
  'basic-auth-off',
  'external-tokens-off',
  'shorten-lifetimes',
  'for',
];

/** Locks a controller down. */
export default class IncidentLockdown extends TokenctlCommand {
  static override summary = 'Contain an incident';

  static override description =
    `Closes the ways in that this context can close, and records how to undo it. The steps run in this order: turn \
off basic authentication and tokens for external users; deactivate users; save a snapshot (a file of mode 0600 \
in the state directory, its SHA-256 in the audit log); revoke refresh tokens and access tokens and end sessions \
until none is left; shorten the lifetimes of new tokens; read again which ways in are closed. The report says \
which are open, and which this context cannot check. The plan is shown first; confirm by typing the name of the \
one user or application, or else the number of access tokens. With --yes nothing is counted beforehand, which \
saves time. Steps that the target cannot do are listed with the command to run. The token of this context is \
kept. The audit log records the previous values for incident lift. If interrupted, run the same command again.

With --all or --identity-provider, basic authentication and external tokens are turned off by default, and with \
--all token lifetimes are set to one hour; the --no- flags prevent this. With --user or --application these \
steps need their flags, because they affect all users.

A controller does not deactivate users over its REST API. There, with --user, --reset-password ends what the \
password of a local user opens: the new password is tried at once and again at the end. --strip-roles takes all roles, \
superuser included, and incident lift gives them back. --end-applications deletes the applications that the users made. \
What stays possible, as logging in at an identity provider, is listed under "Needs manual action".

Turning basic authentication off is refused if this context uses a password, unless --rescue-token names a new \
file: a token of scope write is created in it first, tried, used for the lockdown, and kept.

Where the configuration requires two persons (approval in docs/configuration.md), a lockdown of one user needs \
no one else. Any other needs a plan (--plan-out) that another person approved with plan approve, or --break-glass.

With --json, prints what docs/schemas/incident-lockdown.json describes.

Exit code 5: not everything was locked down, or an access path could not be checked, as always over the REST \
API. Exit code 130: interrupted.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --user alice --deactivate --reason "laptop stolen" --ticket SEC-7',
    '<%= config.bin %> <%= command.id %> --identity-provider social --for 4h',
    '<%= config.bin %> <%= command.id %> --all --dry-run',
    '<%= config.bin %> <%= command.id %> --all --rescue-token ./rescue.token --reason "provider compromised"',
  ];

  static override flags = {
    user: string({ ...SEVERAL, summary: 'Lock out this user.', helpValue: 'NAME' }),
    application: string({ ...SEVERAL, summary: 'Revoke the tokens of this application.', helpValue: 'NAME' }),
    'identity-provider': option({ options: providers })({
      summary:
        'Lock out users of an identity provider: ldap, social (SAML, OpenID Connect, GitHub), enterprise or any.',
      helpGroup: 'SELECTION',
    }),
    all: boolean({ summary: 'Lock out all users.', helpGroup: 'SELECTION' }),
    deactivate: boolean({ summary: 'Deactivate the users.', helpGroup: 'MEASURES' }),
    'keep-active': string({
      ...SEVERAL,
      helpGroup: 'MEASURES',
      summary: 'Do not deactivate this user.',
      helpValue: 'NAME',
    }),
    ...localFlags,
    'basic-auth-off': boolean({
      summary: 'Turn basic authentication off.',
      allowNo: true,
      helpGroup: 'MEASURES',
    }),
    'external-tokens-off': boolean({
      summary: 'Stop external users from creating tokens.',
      allowNo: true,
      helpGroup: 'MEASURES',
    }),
    'shorten-lifetimes': boolean({
      summary: 'Shorten the lifetimes of new tokens to one hour.',
      allowNo: true,
      helpGroup: 'MEASURES',
    }),
    for: age({
      summary: 'End the lockdown after this time; the job incident-lift or incident lift --due lifts it.',
      helpGroup: 'MEASURES',
    }),
    plan: string({
      summary: 'Carry out this saved plan instead.',
      exclusive: ['plan-out', ...SCOPES, ...MEASURES],
      helpGroup: 'SELECTION',
      helpValue: 'FILE',
    }),
    'plan-out': string({
      summary: 'Save the lockdown to a new file, to be approved and applied, and change nothing.',
      exclusive: ['dry-run', 'yes', 'break-glass', 'rescue-token'],
      helpGroup: 'CHANGE',
      helpValue: 'FILE',
    }),
    ...rescueFlag,
    ...changeFlags,
    ...approvalFlags,
    ...allContextsFlag,
  };

  async run(): Promise<Result<LockdownJson>> {
    const { flags } = await this.input(IncidentLockdown);
    const { lockdownFlow } = await import('../../src/cli/incident/lockdown-flow.ts');
    const { lockdownOrder } = await import('../../src/cli/incident/lockdown-order.ts');
    const { requireOneContext } = await import('../../src/cli/multi-context/multi-context-flow.ts');
    const order = lockdownOrder(flags);
    const confirmation = await this.confirmation(flags);
    return await this.inContexts(flags, confirmation, (member) => {
      if (flags.plan !== undefined) requireOneContext(member, '--plan');
      if (flags['plan-out'] !== undefined) requireOneContext(member, '--plan-out');
      return lockdownFlow({ ...member, flags, order });
    });
  }
}
