import pg from 'pg';

/** The SQLSTATE of what a PostgreSQL server refused; null for an error that is none of the server's. */
export function sqlState(error: unknown): string | null {
  return error instanceof pg.DatabaseError ? (error.code ?? null) : null;
}
