import type { Runtime } from '../../app/runtime.ts';
import { readRefreshLifetime } from '../../operations/scope/known-settings.ts';
import type { ListedRefreshToken } from '../../operations/tokens/list-refresh-tokens.ts';
import { type Listing, listing, ownerColumn, timeColumn } from '../../reports/tables/listing.ts';
import { writeNotice } from '../output/streams.ts';

/** The lifetime of refresh tokens, in seconds; if it is unreadable, says on stderr what that means. */
export async function refreshLifetime(runtime: Runtime): Promise<number | null> {
  const target = await runtime.target();
  if (target.refreshTokens === undefined) return null;
  const lifetime = await readRefreshLifetime(target);
  if (lifetime === null) {
    writeNotice(
      'REFRESH_TOKEN_EXPIRE_SECONDS cannot be read here: expired refresh tokens are listed as live.',
    );
  }
  return lifetime;
}

export function refreshTokenListing(
  rows: AsyncIterable<ListedRefreshToken>,
): Listing<ListedRefreshToken, ListedRefreshToken> {
  return listing<ListedRefreshToken, ListedRefreshToken>({
    rows,
    columns: [
      { name: 'id', cell: ({ id }) => String(id), whole: true },
      ownerColumn(),
      { name: 'application', cell: ({ application }) => application?.name ?? '' },
      { name: 'state', cell: ({ state }) => state, whole: true },
      timeColumn('created', ({ created }) => created),
      timeColumn('expires', ({ expires }) => expires, { only: 'unlessEmpty' }),
      timeColumn('revoked', ({ revoked }) => revoked, { only: 'unlessEmpty' }),
      {
        name: 'access_token',
        cell: ({ accessTokenId }) => (accessTokenId === null ? '' : String(accessTokenId)),
        whole: true,
      },
      { name: 'fingerprint', cell: ({ fingerprint }) => fingerprint ?? '', only: 'csv' },
    ],
    json: (token) => token,
    none: 'No refresh tokens.',
  });
}
