import { boolean, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../src/cli/base-command.ts';
import { accountFlags } from '../src/cli/flags.ts';
import type { Result } from '../src/reports/tables/result.ts';

/** Stands in for the management command of this name. */
export default class RevokeOauth2Tokens extends TokenctlCommand {
  static override summary =
    "Revoke all access tokens, or one user's: stands in for awx-manage revoke_oauth2_tokens.";

  static override description =
    `It has the flags, lines and exit codes of the controller's management command, save that a token's fingerprint \
stands where that prints the token (over REST, which tells none, its id). It never asks. Without --user it means every user, with or without --all. Without \
--all refresh tokens stay alive and can mint new access tokens. An unknown user ends it with 1; beyond that \
everything holds as for tokens revoke: nothing is revoked that is not in the audit log before, and the exit codes are those \
of tokenctl.

With --json it prints the report of tokens revoke instead of the lines.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --user alice --all',
    '<%= config.bin %> <%= command.id %> --database-file ./controller.database --all',
  ];

  static override flags = {
    user: string({ summary: 'Only tokens of this user.', helpValue: 'NAME' }),
    all: boolean({ summary: 'Refresh tokens as well. It does not mean all users.' }),
    revoke_refresh: boolean({ summary: 'The same as --all, as the manual spells it.' }),
    ...accountFlags,
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(RevokeOauth2Tokens);
    const runtime = await this.runtime(flags);
    const { managementRevocation } = await import('../src/cli/awx-manage.ts');
    return await managementRevocation({ runtime, flags, json: this.jsonEnabled() });
  }
}
