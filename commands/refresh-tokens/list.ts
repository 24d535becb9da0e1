import { option, string } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, csvFlag } from '../../src/cli/flags/flags.ts';

const SEVERAL = { multiple: true, multipleNonGreedy: true, helpGroup: 'SELECTION' } as const;

export default defineCommand({
  summary: 'List refresh tokens',
  description: `Requires a database context because the REST API does not list refresh tokens. States: live \
(can create access tokens), expired (older than REFRESH_TOKEN_EXPIRE_SECONDS, and live again if that is \
raised), orphaned (not revoked, but its access token is deleted, so the controller's own cleanup never \
removes it) and revoked. If the setting cannot be read (on a gateway, or without permission), expired tokens \
are listed as live, and stderr says so.`,
  examples: ['--user alice', '--state orphaned --csv'],
  flags: {
    user: string({ ...SEVERAL, summary: 'Select refresh tokens of this user.', helpValue: 'NAME' }),
    application: string({
      ...SEVERAL,
      summary: 'Select refresh tokens of this application.',
      helpValue: 'NAME',
    }),
    state: option({ options: ['live', 'expired', 'orphaned', 'revoked'] as const, ...SEVERAL })({
      summary: 'Select refresh tokens in this state.',
    }),
    ...csvFlag,
    ...allContextsFlag,
  },
  async run({ flags }) {
    const { listRefreshTokens } = await import('../../src/operations/tokens/list-refresh-tokens.ts');
    const { refreshLifetime, refreshTokenListing } = await import(
      '../../src/cli/tokens/refresh-token-view.ts'
    );
    const { notingLimit } = await import('../../src/cli/output/streams.ts');
    const { user: users, application: applications, state: states } = flags;
    const selector = {
      ...(users !== undefined && { users }),
      ...(applications !== undefined && { applications }),
      ...(states !== undefined && { states }),
    };
    return await this.inContexts(flags, async ({ runtime }) => {
      const target = await runtime.target();
      const lifetime = await refreshLifetime(runtime);
      const tokens = listRefreshTokens({ target, selector, lifetime, clock: await runtime.targetClock() });
      return refreshTokenListing(notingLimit(runtime, tokens));
    });
  },
});
