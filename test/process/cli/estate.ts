import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sampleEstate } from '@tokenctl/service/sample/estate.ts';
import { storeEstate } from '@tokenctl/service/sample/store-estate.ts';
import type { RunningService } from '@tokenctl/service/server.ts';
import { ADMIN, startTestService } from '@tokenctl/service/testing/service.ts';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { configure } from '../../support/drafts.ts';
import {
  type Run,
  type Running,
  type RunOptions,
  startTokenctl,
  temporaryFolder,
  tokenctl,
} from './program.ts';

/** A service with a sample estate in it, and the program working on it. */
export interface Estate {
  /** The service's base URL. */
  readonly url: () => string;
  /** A home with a context that signs in with the superuser's password. */
  readonly home: () => Home;
}

/** A home folder with a configuration, a secret and an audit log of its own. */
export interface Home {
  readonly folder: string;
  readonly run: (args: readonly string[], options?: RunOptions) => Promise<Run>;
  readonly start: (args: readonly string[]) => Running;
}

/** Starts a service for a test file, with this many users and tokens. */
export function estate(size: { readonly users: number; readonly tokens: number }): Estate {
  let service: RunningService | undefined;
  beforeAll(async () => {
    service = await startTestService();
    await storeEstate(service.database, sampleEstate(size, { now: new Date() }));
  });
  // Tokens that an account used of late may each be its credential: to tell them apart takes seconds.
  afterEach(async () => {
    const recently = "last_used > now() - interval '2 minutes'";
    await service?.database.execute(
      `UPDATE main_oauth2accesstoken SET last_used = last_used - interval '1 hour' WHERE ${recently}`,
    );
  });
  afterAll(() => service?.close());
  const url = () => service?.url ?? '';
  return { url, home: () => homeFor(url()) };
}

/** A home with a context of its own for the service at an address. */
export function homeFor(url: string): Home {
  const folder = temporaryFolder();
  const secret = join(folder, 'admin.password');
  writeFileSync(secret, ADMIN.password, { mode: 0o600 });
  configure(
    folder,
    `currentContext: test\ncontexts:\n  test: { url: "${url}", username: admin, password: { file: "${secret}" } }\n`,
  );
  const start = (args: readonly string[]) => startTokenctl(args, { env: { HOME: folder } });
  const run = (args: readonly string[], { env }: RunOptions = {}) =>
    tokenctl(args, { env: { HOME: folder, ...env } });
  return { folder, start, run };
}
