import { join } from 'node:path';
import type { StatePlace } from '@tokenctl/common/db/state-tables.ts';
import { type Environment, stateFolder } from '../config/paths.ts';
import { databaseConnection } from '../config/secrets.ts';
import type { StateSetting } from '../config/value-schemas.ts';

interface StateOptions {
  readonly environment: Environment;
  /** The file in the state folder where the configuration names no place. */
  readonly fileName: string;
  /** How many connections to a database are open at a time. */
  readonly connections: number;
  /** What the database shows of them. */
  readonly applicationName: string;
  /** How long a database may take to answer, in milliseconds. */
  readonly responseTimeout: number;
}

/** The file of a server's own state. Throws `configuration` where neither a setting nor a state folder says. */
export function stateFile(
  setting: StateSetting | undefined,
  { environment, fileName }: Pick<StateOptions, 'environment' | 'fileName'>,
): string {
  return setting?.file ?? join(stateFolder(environment), fileName);
}

/** Where a server keeps its own state; a database is opened. Throws `configuration`, `database_unreachable`. */
export async function openStatePlace(
  setting: StateSetting | undefined,
  { fileName, ...options }: StateOptions,
): Promise<StatePlace> {
  const { environment } = options;
  if (setting?.database === undefined) return stateFile(setting, { environment, fileName });
  const { openPostgres } = await import('@tokenctl/common/db/postgres.ts');
  const url = databaseConnection(setting.database, environment);
  return { database: await openPostgres({ url, ...options }) };
}
