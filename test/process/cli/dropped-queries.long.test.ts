import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { configure } from '../../support/drafts.ts';
import { SettingsProxy } from '../../support/settings-proxy.ts';
import { severalServices } from './multi-context.ts';
import { temporaryFolder, tokenctl } from './program.ts';

const all = severalServices(1);
let proxy: SettingsProxy;

beforeAll(async () => {
  const [service] = all.services();
  if (service === undefined) throw new Error('There is no service');
  proxy = await SettingsProxy.start(() => service.url);
  proxy.way = null;
  await service.makeTokens('alice', 3);
  await service.makeTokens('bob', 4);
});
afterAll(() => proxy[Symbol.asyncDispose]());

/** Takes parameters out of an address. */
function without(path: string, isDropped: (name: string) => boolean): string {
  const url = new URL(path, 'http://controller');
  for (const name of [...url.searchParams.keys()]) if (isDropped(name)) url.searchParams.delete(name);
  return `${url.pathname}${url.search}`;
}

describe.each([
  ['every parameter', () => true],
  ['the filter of users', (name: string) => /^(username|id)(__in)?$|^user(__|$)/.test(name)],
  ['the filter of ids and names', (name: string) => /^(id|username)(__in)?$/.test(name)],
  ['the filter of owners', (name: string) => /^user(__|$)/.test(name)],
] as const)('behind a proxy that drops %s of a query', (_, isDropped) => {
  beforeAll(() => {
    proxy.passedOn = (path) => without(path, isDropped);
  });

  test.each([
    ['tokens', 'revoke', '--user', 'alice', '--yes'],
    ['incident', 'lockdown', '--user', 'alice', '--yes'],
    ['users', 'offboard', 'alice', '--yes'],
    ['tokens', 'revoke', '--user', 'alice', '--scope', 'write', '--yes'],
  ])('%s %s %s %s revokes no token of another user', async (...args) => {
    const [service] = all.services();
    const folder = temporaryFolder();
    const file = join(folder, 'token');
    writeFileSync(file, service?.token ?? '', { mode: 0o600 });
    configure(
      folder,
      `currentContext: test\ncontexts:\n  test: { url: "${proxy.url}", token: { file: "${file}" } }\n`,
    );
    const { code, stderr } = await tokenctl(args, { env: { HOME: folder } });
    expect(stderr).toMatch(
      /entries that were not requested: it ignores filters|in a format that no controller/,
    );
    expect(code).not.toBe(0);
    // Those of alice, of bob, and the operator's.
    expect(await service?.countTokens()).toBe(3 + 4 + 1);
  });
});
