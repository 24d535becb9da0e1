import type { Queryable } from './database.ts';

/** A statement or a part of one: its texts, and the values between them. Only the functions in this file create one. */
class Statement {
  readonly texts: readonly string[];
  readonly values: readonly unknown[];
  readonly #name: string | undefined;

  constructor(texts: readonly string[], values: readonly unknown[], name?: string) {
    this.texts = texts;
    this.values = values;
    this.#name = name;
  }

  /** With `$1` and so on instead of the values. */
  get text(): string {
    return this.#numbered().text;
  }

  #numbered(): { readonly text: string; readonly parameters: readonly unknown[] } {
    let text = this.texts[0] ?? '';
    const parameters: unknown[] = [];
    const numbers = new Map<Shared, number>();
    for (const [index, value] of this.values.entries()) {
      const isShared = value instanceof Shared;
      const number = (isShared && numbers.get(value)) || parameters.push(isShared ? value.value : value);
      if (isShared) numbers.set(value, number);
      text += `$${number}${this.texts[index + 1]}`;
    }
    return { text, parameters };
  }

  /** In a template without the tag, a part would become text that is not SQL. */
  [Symbol.toPrimitive](): never {
    throw new Error('A statement is put together by sql`…` only; .text is its text');
  }

  /** The same with a name: see {@link Queryable.query}. */
  prepared(name: string): Statement {
    return new Statement(this.texts, this.values, name);
  }

  rows<R extends object>(database: Queryable): Promise<R[]> {
    const { text, parameters } = this.#numbered();
    return database.query<R>(text, parameters, this.#name);
  }

  async ids(database: Queryable): Promise<number[]> {
    return (await this.rows<{ id: number }>(database)).map(({ id }) => id);
  }

  async first<R extends object>(database: Queryable): Promise<R | null> {
    const [row] = await this.rows<R>(database);
    return row ?? null;
  }

  async exists(database: Queryable): Promise<boolean> {
    return (await this.rows(database)).length > 0;
  }

  /** Runs it and returns the number of affected rows. */
  execute(database: Queryable): Promise<number> {
    const { text, parameters } = this.#numbered();
    return database.execute(text, parameters);
  }

  /** Runs it and returns whether it affected exactly one row. */
  async touchesOne(database: Queryable): Promise<boolean> {
    return (await this.execute(database)) === 1;
  }
}

export type Sql = Statement;

class Shared {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }
}

/** A value that occurs several times in a statement but is sent once, such as a list of thousands of ids. */
export function shared(value: unknown): Shared {
  return new Shared(value);
}

/** A statement or a part. A value in `${}` is always sent as a parameter; only other parts are inserted as SQL. */
export function sql(strings: TemplateStringsArray, ...parts: readonly unknown[]): Sql {
  return concatenated(strings, parts);
}

function concatenated(strings: readonly string[], parts: readonly unknown[]): Sql {
  const texts = [strings[0] ?? ''];
  const values: unknown[] = [];
  const add = (text = '') => texts.push(`${texts.pop()}${text}`);
  for (const [index, part] of parts.entries()) {
    if (part instanceof Statement) {
      const [first, ...others] = part.texts;
      add(first);
      texts.push(...others);
      values.push(...part.values);
    } else {
      texts.push('');
      values.push(part);
    }
    add(strings[index + 1]);
  }
  return new Statement(texts, values);
}

/** Parts with a separator between them; empty for no parts. */
export function joined(
  parts: readonly Sql[],
  separator: ', ' | ' ' | ' AND ' | ' OR ' | ' | ' | ' UNION ALL ' = ', ',
): Sql {
  return concatenated(['', ...parts.slice(1).map(() => separator), ''], parts);
}

const NAME = /^[a-z_][a-z0-9_]*$/;

/** The name of a table or column, optionally with an alias and a dot. Throws unless of letters, digits and `_`. */
export function identifier(text: string): Sql {
  const parts = text.split('.');
  if (!parts.every((part) => NAME.test(part))) throw new Error(`no name in SQL: ${JSON.stringify(text)}`);
  return new Statement([parts.map((part) => `"${part}"`).join('.')], []);
}

/**
 * A word or integer of this program as text in a statement, for cases in which a parameter would keep
 * PostgreSQL from planning a prepared statement once. Throws for anything else.
 */
export function literal(value: string | number): Sql {
  const isPlain = typeof value === 'number' ? Number.isSafeInteger(value) : /^[\w ]*$/.test(value);
  if (!isPlain) throw new Error(`no literal in SQL: ${JSON.stringify(value)}`);
  return new Statement([typeof value === 'number' ? String(value) : `'${value}'`], []);
}
