import { boolean, string } from '@oclif/core/flags';
import { defineCommand } from '../src/cli/base-command.ts';
import { accountFlags, breakGlassFlag, dryRunFlag } from '../src/cli/flags/flags.ts';
import { djangoFlags, djangoStart } from '../src/cli/management/management-command.ts';

export default defineCommand({
  summary: 'Revoke access tokens (replaces awx-manage)',
  description: `A drop-in replacement for awx-manage revoke_oauth2_tokens, with the same options, no prompt, \
the same exit code for an unknown user (1) and the same output, except that each line shows the token's \
fingerprint (its ID over REST) instead of the token. Without --user, it revokes all users' tokens, with or \
without --all. Without --all, refresh tokens stay valid and can create new access tokens. Otherwise it works \
like tokens revoke, with the same audit log and exit codes.`,
  examples: ['--user alice --all', '--database-file ./controller.database --all'],
  flags: {
    user: string({ summary: 'Revoke only the tokens of this user.', helpValue: 'NAME' }),
    all: boolean({ summary: 'Revoke refresh tokens as well. Does not select all users.' }),
    revoke_refresh: boolean({ summary: 'Same as --all, as spelled in the manual.' }),
    ...dryRunFlag,
    ...accountFlags,
    ...breakGlassFlag,
    ...djangoFlags,
  },
  async run({ flags }) {
    const early = await djangoStart(this.config.version, flags);
    if (early !== null) return early;
    const runtime = await this.openingRuntime(flags);
    const { managementRevocation } = await import('../src/cli/management/awx-manage.ts');
    return await managementRevocation({ runtime, flags, json: this.jsonEnabled() });
  },
});
