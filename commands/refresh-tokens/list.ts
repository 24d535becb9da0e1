import { option, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, csvFlag } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

const SEVERAL = { multiple: true, multipleNonGreedy: true, helpGroup: 'SELECTION' } as const;

/** Lists refresh tokens. */
export default class RefreshTokensList extends TokenctlCommand {
  static override summary = 'List refresh tokens, those without an access token among them.';

  static override description =
    `It takes a context of a database: a controller's REST API does not show them. The state is live (it can mint \
access tokens), orphaned (the same, but its access token is gone, so that the controller's clean-up never removes it) \
or revoked.

With --json it prints one array, one refresh token a line, as they come: id, user (id, username), application (id, \
name), state, created, revoked (null while it is alive), accessTokenId (null where that is gone), fingerprint. An array \
that is not closed was cut short; the error is on stderr then.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --user alice',
    '<%= config.bin %> <%= command.id %> --state orphaned --csv',
  ];

  static override flags = {
    user: string({ ...SEVERAL, summary: 'Refresh tokens of this user.', helpValue: 'NAME' }),
    application: string({
      ...SEVERAL,
      summary: 'Refresh tokens issued to this application.',
      helpValue: 'NAME',
    }),
    state: option({ options: ['live', 'orphaned', 'revoked'] as const, ...SEVERAL })({
      summary: 'Refresh tokens in this state.',
    }),
    ...csvFlag,
    ...allContextsFlag,
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(RefreshTokensList);
    const { listRefreshTokens } = await import('../../src/operations/tokens/list-tokens.ts');
    const { refreshTokenListing } = await import('../../src/cli/tokens/refresh-token-view.ts');
    const { user: users, application: applications, state: states } = flags;
    const selector = {
      ...(users !== undefined && { users }),
      ...(applications !== undefined && { applications }),
      ...(states !== undefined && { states }),
    };
    return await this.inContexts(flags, null, async ({ runtime }) =>
      refreshTokenListing(listRefreshTokens({ target: await runtime.target(), selector })),
    );
  }
}
