import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { openPostgres } from '@tokenctl/common/db/postgres.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import pg from 'pg';
import { LAYOUTS, makeTables } from '../../test/support/controller-tables.ts';
import { type EstateSize, fillEstate } from '../../test/support/token-estate.ts';

/** A server's databases for benchmarks: templates filled once, and copies to spend. */
export class Estates {
  readonly #admin: pg.Client;
  readonly #url: string;
  #copies = 0;

  private constructor(admin: pg.Client, url: string) {
    this.#admin = admin;
    this.#url = url;
  }

  static async connect(url: string): Promise<Estates> {
    const admin = new pg.Client({ connectionString: url });
    await admin.connect();
    return new Estates(admin, url);
  }

  /** Whose tables {@link fill} makes: a real controller's where they are at hand, else the service's. */
  static readonly layout = LAYOUTS[0] ?? 'service';

  /** Makes a template with that many tokens. */
  async fill(name: string, size: EstateSize): Promise<void> {
    await this.#admin.query(`CREATE DATABASE ${name}`);
    const database = await openPostgres({
      url: new Secret(this.url(name)),
      applicationName: 'bench',
      responseTimeout: 600_000,
    });
    await makeTables(database, Estates.layout);
    await fillEstate(database, size);
    await database.execute('VACUUM ANALYZE');
    await database.close();
  }

  /** A fresh copy of a template, with nothing left to write: its URL. */
  async copy(template: string): Promise<string> {
    this.#copies += 1;
    const name = `${template}_copy_${this.#copies}`;
    await this.#admin.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
    await this.#admin.query('CHECKPOINT');
    return this.url(name);
  }

  async drop(url: string): Promise<void> {
    await this.#admin.query(`DROP DATABASE ${new URL(url).pathname.slice(1)} WITH (FORCE)`);
  }

  url(name: string): string {
    const url = new URL(this.#url);
    url.pathname = `/${name}`;
    return url.href;
  }

  close(): Promise<void> {
    return this.#admin.end();
  }
}

const run = promisify(execFile);

/** Runs psql as a whole process, its output thrown away: `sql` from its command line. Where it is missing, says what to install. */
export async function psql(url: string, sql: string): Promise<void> {
  try {
    await run('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-d', url, '-c', sql]);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    throw new Error('psql is the reference of this benchmark: install it (postgresql-client)', {
      cause: error,
    });
  }
}
