import { Secret } from '@tokenctl/common/secret.ts';
import { type Answer, type Body, basic, bearer, Client } from '@tokenctl/testing/client.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { afterAll, beforeAll, inject } from 'vitest';
import { type RunningService, type ServiceOptions, startService } from '../../src/server.ts';
import { ADMIN, copyServiceTemplate, type DatabaseKind, PASSWORD_ITERATIONS } from './service-template.ts';

export { ADMIN, type Answer, type Body, basic, bearer, Client };

/** A key of secrets. With PostgreSQL, a service that stores secret settings needs one. */
export const SECRET_KEY = new Secret('a-key-of-the-tests-a-key-of-the-tests');

/**
 * The databases that this project tests on what depends on the kind of database: PostgreSQL, and in the soak tests the embedded one.
 * SQL that both know is tested on PostgreSQL, and on the embedded one by the recorded exchanges (`conformance`).
 */
export const DATABASES = inject('serviceDatabases');

export interface TestServiceOptions extends Partial<ServiceOptions> {
  /** PostgreSQL unless it says otherwise. */
  readonly kind?: DatabaseKind;
}

/**
 * Starts a service on a database of its own and a free port: a copy of one after its first start, or an empty
 * one where `passwordIterations` are given, since the superuser's password in the copy has few.
 */
export async function startTestService({
  kind = 'PostgreSQL',
  ...options
}: TestServiceOptions = {}): Promise<RunningService> {
  const database = kind === 'PostgreSQL' ? { url: new Secret(await newDatabase(options)) } : { folder: null };
  return startService({
    host: '127.0.0.1',
    port: 0,
    database,
    adminPassword: new Secret(ADMIN.password),
    passwordIterations: PASSWORD_ITERATIONS,
    version: '0.0.0',
    logLevel: 'silent',
    // The isolation of jobs needs bubblewrap: its tests ask for it.
    jobs: { localConnection: true, asService: true },
    ...options,
  });
}

/** Makes a database as {@link startTestService} uses, for those who need its URL. */
export function serviceDatabase(): Promise<string> {
  return copyServiceTemplate(inject('postgresUrl'), inject('serviceTemplate'));
}

function newDatabase({ passwordIterations }: Partial<ServiceOptions>): Promise<string> {
  return passwordIterations === undefined ? serviceDatabase() : createDatabase(inject('postgresUrl'));
}

/** A service that runs during the tests of the block, as {@link startTestService} starts it, and its superuser. */
export function useService(options: () => TestServiceOptions = () => ({})): {
  readonly service: RunningService;
  readonly admin: Client;
} {
  let service: RunningService;
  let admin: Client;
  beforeAll(async () => {
    service = await startTestService(options());
    admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
  });
  afterAll(() => service.close());
  return { service: late(() => service), admin: late(() => admin) };
}

/** Stands for an object that is there once the tests run. */
function late<T extends object>(get: () => T): T {
  return new Proxy({} as T, {
    get(_none, name) {
      const value: unknown = Reflect.get(get(), name);
      return typeof value === 'function' ? value.bind(get()) : value;
    },
  });
}
