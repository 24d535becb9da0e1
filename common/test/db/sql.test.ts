import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { identifier, joined, literal, type Sql, shared, sql } from '../../src/db/sql.ts';

/** Statements of any depth, each with the values in their order. */
const statements: fc.Arbitrary<{ readonly statement: Sql; readonly values: readonly unknown[] }> = fc.letrec(
  (tie) => ({
    statement: fc.oneof({ maxDepth: 4 }, tie('leaf'), tie('node'), tie('list')),
    leaf: fc.anything().map((value) => ({ statement: sql`x = ${value}`, values: [value] })),
    node: fc.tuple(tie('statement'), tie('statement'), fc.anything()).map(([a, b, value]) => {
      const [one, other] = [a, b] as { statement: Sql; values: readonly unknown[] }[];
      return {
        statement: sql`(${one?.statement}) OR y = ${value} AND (${other?.statement})`,
        values: [...(one?.values ?? []), value, ...(other?.values ?? [])],
      };
    }),
    list: fc.array(tie('statement'), { maxLength: 4 }).map((all) => {
      const parts = all as { statement: Sql; values: readonly unknown[] }[];
      return {
        statement: joined(parts.map(({ statement }) => statement)),
        values: parts.flatMap(({ values }) => values),
      };
    }),
  }),
).statement as never;

describe('sql', () => {
  it('makes a parameter of every value, in order, and text of none', () => {
    fc.assert(
      fc.property(statements, ({ statement, values }) => {
        expect(statement.values).toEqual(values);
        // The text is of this file's pieces and of the numbers of the parameters only.
        expect(statement.text.replace(/\$\d+/g, '')).toMatch(/^[xyORAND=() ,]*$/);
        const numbers = [...statement.text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number));
        expect(numbers).toEqual(values.map((_value, index) => index + 1));
      }),
    );
  });

  it('takes what only looks like a part for a value', () => {
    const part = sql`TRUE`;
    const copies = [
      { ...part },
      JSON.parse(JSON.stringify(part)),
      { texts: ['1; DROP TABLE x'], values: [] },
    ];
    for (const copy of copies) {
      const statement = sql`SELECT ${copy}`;
      expect(statement.text).toBe('SELECT $1');
      expect(statement.values).toEqual([copy]);
    }
  });

  it('puts parts between texts as they are', () => {
    const condition = sql`a = ${1} OR b = ${'two'}`;
    const statement = sql`SELECT ${identifier('t.limit')} FROM t WHERE (${condition}) LIMIT ${literal(3)}`;
    expect(statement.text).toBe('SELECT "t"."limit" FROM t WHERE (a = $1 OR b = $2) LIMIT 3');
    expect(joined([]).text).toBe('');
    expect(joined([condition, sql`c`], ' AND ').text).toBe('a = $1 OR b = $2 AND c');
  });

  it('is no text where the tag is forgotten', () => {
    const condition: unknown = sql`a = ${1}`;
    expect(() => `SELECT 1 WHERE ${condition}`).toThrow('put together by sql');
  });

  it('sends a shared value once, wherever it stands, and an equal one again', async () => {
    const [ids, same] = [shared([7]), [7]];
    const part = sql`b = ANY(${ids})`;
    const statement = sql`a = ANY(${ids}) OR ${part} OR c = ANY(${same}) OR d = ${false} OR e = ANY(${ids})`;
    const sent: unknown[] = [];
    const database = {
      query: <R extends object>(text: string, values: readonly unknown[] = []) => {
        sent.push(text, values);
        return Promise.resolve<R[]>([]);
      },
      execute: () => Promise.resolve(0),
    };
    await statement.rows(database);
    expect(sent).toEqual([
      'a = ANY($1) OR b = ANY($1) OR c = ANY($2) OR d = $3 OR e = ANY($1)',
      [[7], [7], false],
    ]);
  });

  it('refuses names and literals that are none', () => {
    for (const text of ['', '.', 'a.', 'a b', 'A', '1a', 'a"', "a'", 'a;', 'a\n', 'ä', '$1', 'a--', 'x.*']) {
      expect(() => identifier(text)).toThrow('no name in SQL');
    }
    for (const text of ["it's", '\\', '"', 'a\n', '$1', 'ä'])
      expect(() => literal(text)).toThrow('no literal');
    for (const number of [0.5, Number.NaN, 2 ** 53]) expect(() => literal(number)).toThrow('no literal');
    expect(literal('Machine type').text).toBe("'Machine type'");
  });
});
