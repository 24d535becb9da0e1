import { Secret } from '../domain/secret.ts';
import type { DatabaseSetting } from './database-schema.ts';
import type { Environment } from './paths.ts';
import { readSecret } from './secrets.ts';

/** A database as messages name it: its URL where that holds no secret, else where its URL is. */
export function databaseName(database: DatabaseSetting): string {
  if (typeof database === 'string') return database;
  return 'file' in database ? `whose URL is in ${database.file}` : `whose URL is in $${database.env}`;
}

/**
 * Reads how a database is reached from where the configuration says it is: a URL or `service=NAME`, which
 * may hold a password and so travels as a secret.
 *
 * @throws TokenctlError `configuration` where there is none, or where others could read its file
 */
export function databaseConnection(database: DatabaseSetting, environment: Environment): Secret {
  return typeof database === 'string' ? new Secret(database) : readSecret(database, environment);
}
