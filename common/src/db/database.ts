/** A row by column name. Times are `Date`, int8 is `number`, jsonb is parsed JSON. */
type Row = Record<string, unknown>;

/** Runs statements: a database, or one of its transactions. */
export interface Queryable {
  /**
   * Runs one statement with `$1` parameters, and returns its rows.
   * @param prepared A name for a very frequent statement: PostgreSQL then parses and plans it once per
   * connection. Each name has only one text, so there are few of them.
   */
  query<R extends object = Row>(sql: string, values?: readonly unknown[], prepared?: string): Promise<R[]>;
  /** Runs one statement and returns the number of affected rows. */
  execute(sql: string, values?: readonly unknown[]): Promise<number>;
}

/** A database: PostgreSQL, or the embedded one. Both give the same results. */
export interface Database extends Queryable {
  readonly kind: 'postgresql' | 'embedded';
  /**
   * Runs `work` in one transaction: committed when it returns, rolled back when it throws.
   * @param options `responseTimeout`: the timeout of each statement in milliseconds, if it differs from that
   * of other transactions.
   */
  transaction<T>(
    work: (transaction: Queryable) => Promise<T>,
    options?: { readonly responseTimeout?: number },
  ): Promise<T>;
  /** Runs a script of several statements without parameters, such as a migration. */
  script(sql: string): Promise<void>;
  /** How its connections are currently used, if it has several. */
  connections?(): { readonly total: number; readonly idle: number; readonly waiting: number };
  close(): Promise<void>;
}

/**
 * The keys of the advisory locks that processes take in a shared database. They are listed in one place
 * because two parts with the same key would wait for each other. Never change a released key: processes of
 * different versions share it.
 */
export const ADVISORY_LOCKS = {
  serviceMigration: 7_305_114_201,
  auditLogSchema: 7_305_114_202,
  auditLogAppend: 7_305_114_203,
  ledgerSchema: 7_305_114_204,
  signalsSchema: 7_305_114_205,
  brokerSchema: 7_305_114_206,
} as const;

/**
 * Takes a lock until the end of the transaction.
 * @param timeoutMs How long it waits for the lock, and each later statement for another one (SQLSTATE 55P03).
 * Any statement may take twice that (57014).
 */
export async function lockWithin(
  transaction: Queryable,
  lock: keyof typeof ADVISORY_LOCKS,
  timeoutMs: number,
): Promise<void> {
  const wait = Math.ceil(timeoutMs);
  await transaction.execute(
    `SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true),
      set_config('idle_in_transaction_session_timeout', $2, true)`,
    [String(wait), String(2 * wait)],
  );
  await transaction.execute('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCKS[lock]]);
}
