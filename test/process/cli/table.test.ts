import { describe, expect, test } from 'vitest';
import { entryListing } from '../../../src/cli/audit-log/entry-listing.ts';
import type { Token } from '../../../src/domain/token.ts';
import { type Listing, listing } from '../../../src/reports/tables/listing.ts';
import { tableLines } from '../../../src/reports/tables/table.ts';
import { noScreen, wrapped } from '../../../src/reports/tables/text.ts';
import { tokenListing } from '../../../src/reports/tables/token-view.ts';

const token: Token = {
  id: 1234,
  user: { id: 7, username: 'bo.karlsson.external' },
  application: { id: 3, name: 'Reporting for the finance department' },
  scope: 'read write',
  description: 'the nightly report of the finance department',
  created: new Date('2026-11-07T10:11:12Z'),
  expires: new Date('3026-11-07T10:11:12Z'),
  lastUsed: undefined,
  hasRefreshToken: true,
  fingerprint: null,
};

async function* only<T>(row: T): AsyncIterable<T> {
  yield row;
}

async function table<Row>(rows: Listing<Row>, width: number): Promise<string[]> {
  let text = '';
  for await (const block of tableLines(rows, { ...noScreen, width })) text += block;
  return text.trimEnd().split('\n');
}

describe('a list of tokens', () => {
  test('is whole where there is room', async () => {
    const [heading, row] = await table(tokenListing(only(token)), Number.POSITIVE_INFINITY);
    expect(heading).toMatch(/^ID +USER +APPLICATION +SCOPE +CREATED +EXPIRES +REFRESH_TOKEN +DESCRIPTION$/);
    expect(row).toContain('2026-11-07T10:11:12Z');
    expect(row).toContain('never (3026)');
    expect(row).not.toContain('…');
  });

  test('on 80 columns keeps users and days whole', async () => {
    const lines = await table(tokenListing(only(token)), 80);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(lines[0]).toMatch(/^ID +USER +APPLI\S* +SCOPE +CREATED +EXPIRES$/);
    expect(lines[1]).toMatch(
      /^1234 +bo\.karlsson\.external +Reporting\S*.*… +read write +2026-11-07 +never$/,
    );
  });

  test.each([20, 40, 60, 79, 100, 120])('is never wider than %i columns', async (width) => {
    // Six columns cannot be narrower than this.
    const least = 6 * 8 - 2;
    const lines = await table(tokenListing(only(token)), width);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(Math.max(width, least));
  });
});

test('a name of wide characters is whole where there is room, and broken by the columns that it takes', async () => {
  const username = '山田太郎山田太郎かな';
  const wide = { ...token, user: { id: 7, username } };
  const [, row] = await table(tokenListing(only(wide)), Number.POSITIVE_INFINITY);
  expect(row).toContain(`${username}  `);
  expect(wrapped(`${username} of Reporting`, 8)).toEqual([
    '山田太郎',
    '山田太郎',
    'かな of',
    'Reportin',
    'g',
  ]);
});

test('the data of a log entry goes below it, and none of it is lost', async () => {
  const entry = {
    v: 1,
    seq: 12,
    at: '2026-11-07T10:11:12.345Z',
    previous: '0'.repeat(64),
    kind: 'intent',
    operation: 'settings.external-tokens',
    run: '00000000-0000-0000-0000-000000000000',
    actor: { user: 'root', host: 'bastion.example.org', as: 'admin' },
    target: { context: 'production' },
    data: { reason: 'x'.repeat(100), ticket: 'SEC-9' },
  };
  const rows = only(entry) as unknown as Parameters<typeof entryListing>[0];
  const [heading, below, row, ...data] = await table(entryListing(rows, 'audit.jsonl'), 80);
  expect(heading).toMatch(/^SEQ +AT +KIND +OPERATION +ACTOR +TARGET$/);
  expect(below).toBe('  DATA');
  expect(row).toContain('2026-11-07T10:11:12Z');
  expect(data.every((line) => line.startsWith('  ') && line.length <= 80)).toBe(true);
  expect(data.map((line) => line.trim()).join('')).toBe(JSON.stringify(entry.data));
});

test.each([80, Number.POSITIVE_INFINITY])(
  'no id is cut in a list of very many, at width %d',
  async (width) => {
    async function* many(): AsyncIterable<Token> {
      for (const first of [1, 99_990, 1_234_567_890])
        for (let id = first; id < first + 600; id += 1) yield { ...token, id };
    }
    const rows = (await table(tokenListing(many()), width)).filter((line) => /^\d/.test(line));
    expect(rows).toHaveLength(1800);
    for (const row of rows) {
      expect(row).toMatch(/^\d+ {2,}\S/);
      expect(row.length).toBeLessThanOrEqual(width);
    }
  },
);

test('a table that is as wide as the terminal is not narrowed', async () => {
  const rows = listing({
    rows: ['a'.repeat(30)],
    columns: [
      { name: 'one', cell: (row: string) => row, short: () => 'short' },
      { name: 'two', cell: (row: string) => row, narrow: 'below' },
    ],
    json: (row) => row,
    none: '',
  });
  expect(await table(rows, 62)).toEqual([
    expect.stringMatching(/^ONE +TWO$/),
    `${'a'.repeat(30)}  ${'a'.repeat(30)}`,
  ]);
  expect(await table(rows, 61)).toEqual(['ONE', '  TWO', 'short', `  ${'a'.repeat(30)}`]);
});

test.each([
  ['fits', 10, ['fits']],
  ['', 10, ['']],
  ['broken at spaces', 10, ['broken at', 'spaces']],
  ['{"a":1,"b":2}', 8, ['{"a":1,', '"b":2}']],
  ['0123456789', 4, ['0123', '4567', '89']],
  ['abcd efgh', 4, ['abcd', 'efgh']],
  ['done in 0.3 s', 11, ['done in', '0.3 s']],
  ['after 12 stops', 9, ['after 12', 'stops']],
  ['0.3 s', 4, ['0.3', 's']],
])('%j wraps at %i', (text, width, parts) => {
  expect(wrapped(text, width)).toEqual(parts);
});
