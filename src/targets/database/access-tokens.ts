import type { Selector } from '../../domain/selector.ts';
import type { Token } from '../../domain/token.ts';
import type { Connection } from './connection.ts';
import { instant, instantOrNull } from './instants.ts';
import { idPages } from './pages.ts';
import { readTokenPage, type TokenRow } from './queries/access-tokens.ts';
import { idsOfNames, RowReferences } from './row-references.ts';

/** Streams the access tokens that a selector names, ascending by id. */
export async function* listTokens(connection: Connection, selector: Selector): AsyncGenerator<Token, void> {
  const { all: _, users, applications, ...rest } = selector;
  const criteria = { ...rest, ...(await idsOfNames(connection, { users, applications })) };
  const { layout } = connection;
  const pages = idPages(criteria.ids, (after, ids) =>
    connection.ask('read', (database) =>
      readTokenPage(database, { layout, after, criteria: { ...criteria, ids } }),
    ),
  );
  const references = new RowReferences(layout);
  for await (const rows of pages) {
    await references.learn(connection, rows);
    for (const row of rows) yield tokenOf(row, references);
  }
}

function tokenOf(row: TokenRow, references: RowReferences): Token {
  return {
    id: row.id,
    user: references.owner(row),
    application: references.application(row),
    scope: row.scope,
    description: row.description,
    created: instant(row.created),
    expires: instant(row.expires),
    lastUsed: instantOrNull(row.last_used),
    hasRefreshToken: row.has_refresh_token,
    fingerprint: row.fingerprint,
  };
}
