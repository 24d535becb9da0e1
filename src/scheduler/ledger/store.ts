import type { Queryable } from '../../db/database.ts';

/** A database that keeps the ledger, made and up to date. */
export interface LedgerStore {
  /** The database's own time in milliseconds since 1970, as an SQL expression. */
  readonly now: string;
  /**
   * Runs `work` in one transaction, in which what it reads does not change under it unless it says so.
   *
   * @throws TokenctlError `database_unreachable`.
   */
  transaction<T>(work: (queryable: Queryable) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}
