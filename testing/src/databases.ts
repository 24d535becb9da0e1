import type { Database } from '@tokenctl/common/db/database.ts';
import { openPostgres } from '@tokenctl/common/db/postgres.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { inject } from 'vitest';
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
