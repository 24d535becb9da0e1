import { inject } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { Secret } from '../../src/domain/secret.ts';
import { createDatabase } from './embedded-postgres.ts';
import { openPrepared } from './embedded-template.ts';
import { kinds } from './runs.ts';

/** Opens a new, empty database of either kind. */
export const EMPTY_DATABASES = kinds([
  ['PostgreSQL', async (): Promise<Database> => openOn(await createDatabase(inject('postgresUrl')))],
  ['the embedded database', (): Promise<Database> => openPrepared()],
] as const);

/** Opens a PostgreSQL database by its URL. */
export function openOn(url: string): Promise<Database> {
  return openPostgres({ url: new Secret(url), applicationName: 'tokenctl test' });
}
