import { join, resolve } from 'node:path';
import { TokenctlError } from '../domain/errors.ts';
import type { Database, Queryable } from './database.ts';
import { tryLock } from './file-lock.ts';
import { makeFolder } from './make-folder.ts';

type PGlite = import('@electric-sql/pglite').PGlite;
type Connection = Pick<PGlite, 'query'>;

function queryable(connection: Connection): Queryable {
  return {
    async query<R extends object>(sql: string, values: readonly unknown[] = []) {
      return (await connection.query<R>(sql, [...values])).rows;
    },
    async execute(sql, values = []) {
      const result = await connection.query(sql, [...values]);
      return result.affectedRows ?? 0;
    },
  };
}

/**
 * Opens the embedded database (PGlite: PostgreSQL in this process) in a folder of its own, which is made
 * if need be and locked against a second process: two of them would lose rows without a word. Nothing is
 * fsynced: it is for trying, for tests and for small installations.
 *
 * @param folder Where its files live; null keeps everything in memory.
 * @throws TokenctlError `busy` where another process has it open, `database_unreachable` where it cannot
 *   be opened.
 */
export async function openEmbedded(folder: string | null): Promise<Database> {
  const { PGlite } = await import('@electric-sql/pglite');
  const release = folder === null ? () => undefined : await lockFolder(folder);
  let engine: PGlite;
  try {
    engine = await PGlite.create(folder === null ? undefined : join(folder, 'pgdata'));
  } catch (cause) {
    release();
    throw new TokenctlError(
      'database_unreachable',
      `The embedded database in ${folder ?? 'memory'} could not be opened`,
      {
        cause,
        hint: 'If the folder was copied or damaged, restore it or start with an empty one.',
      },
    );
  }
  return {
    kind: 'embedded',
    ...queryable(engine),
    transaction: (work) => engine.transaction((transaction) => work(queryable(transaction))),
    async script(sql) {
      await engine.exec(sql);
    },
    async close() {
      try {
        await engine.close();
      } finally {
        release();
      }
    },
  };
}

async function lockFolder(folder: string): Promise<() => void> {
  try {
    await makeFolder(resolve(folder));
    const held = tryLock(join(folder, 'lock'));
    if (held !== null) return () => held.release();
  } catch (cause) {
    throw new TokenctlError('database_unreachable', `The data folder ${folder} cannot be written`, {
      cause,
      hint: 'Choose another folder, or make it writable for this user.',
    });
  }
  throw new TokenctlError('busy', `The data folder ${folder} is in use by another process`, {
    hint: 'Stop the other one, or choose another folder.',
  });
}
