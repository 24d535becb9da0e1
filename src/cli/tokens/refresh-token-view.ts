import type { Runtime } from '../../app/runtime.ts';
import type { ApplicationReference, RefreshTokenState, UserReference } from '../../domain/token.ts';
import { readRefreshLifetime } from '../../operations/settings/known-settings.ts';
import type { ListedRefreshToken } from '../../operations/tokens/list-refresh-tokens.ts';
import { type Listing, listing, ownerColumn, timeColumn } from '../../reports/tables/listing.ts';
import { writeNotice } from '../output/streams.ts';

/**
 * The lifetime of refresh tokens, in seconds. Where it cannot be read, says on stderr what that means for a list.
 *
 * @throws TokenctlError whatever the target throws.
 */
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

/** A refresh token as `--json` shows it. */
export interface RefreshTokenJson {
  readonly id: number;
  /** Null if the owner was deleted. */
  readonly user: UserReference | null;
  readonly application: ApplicationReference | null;
  readonly state: RefreshTokenState;
  readonly created: Date;
  /** Null if the lifetime of refresh tokens is not known. */
  readonly expires: Date | null;
  /** Null for one that is not revoked. */
  readonly revoked: Date | null;
  /** Null for an orphaned one. */
  readonly accessTokenId: number | null;
  /** First 12 hex digits of the SHA-256 of the token; null where the target does not tell. */
  readonly fingerprint: string | null;
}

/** The JSON form of a refresh token, with times in ISO 8601 UTC. */
function refreshTokenToJson(token: ListedRefreshToken): RefreshTokenJson {
  const { id, user, application, created, revoked, accessTokenId, fingerprint, state, expires } = token;
  return {
    id,
    user: user === null ? null : { id: user.id, username: user.username },
    application: application === null ? null : { id: application.id, name: application.name },
    state,
    created,
    expires,
    revoked,
    accessTokenId,
    fingerprint,
  };
}

export function refreshTokenListing(
  rows: AsyncIterable<ListedRefreshToken>,
): Listing<ListedRefreshToken, RefreshTokenJson> {
  return listing<ListedRefreshToken, RefreshTokenJson>({
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
    json: refreshTokenToJson,
    none: 'No refresh tokens.',
  });
}
