import { type RefreshToken, refreshTokenState } from '../../domain/token.ts';
import { type Listing, listing } from '../../reports/tables/result.ts';
import { dayText, timeText } from '../../reports/tables/text.ts';

/** The JSON form of a refresh token, with times in ISO 8601 UTC. */
function refreshTokenToJson(token: RefreshToken): object {
  const { id, user, application, created, revoked, accessTokenId, fingerprint } = token;
  return {
    id,
    user: user === null ? null : { id: user.id, username: user.username },
    application: application === null ? null : { id: application.id, name: application.name },
    state: refreshTokenState(token),
    created: created.toISOString(),
    revoked: revoked?.toISOString() ?? null,
    accessTokenId,
    fingerprint,
  };
}

/** The result of `refresh-tokens list`. */
export function refreshTokenListing(rows: AsyncIterable<RefreshToken>): Listing<RefreshToken> {
  return listing<RefreshToken>({
    rows,
    columns: [
      { name: 'id', cell: ({ id }) => String(id), whole: true },
      {
        name: 'user',
        cell: ({ user }) => user?.username ?? '(none)',
        csv: ({ user }) => user?.username ?? '',
        whole: true,
      },
      { name: 'application', cell: ({ application }) => application?.name ?? '' },
      { name: 'state', cell: (token) => refreshTokenState(token), whole: true },
      {
        name: 'created',
        cell: ({ created }) => timeText(created),
        short: ({ created }) => dayText(created),
        whole: true,
      },
      {
        name: 'revoked',
        cell: ({ revoked }) => (revoked === null ? '' : timeText(revoked)),
        short: ({ revoked }) => (revoked === null ? '' : dayText(revoked)),
        only: 'unlessEmpty',
        whole: true,
      },
      {
        name: 'access_token',
        cell: ({ accessTokenId }) => (accessTokenId === null ? '' : String(accessTokenId)),
        whole: true,
      },
      { name: 'fingerprint', cell: ({ fingerprint }) => fingerprint ?? '', only: 'csv' },
    ],
    json: refreshTokenToJson,
    none: 'No refresh tokens.',
  });
}
