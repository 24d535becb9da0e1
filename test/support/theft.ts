import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Secret } from '@tokenctl/common/secret.ts';
import type { RunningService } from '@tokenctl/service/server.ts';
import {
  ADMIN,
  basic,
  bearer,
  Client,
  serviceDatabase,
  startTestService,
} from '@tokenctl/service/testing/service.ts';
import { type TestConsole, testConsole } from './console.ts';
import { configure } from './drafts.ts';

const PASSWORD = 'long enough for it';

/** What bob did honestly, and what a thief did with bob's token: a superuser, a token and an application of that one. */
async function playTheft(url: string): Promise<void> {
  const admin = new Client(url, basic(ADMIN.username, ADMIN.password));
  const { id } = (await admin.post('/api/v2/users/', { username: 'bob', password: PASSWORD })).json;
  await admin.patch(`/api/v2/users/${id}/`, { is_superuser: true });
  const bob = new Client(url, basic('bob', PASSWORD));
  await bob.post('/api/v2/users/', { username: 'colleague', password: PASSWORD });
  const token = (await bob.post('/api/v2/tokens/', { scope: 'write' })).json.token;
  const stolen = new Client(url, bearer(token));
  await stolen.post('/api/v2/users/', { username: 'mole', password: PASSWORD, is_superuser: true });
  const mole = new Client(url, basic('mole', PASSWORD));
  const back = new Client(url, bearer((await mole.post('/api/v2/tokens/', { scope: 'write' })).json.token));
  await back.post('/api/v2/applications/', {
    ...{ name: 'backdoor', client_type: 'confidential', authorization_grant_type: 'password' },
    organization: 1,
  });
}

/** A console of a controller on which bob's token was stolen, with both of its contexts. */
export interface TheftConsole {
  readonly service: RunningService;
  readonly opened: TestConsole;
  readonly close: () => Promise<void>;
  /** Another console, of the REST context alone, with the account of a user. */
  readonly consoleAs: (
    username: string,
    password: string,
  ) => Promise<Omit<TheftConsole, 'service' | 'consoleAs'>>;
}

/**
 * @param home An empty folder, which gets the configuration.
 * @param options.more Other contexts, as lines of the configuration.
 * @param options.settings Lines of the configuration beside its contexts.
 */
export async function theftConsole(
  home: string,
  options: {
    readonly more?: readonly string[];
    readonly settings?: string;
    readonly readOnly?: boolean;
  } = {},
): Promise<TheftConsole> {
  const { more = [], settings = '', readOnly = false } = options;
  const service = await theft(home, `${more.map((line) => `  ${line}\n`).join('')}${settings}`);
  const opened = await testConsole({ home, allContexts: true, readOnly });
  const closeConsole = async ({ operations, app }: TestConsole) => {
    await operations.close();
    await app.close();
  };
  return {
    async consoleAs(username, password) {
      const folder = join(home, username);
      mkdirSync(folder);
      writeFileSync(join(folder, 'password'), password, { mode: 0o600 });
      const login = `username: ${username}, password: { file: "${join(folder, 'password')}" }`;
      configure(folder, `currentContext: own\ncontexts:\n  own: { url: "${service.url}", ${login} }\n`);
      const own = await testConsole({ home: folder });
      return { opened: own, close: () => closeConsole(own) };
    },
    service,
    opened,
    async close() {
      await closeConsole(opened);
      await service.close();
    },
  };
}

/** A service on which bob's token was stolen, and a home with its contexts `east` (REST) and `east-db` (database). */
async function theft(home: string, more: string): Promise<RunningService> {
  const url = await serviceDatabase();
  const service = await startTestService({ database: { url: new Secret(url) } });
  await playTheft(service.url);
  const file = (name: string, text: string) => {
    writeFileSync(join(home, name), text, { mode: 0o600 });
    return join(home, name);
  };
  configure(
    home,
    `currentContext: east
contexts:
  east: { url: "${service.url}", username: admin, password: { file: "${file('password', ADMIN.password)}" } }
  east-db: { database: { file: "${file('database', url)}" } }
${more}`,
  );
  return service;
}
