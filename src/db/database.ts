/** A row as a query names it. Times come as `Date`, int8 as `number`, jsonb as parsed JSON. */
type Row = Record<string, unknown>;

/** What statements can be run on: a database, or one transaction of it. */
export interface Queryable {
  /**
   * Runs one statement with `$1` parameters.
   *
   * @param prepared A name for the statement where it is run very often: PostgreSQL then parses and plans it
   *   once a connection. One name stands for one text, so that there are few of them.
   * @returns Its rows.
   */
  query<R extends object = Row>(sql: string, values?: readonly unknown[], prepared?: string): Promise<R[]>;
  /**
   * Runs one statement for its effect.
   *
   * @returns How many rows it touched.
   */
  execute(sql: string, values?: readonly unknown[]): Promise<number>;
}

/** A database: PostgreSQL, or the embedded one. Both give the same results. */
export interface Database extends Queryable {
  readonly kind: 'postgresql' | 'embedded';
  /**
   * Runs `work` in one transaction: committed when it returns, rolled back when it throws.
   *
   * @param options `responseTimeout`: how long a server may take to answer one statement, in milliseconds, where that differs
   *   from other transactions.
   */
  transaction<T>(
    work: (transaction: Queryable) => Promise<T>,
    options?: { readonly responseTimeout?: number },
  ): Promise<T>;
  /** Runs a script of several statements without parameters, as migrations are. */
  script(sql: string): Promise<void>;
  /** How its connections are used at present, where it has several. */
  connections?(): { readonly total: number; readonly idle: number; readonly waiting: number };
  close(): Promise<void>;
}
