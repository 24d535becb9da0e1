import type { Queryable } from '../../db/database.ts';
import { type PostgresDatabase, sqlState } from '../../db/postgres.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { RightsPurpose } from '../../operations/ports/target.ts';
import { databaseFailure } from './failures.ts';
import type { Layout, Recognised } from './layout.ts';
import { missingRights } from './rights.ts';

/** How many tables and grants an error names; all are in its details. */
const SHOWN = 4;

/** A database that was opened and recognised. */
export class Connection {
  readonly database: PostgresDatabase;
  readonly recognised: Recognised;

  constructor(database: PostgresDatabase, recognised: Recognised) {
    this.database = database;
    this.recognised = recognised;
  }

  get layout(): Layout {
    return this.recognised.layout;
  }

  /** `postgresql://host:port/database`. */
  get address(): string {
    return this.database.address;
  }

  /**
   * Runs queries.
   *
   * @param purpose What they are for: it is told with a right that is missing.
   * @throws TokenctlError in a target's terms.
   */
  async ask<T>(purpose: RightsPurpose, work: (database: Queryable) => Promise<T>): Promise<T> {
    try {
      return await work(this.database);
    } catch (error) {
      throw await this.failure(purpose, error);
    }
  }

  /** Runs queries in one transaction. Fails as {@link ask} does. */
  async change<T>(purpose: RightsPurpose, work: (transaction: Queryable) => Promise<T>): Promise<T> {
    try {
      return await this.database.transaction(work);
    } catch (error) {
      throw await this.failure(purpose, error);
    }
  }

  /** What a failure means, in a target's terms; what would have to be granted, where that is it. */
  async failure(purpose: RightsPurpose, error: unknown): Promise<unknown> {
    const failure = databaseFailure(error, this.address);
    if (sqlState(error) !== '42501' || !(failure instanceof TokenctlError)) return failure;
    const purposes = purpose === 'read' ? ['read' as const] : ['read' as const, purpose];
    const missing = await missingRights(this.database, this.layout, purposes).catch(() => []);
    const grants = [...new Set(missing.map(({ grant }) => grant))];
    const tables = [...new Set(grants.map((grant) => / ON (?:SEQUENCE )?(\S+) TO /.exec(grant)?.[1] ?? ''))];
    return new TokenctlError(
      failure.code,
      tables.length === 0
        ? failure.message
        : `${this.address} does not give this role enough rights on ${firstOf(tables)}`,
      {
        hint:
          grants.length === 0 || grants.length > SHOWN
            ? 'Ask who administers the database: `tokenctl context check` prints what has to be granted.'
            : `Have it granted: \`${grants.join('; ')};\``,
        cause: error,
        ...(failure.details !== undefined && { details: { ...failure.details, grants } }),
      },
    );
  }
}

function firstOf(tables: readonly string[]): string {
  const rest = tables.length - SHOWN;
  return rest <= 0 ? tables.join(', ') : `${tables.slice(0, SHOWN).join(', ')} and ${rest} more tables`;
}
