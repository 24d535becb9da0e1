import { randomUUID } from 'node:crypto';
import { Secret } from '@tokenctl/common/secret.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startService } from '../../src/server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A database that the service has migrated and filled as on its first start. */
    serviceTemplate: string;
    /** The databases that the tests of the service run on. */
    serviceDatabases: readonly DatabaseKind[];
  }
}

export type DatabaseKind = 'PostgreSQL' | 'the embedded database';

/** The superuser of every service that the tests start. */
export const ADMIN = { username: 'admin', password: 'correct horse' };

/** Few iterations of the password hash: the tests check thousands of passwords. One test checks the usual ones. */
export const PASSWORD_ITERATIONS = 1_000;

/** Gives all tests a database of the service to copy, on the server of `postgres.ts`, whose set-up comes before this one. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { postgresUrl, testRun } = project.getProvidedContext();
  const template = `tokenctl_template_${testRun}`;
  await fillServiceTemplate(await createDatabase(postgresUrl, { name: template }));
  project.provide('serviceTemplate', template);
  return async () => {
    const client = new pg.Client({ connectionString: postgresUrl });
    await client.connect();
    await client.query(`DROP DATABASE IF EXISTS ${template}`);
    await client.end();
  };
}

/**
 * Has the service migrate and fill an empty database, as on its first start a year ago, and lets go of it: what was done then is not
 * part of what a test does.
 */
async function fillServiceTemplate(url: string): Promise<void> {
  const service = await startService({
    host: '127.0.0.1',
    port: 0,
    database: { url: new Secret(url) },
    adminPassword: new Secret(ADMIN.password),
    passwordIterations: PASSWORD_ITERATIONS,
    version: '0.0.0',
    logLevel: 'silent',
  });
  await service.database.execute("UPDATE main_activitystream SET timestamp = timestamp - interval '1 year'");
  await service.database.execute("UPDATE auth_user SET date_joined = date_joined - interval '1 year'");
  await service.close();
}

/** Makes a copy of that database with an installation id of its own, and returns its URL. */
export async function copyServiceTemplate(serverUrl: string, template: string): Promise<string> {
  const url = await createDatabase(serverUrl, { template });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("UPDATE conf_setting SET value = $1 WHERE key = 'INSTALL_UUID'", [
    JSON.stringify(randomUUID()),
  ]);
  await client.end();
  return url;
}
