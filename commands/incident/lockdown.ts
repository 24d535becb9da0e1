import { boolean, option, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { age, allContextsFlag, changeFlags } from '../../src/cli/flags.ts';
import { providers } from '../../src/domain/incident/incident.ts';
import type { Result } from '../../src/reports/tables/result.ts';

const SEVERAL = { multiple: true, multipleNonGreedy: true, helpGroup: 'SELECTION' } as const;

/** Locks down. */
export default class IncidentLockdown extends TokenctlCommand {
  static override summary =
    'Contain an incident: shut the doors, then clear the rooms, and remember what to lift.';

  static override description =
    `Shows first what it would do, and does it in the order that keeps people out: turns basic authentication and \
external tokens off, deactivates users; writes down what there is (a file of mode 0600 in the state folder, its SHA-256 in \
the audit log); revokes refresh tokens and access tokens and ends sessions, and looks again until none is left; shortens \
the lifetimes of new tokens; and finds out whether the doors are shut. With --yes nothing is counted beforehand, so that \
the doors shut at once. What the target cannot do is listed with the command or the page that does it. The token that this \
tool uses is kept. What it changes is in the audit log, with the values from before, for incident lift. The same command \
again goes on where one was interrupted.

For --all and --identity-provider, basic authentication and external tokens go off unless --no-basic-auth-off or \
--no-external-tokens-off is given; for --all lifetimes are shortened to an hour unless --no-shorten-lifetimes is. For \
--user and --application these are done only when asked for, since they concern everybody.

With --json it prints incident, result (locked or partly), until, steps (step, result, message), accessPaths (path, state, how), \
manualSteps (what, why, remedy), kept, interrupted, stopped, run, seconds. With --dry-run: dryRun and plan.

Exits with 5 where something is left, with 130 after an interruption.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --user alice --deactivate --reason "laptop stolen" --ticket SEC-7',
    '<%= config.bin %> <%= command.id %> --identity-provider social --for 4h',
    '<%= config.bin %> <%= command.id %> --all --dry-run',
  ];

  static override flags = {
    user: string({ ...SEVERAL, summary: 'The access of this user.', helpValue: 'NAME' }),
    application: string({ ...SEVERAL, summary: 'The tokens of this application.', helpValue: 'NAME' }),
    'identity-provider': option({ options: providers })({
      summary:
        'The access of users of identity providers: ldap; social (SAML, OpenID Connect, GitHub); enterprise; any.',
      helpGroup: 'SELECTION',
    }),
    all: boolean({ summary: "Everybody's access.", helpGroup: 'SELECTION' }),
    deactivate: boolean({ summary: 'Deactivate the users as well.', helpGroup: 'MEASURES' }),
    'keep-active': string({
      ...SEVERAL,
      helpGroup: 'MEASURES',
      summary: 'Do not deactivate this user.',
      helpValue: 'NAME',
    }),
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
      summary: 'Shorten the lifetimes of new tokens to an hour.',
      allowNo: true,
      helpGroup: 'MEASURES',
    }),
    for: age({
      summary: 'Have it lifted after that long, by the job incident-lift or by incident lift --due.',
      helpGroup: 'MEASURES',
    }),
    ...changeFlags,
    ...allContextsFlag,
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(IncidentLockdown);
    const { confirmationFrom: consentFrom } = await import('../../src/cli/confirmation.ts');
    const { lockdownFlow } = await import('../../src/cli/incident/lockdown-flow.ts');
    const { lockdownOrder } = await import('../../src/cli/incident/lockdown-flow.ts');
    const order = lockdownOrder(flags);
    const confirmation = consentFrom(flags);
    return await this.inContexts(flags, confirmation, (member) => lockdownFlow({ ...member, flags, order }));
  }
}
