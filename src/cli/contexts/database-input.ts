import { databaseConnection } from '../../config/database-connection.ts';
import type { DatabaseSetting } from '../../config/database-schema.ts';
import { absolutePath, type Environment } from '../../config/paths.ts';
import type { DatabaseFlags } from './database-flags.ts';

/**
 * The database that the flags name, unchecked; undefined where they name none. A file is read, so that what is
 * wrong with it is said now.
 *
 * @throws TokenctlError `configuration` for a file that is not there, or that others can read
 */
export function takeDatabase(flags: DatabaseFlags, environment: Environment): DatabaseSetting | undefined {
  const { database, 'database-file': file, 'database-env': env } = flags;
  if (file !== undefined) {
    const reference = { file: absolutePath(file, process.cwd(), environment) };
    databaseConnection(reference, environment);
    return reference;
  }
  return env === undefined ? database : { env };
}
