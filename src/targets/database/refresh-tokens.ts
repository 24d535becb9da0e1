import type { RefreshToken } from '../../domain/token.ts';
import type { RefreshTokenSelector } from '../../operations/ports/target.ts';
import type { Connection } from './connection.ts';
import { instant, instantOrNull } from './instants.ts';
import { idPages } from './pages.ts';
import { type RefreshTokenRow, readRefreshTokenPage } from './queries/refresh-tokens.ts';
import { idsOfNames, RowReferences } from './row-references.ts';

/** Streams the refresh tokens that a selector names, ascending by id. */
export async function* listRefreshTokens(
  connection: Connection,
  selector: RefreshTokenSelector,
): AsyncGenerator<RefreshToken, void> {
  const { users, applications, ...rest } = selector;
  const criteria = { ...rest, ...(await idsOfNames(connection, { users, applications })) };
  const { layout } = connection;
  const pages = idPages(criteria.ids, (after, ids) =>
    connection.ask('read', (database) =>
      readRefreshTokenPage(database, { layout, after, criteria: { ...criteria, ids } }),
    ),
  );
  const references = new RowReferences(layout);
  for await (const rows of pages) {
    await references.learn(connection, rows);
    for (const row of rows) yield refreshTokenOf(row, references);
  }
}

function refreshTokenOf(row: RefreshTokenRow, references: RowReferences): RefreshToken {
  return {
    id: row.id,
    user: references.owner(row),
    application: references.application(row),
    created: instant(row.created),
    revoked: instantOrNull(row.revoked),
    accessTokenId: row.access_token_id,
    fingerprint: row.fingerprint,
  };
}
