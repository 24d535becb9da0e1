import { AsyncLocalStorage } from 'node:async_hooks';
import { chmod, readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { TokenctlError } from '../errors.ts';
import type { Database, Queryable } from './database.ts';
import { makeFolder, tryLock } from './file-system.ts';

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
 * Opens the embedded database (PGlite: PostgreSQL in this process) in its own folder, which is created if
 * needed and locked against a second process: two processes would silently lose rows. Nothing is fsynced: it
 * is for trials, tests and small installations. The folder gets mode 0700, the database files mode 0600.
 * @param folder The folder of its files; null keeps everything in memory.
 * @throws TokenctlError `busy` if another process has it open, `database_unreachable` if it cannot be opened,
 * `configuration` for a folder with other files, or one that other users can write to.
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
      { cause, hint: 'If the directory was copied or damaged, restore it, or start with an empty one.' },
    );
  }
  const { query, execute } = queryable(engine);
  const current = new AsyncLocalStorage<{ isOpen: boolean }>();
  // The only connection: a statement outside the transaction that waits for it would wait forever.
  const requireOutside = () => {
    if (current.getStore()?.isOpen) throw new Error('a statement outside its transaction');
  };
  return {
    kind: 'embedded',
    async query<R extends object>(sql: string, values?: readonly unknown[]) {
      requireOutside();
      return query<R>(sql, values);
    },
    async execute(sql, values) {
      requireOutside();
      return execute(sql, values);
    },
    async transaction(work) {
      requireOutside();
      return engine.transaction(async (transaction) => {
        const mark = { isOpen: true };
        try {
          return await current.run(mark, () => work(queryable(transaction)));
        } finally {
          mark.isOpen = false;
        }
      });
    },
    async script(sql) {
      await engine.exec(sql);
    },
    async close() {
      try {
        await engine.close();
        if (folder !== null) await restrictFiles(join(folder, 'pgdata'));
      } finally {
        release();
      }
    },
  };
}

async function lockFolder(folder: string): Promise<() => void> {
  try {
    await makeFolder(resolve(folder));
    await requireOwnFolder(folder);
    await restrictFolder(folder);
    const held = tryLock(join(folder, 'lock'));
    if (held !== null) {
      await chmod(join(folder, 'lock'), 0o600);
      await makeFolder(join(resolve(folder), 'pgdata'));
      await restrictFiles(join(folder, 'pgdata'));
      return () => held.release();
    }
  } catch (cause) {
    if (cause instanceof TokenctlError) throw cause;
    throw new TokenctlError('database_unreachable', `Cannot write to the data directory ${folder}`, {
      cause,
      hint: 'Choose another directory, or make it writable for this user.',
    });
  }
  throw new TokenctlError('busy', `The data directory ${folder} is in use by another process`, {
    hint: 'Stop that process, or choose another directory.',
  });
}

/**
 * Refuses a folder with other programs' files: one that is neither empty nor has a lock and a database.
 * Before the database is created, the lock is the only file. A folder with only `pgdata` may be the cluster
 * of a PostgreSQL server, whose container image creates it.
 */
async function requireOwnFolder(folder: string): Promise<void> {
  // The root of a file system contains `lost+found`.
  const names = (await readdir(folder)).filter((name) => name !== 'lost+found');
  const isOwn = names.includes('lock') && (names.length === 1 || names.includes('pgdata'));
  if (names.length === 0 || isOwn) return;
  throw new TokenctlError('configuration', `The data directory ${folder} contains other files`, {
    hint: 'Specify a directory that is empty or does not exist.',
  });
}

const OTHERS_WRITE = 0o002;

/** Sets mode 0700. Refuses a folder that every user can write to. A folder of another owner is unchanged. */
async function restrictFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const { mode, uid } = await stat(folder);
  if ((mode & OTHERS_WRITE) !== 0) {
    throw new TokenctlError(
      'configuration',
      `Other users can write to the data directory ${folder} (mode ${(mode & 0o7777).toString(8).padStart(4, '0')})`,
      { hint: `Choose another directory, or run: chmod 700 '${folder}'.` },
    );
  }
  if (uid === process.getuid?.()) await chmod(folder, 0o700);
}

/** Sets mode 0700 for folders and 0600 for files: PGlite creates its files with mode 0666, whatever the umask. */
async function restrictFiles(folder: string): Promise<void> {
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) await chmod(path, 0o700);
    else if (entry.isFile()) await chmod(path, 0o600);
  }
}
