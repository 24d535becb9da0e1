import type { Queryable } from '../../db/database.ts';
import type { Outcome } from '../../domain/plan.ts';
import type { RightsPurpose } from '../../operations/ports/target.ts';
import { inChunks, isUnanswered } from './chunks.ts';
import type { Connection } from './connection.ts';
import {
  deleteRefreshTokens,
  type EndedRow,
  readLiveRefreshIds,
  revokeRefreshTokens,
} from './queries/end-refresh-tokens.ts';
import { type RevokedRow, revokeTokens } from './queries/revoke-tokens.ts';
import { readPresentIds } from './queries/token-deletion.ts';
import { TABLES } from './tables.ts';

/** How many tokens one transaction takes: some 50 ms of work, that nobody waits for long. */
export const AT_ONCE = 2000;

/** Which tokens to end. */
interface Ending {
  readonly ids: readonly number[];
  /** For how long tokens that others hold are tried again, in milliseconds. */
  readonly patience: number;
}

/** Revokes access tokens, each with its refresh token where that is meant, and yields what became of each. */
export function revokeAccessTokens(
  connection: Connection,
  options: Ending & { readonly withRefreshTokens: boolean },
): AsyncGenerator<Outcome, void> {
  const { layout } = connection;
  const { accessTokens: table } = TABLES[layout];
  const { withRefreshTokens } = options;
  return outcomes(connection, {
    ...options,
    purpose: 'revoke',
    end: async (database, ids) =>
      (await revokeTokens(database, { layout, ids, withRefreshTokens })).map(revoked),
    stillThere: (database, ids) => readPresentIds(database, { table, ids }),
  });
}

/** Revokes refresh tokens, each with the access token beside it. One that is revoked is unchanged. */
export function endRefreshTokens(connection: Connection, options: Ending): AsyncGenerator<Outcome, void> {
  const { layout } = connection;
  return outcomes(connection, {
    ...options,
    purpose: 'revoke',
    end: async (database, ids) => (await revokeRefreshTokens(database, { layout, ids })).map(ended),
    stillThere: (database, ids) => readLiveRefreshIds(database, { layout, ids }),
  });
}

/** Deletes the rows of refresh tokens, live or not. */
export function removeRefreshTokens(connection: Connection, options: Ending): AsyncGenerator<Outcome, void> {
  const { layout } = connection;
  const { refreshTokens: table } = TABLES[layout];
  return outcomes(connection, {
    ...options,
    purpose: 'cleanup',
    end: async (database, ids) => (await deleteRefreshTokens(database, { layout, ids })).map(ended),
    stillThere: (database, ids) => readPresentIds(database, { table, ids }),
  });
}

/** Outcomes of ending tokens in chunks: what is neither ended nor still there was gone already. */
async function* outcomes(
  connection: Connection,
  options: Ending & {
    readonly purpose: RightsPurpose;
    readonly end: (database: Queryable, ids: readonly number[]) => Promise<readonly Outcome[]>;
    readonly stillThere: (database: Queryable, ids: readonly number[]) => Promise<readonly number[]>;
  },
): AsyncGenerator<Outcome, void> {
  const { ids, patience, purpose, end, stillThere } = options;
  const { left, stopped } = yield* inChunks<number, Outcome>({
    connection,
    purpose,
    items: ids,
    size: AT_ONCE,
    patience,
    act: async (database, chunk) =>
      new Map((await end(database, chunk)).map((outcome) => [outcome.tokenId, outcome])),
    held: stillThere,
    absent: (tokenId) => ({ tokenId, result: 'unchanged' }),
  });
  for (const { item, reason } of left) yield { tokenId: item, result: 'failed', reason };
  if (stopped === null) return;
  if (isUnanswered(stopped.error)) yield* stopped.underWay.map(unanswered);
  throw stopped.error;
}

function revoked({ id, fingerprint, refresh_id, refresh_fingerprint }: RevokedRow): Outcome {
  const refreshToken =
    refresh_id === null || refresh_fingerprint === null
      ? undefined
      : { id: refresh_id, fingerprint: refresh_fingerprint };
  return { tokenId: id, fingerprint, result: 'revoked', ...(refreshToken && { refreshToken }) };
}

function ended({ id, fingerprint }: EndedRow): Outcome {
  return { tokenId: id, fingerprint, result: 'revoked' };
}

function unanswered(tokenId: number): Outcome {
  return {
    tokenId,
    result: 'failed',
    reason: 'the connection to the database was lost, so that it may be revoked or not',
  };
}
