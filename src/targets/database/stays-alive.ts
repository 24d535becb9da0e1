import { basicAuthCaution } from '../../domain/dialect.ts';
import type { Reach, StaysAlive } from '../../domain/plan.ts';
import type { AuthenticationSettings } from '../../operations/ports/target.ts';
import type { Recognised } from './layout.ts';

/** What revoking access tokens leaves alive where refresh tokens and sessions could be ended as well. */
export async function staysAlive(
  facts: {
    readonly tokensWithRefreshToken: number;
    readonly reach: Reach;
    readonly recognised: Pick<Recognised, 'layout' | 'tellsSessions'>;
  },
  readSettings: () => Promise<AuthenticationSettings>,
): Promise<readonly StaysAlive[]> {
  const { reach, tokensWithRefreshToken, recognised } = facts;
  const alive: StaysAlive[] = [];
  if (!reach.refreshTokens && tokensWithRefreshToken > 0) {
    alive.push({
      what: 'refresh_tokens',
      count: tokensWithRefreshToken,
      why: 'They mint new access tokens, and only access tokens are revoked.',
      remedy:
        'Leave --access-only out. Those that have lost their access token go with --user, --application or --all, and with `tokenctl tokens cleanup`.',
    });
  }
  if (!reach.sessions) {
    alive.push({
      what: 'sessions',
      count: null,
      why: 'Whoever is logged in in a browser stays so.',
      remedy: recognised.tellsSessions
        ? 'Add --with-sessions, or run `tokenctl sessions expire` with --user or --all.'
        : 'No table says whose a session is. Run `DELETE FROM django_session` in this database: it logs everybody out.',
    });
  }
  if ((await readSettings()).AUTH_BASIC_ENABLED) {
    const caution = basicAuthCaution(recognised.layout);
    alive.push({
      what: 'basic_authentication',
      count: null,
      why: 'The API accepts passwords: whoever has one needs no token, and can make new ones.',
      remedy: `Turn it off with \`tokenctl settings basic-auth off\`, and change the passwords that are known.${caution === null ? '' : ` ${caution}`}`,
    });
  }
  return alive;
}
