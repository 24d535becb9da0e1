import type { Token } from '../../domain/token.ts';
import { type Column, type Listing, listing, ownerColumn, timeColumn } from './listing.ts';
import { dayText, expiryDayText, expiryText, timeText } from './text.ts';

export interface ListedToken extends Token {
  /** The day (UTC) of the last use if only that was read; null for never. */
  readonly lastUsedOn?: Date | null;
  /** The end that tokenctl gives it, if it is earlier than its expiry. */
  readonly lease?: { readonly id: string; readonly until: Date };
}

/** A token as `--json` shows it. */
export interface TokenJson extends Omit<ListedToken, 'refreshTokenCreated' | 'lastUsedOn'> {
  /** A day, `2026-11-22`, if the target does not show the time; null for never; missing if not read. */
  readonly lastUsedOn?: string | null;
}

/** The JSON form of a token, with members in the same order for any target. */
export function tokenToJson(token: ListedToken): TokenJson {
  const { id, user, application, scope, description, created, expires, lastUsed, ...rest } = token;
  const { lastUsedOn, hasRefreshToken, fingerprint, lease } = rest;
  return {
    ...{ id, user, application, scope, description, created, expires, lastUsed },
    ...(lastUsedOn !== undefined && { lastUsedOn: lastUsedOn && dayText(lastUsedOn) }),
    ...{ hasRefreshToken, fingerprint },
    ...(lease !== undefined && { lease }),
  };
}

const tokenColumns: readonly Column<ListedToken>[] = [
  { name: 'id', cell: ({ id }) => String(id), whole: true },
  ownerColumn(),
  {
    name: 'application',
    cell: ({ application }) => application?.name ?? '(personal)',
    csv: ({ application }) => application?.name ?? '',
  },
  { name: 'scope', cell: ({ scope }) => scope },
  timeColumn('created', ({ created }) => created),
  {
    name: 'expires',
    cell: (token) => expiryText(endOfListed(token)),
    csv: (token) => timeText(endOfListed(token)),
    short: ({ expires, lease }) => (lease === undefined ? expiryDayText(expires) : timeText(lease.until)),
    whole: true,
  },
  {
    name: 'ends_by',
    cell: ({ lease }) => (lease === undefined ? '' : 'lease'),
    csv: ({ lease }) => (lease === undefined ? 'stored' : 'lease'),
    only: 'unlessEmpty',
  },
  {
    name: 'last_used',
    cell: (token) => lastUsedText(token, timeText),
    short: (token) => lastUsedText(token, dayText),
    only: 'unlessEmpty',
    whole: true,
  },
  {
    name: 'refresh_token',
    cell: ({ hasRefreshToken }) => (hasRefreshToken ? 'yes' : ''),
    only: 'unlessEmpty',
    narrow: 'drop',
  },
  { name: 'fingerprint', cell: ({ fingerprint }) => fingerprint ?? '', only: 'csv' },
  { name: 'description', cell: ({ description }) => description, only: 'unlessEmpty', narrow: 'drop' },
];

/** When a token ends: by its lease, otherwise by its stored expiry. */
export function endOfListed({ expires, lease }: Pick<ListedToken, 'expires' | 'lease'>): Date {
  return lease?.until ?? expires;
}

function lastUsedText({ lastUsed, lastUsedOn }: ListedToken, asText: (time: Date) => string): string {
  if (lastUsed !== undefined) return lastUsed === null ? 'never' : asText(lastUsed);
  if (lastUsedOn === undefined) return '';
  return lastUsedOn === null ? 'never' : dayText(lastUsedOn);
}

export function tokenColumn(name: string): Column<ListedToken> {
  const column = tokenColumns.find((each) => each.name === name);
  if (column === undefined) throw new Error(`no column ${name}`);
  return column;
}

/** The column names of a token list, in their usual order. */
export const tokenColumnNames: readonly string[] = tokenColumns.map(({ name }) => name);

/** Tokens as a command's result, with these columns; default: the usual ones. */
export function tokenListing(
  rows: AsyncIterable<ListedToken>,
  names?: readonly string[],
): Listing<ListedToken, TokenJson> {
  const columns = names === undefined ? tokenColumns : names.flatMap(columnNamed);
  return listing({ rows, columns, json: tokenToJson, none: 'No tokens.' });
}

/** An explicitly requested column is shown, even if empty. */
function columnNamed(name: string): Column<ListedToken>[] {
  return tokenColumns
    .filter((column) => column.name === name)
    .map(({ only: _only, narrow: _narrow, ...column }) => column);
}
