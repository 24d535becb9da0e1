import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Secret } from '@tokenctl/common/secret.ts';
import {
  ADMIN,
  basic,
  Client,
  serviceDatabase,
  startTestService,
} from '@tokenctl/service/testing/service.ts';
import { expect, test } from 'vitest';
import { createRuntime } from '../../../src/app/runtime.ts';
import { type Asked, carryOut } from '../../../src/cli/change/change.ts';
import {
  basicAuthentication,
  externalTokens,
  type Switch,
  switchFlow,
} from '../../../src/cli/settings/switch-flow.ts';
import { documentText } from '../../../src/reports/document.ts';
import { noScreen } from '../../../src/reports/tables/text.ts';
import { Gateway } from '../../support/gateway.ts';
import { temporaryFolder } from './program.ts';

const CAUTION =
  "The gateway's manual warns that, without it, local accounts cannot log in to its web interface.";

/** A controller or gateway: ways to a runtime at its API, signed in with a token, and at its database. */
async function estate(component: 'controller' | 'gateway') {
  const folder = temporaryFolder();
  const { service, url } = component === 'gateway' ? await gateway() : await controller();
  const databaseFile = join(folder, 'database');
  writeFileSync(databaseFile, url, { mode: 0o600 });
  const path = component === 'gateway' ? '/api/gateway/v1/tokens/' : '/api/v2/tokens/';
  const made = await new Client(service.url, basic(ADMIN.username, ADMIN.password)).post(path, {
    scope: 'write',
  });
  const common = { notify: () => undefined, version: '0.0.0' };
  const signedIn = { CONTROLLER_HOST: service.url, CONTROLLER_OAUTH_TOKEN: made.json.token };
  return {
    api: () => createRuntime({ ...common, flags: {}, environment: { HOME: folder, ...signedIn } }),
    database: () => createRuntime({ ...common, flags: { databaseFile }, environment: { HOME: folder } }),
    [Symbol.asyncDispose]: () => service.close(),
  };
}

async function controller() {
  const url = await serviceDatabase();
  return { url, service: await startTestService({ database: { url: new Secret(url) } }) };
}

async function gateway() {
  const service = await Gateway.start();
  return { url: service.databaseUrl, service };
}

/** Turns a switch, and back; the texts of the question, of the dry run and of the result of the first. */
async function turned(runtime: ReturnType<typeof createRuntime>, setting: Switch, on: boolean) {
  const asked: Asked[] = [];
  const to = async (state: boolean, dryRun = false) => {
    const flags = { 'dry-run': dryRun };
    const planned = await switchFlow({ runtime, flags, setting, on: state, several: false });
    const { text } = await carryOut({ runtime, flags }, planned, async (each) => {
      asked.push(each);
    });
    return await text(noScreen);
  };
  const preview = await to(on, true);
  const done = await to(on);
  await to(!on);
  await runtime.close();
  return [documentText(asked[0]?.plan ?? []), preview, done];
}

test('turning basic authentication off on a gateway says whom that keeps out, before and after', async () => {
  await using at = await estate('gateway');
  for (const runtime of [at.api(), at.database()]) {
    const texts = await turned(runtime, basicAuthentication, false);
    expect(texts).toEqual(texts.map(() => expect.stringContaining(CAUTION)));
  }
  const other = await turned(at.api(), externalTokens, true);
  expect(other.join()).not.toContain('local accounts');
});

test('on a controller it keeps no one out', { tags: ['long'] }, async () => {
  await using at = await estate('controller');
  for (const runtime of [at.api(), at.database()]) {
    const texts = await turned(runtime, basicAuthentication, false);
    expect(texts.join('')).toMatch(/^Would turn .*basic authentication is off now/is);
    expect(texts.join('')).not.toContain('local accounts');
  }
});
