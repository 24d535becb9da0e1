import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { expect, onTestFinished, test } from 'vitest';
import { managedTransmitter, pollSourceOf } from '../../../src/app/signals/streams.ts';
import { signalsSchema, type TransmitterSettings } from '../../../src/config/signals.ts';
import { providerServer } from '../../support/provider-server.ts';

const NONE = { acknowledged: [], refused: new Map(), maxEvents: 0 };
const { signal } = new AbortController();

/** A transmitter whose tokens a client gets; `accepted` is the number of the token that it takes at the moment. */
async function withClient() {
  const server = { made: 0, accepted: 1, refuses: false };
  const { url, asked } = await providerServer(({ url: { pathname, origin }, headers, form }) => {
    if (pathname === '/.well-known/ssf-configuration')
      return { body: { issuer: origin, configuration_endpoint: `${origin}/streams` } };
    if (pathname === '/token') {
      if (server.refuses || form.get('client_secret') !== 's3cret')
        return { status: 401, body: { error: 'invalid_client' } };
      server.made += 1;
      return { body: { access_token: `t-${server.made}`, token_type: 'Bearer', expires_in: 3600 } };
    }
    if (headers.authorization !== `Bearer t-${server.accepted}`) return { status: 401 };
    return pathname === '/poll' ? { body: { sets: {} } } : { body: [] };
  });
  const folder = await temporaryFolder();
  onTestFinished(() => folder[Symbol.asyncDispose]());
  const file = join(folder.path, 'secret');
  await writeFile(file, 's3cret\n', { mode: 0o600 });
  const at = (path: string) => new URL(path, url).href;
  const section = {
    ...{ issuer: url.origin, jwks: at('jwks'), poll: { url: at('poll') }, management: {} },
    client: { tokenUrl: at('token'), clientId: 'c-1', clientSecret: { file }, scope: 'ssf.manage' },
  };
  const { idp } = signalsSchema.parse({ transmitters: { idp: section } }).transmitters;
  return { server, asked, settings: idp as TransmitterSettings };
}

test('a poll gets its token with the credentials of a client, and a new one when that has ended', async () => {
  const { server, asked, settings } = await withClient();
  const source = pollSourceOf('idp', settings, {});
  for (let poll = 0; poll < 2; poll += 1) await source.poll(NONE, signal);
  expect(server.made).toBe(1);
  server.accepted = 2;
  await source.poll(NONE, signal);
  expect(server.made).toBe(2);
  const { form } = asked.find(({ url }) => url.pathname === '/token') ?? {};
  expect(Object.fromEntries(form ?? [])).toMatchObject({
    ...{ grant_type: 'client_credentials', client_id: 'c-1', scope: 'ssf.manage' },
  });
});

test('a poll that reports refused events names the language of their descriptions', async () => {
  const { asked, settings } = await withClient();
  const source = pollSourceOf('idp', settings, {});
  const refused = new Map([['e-1', { err: 'invalid_request', description: 'The token is invalid' }]]);
  for (const each of [NONE, { ...NONE, refused }]) await source.poll(each, signal);
  const polls = asked.filter(({ url }) => url.pathname === '/poll');
  expect(polls.map(({ headers }) => headers['content-language'])).toEqual([undefined, 'en']);
});

test('the management of the stream does so as well', async () => {
  const { server, settings } = await withClient();
  const { api } = managedTransmitter('idp', settings, { environment: {}, signal });
  expect(await api.streams()).toEqual([]);
  server.accepted = 2;
  expect(await api.streams()).toEqual([]);
  expect(server.made).toBe(2);
});

test('a refused client, and a token that stays refused, are reported once', async () => {
  const { server, settings } = await withClient();
  server.accepted = 9;
  const poll = () => pollSourceOf('idp', settings, {}).poll(NONE, signal);
  await expect(poll()).rejects.toMatchObject({ code: 'credentials_refused' });
  expect(server.made).toBe(2);
  server.refuses = true;
  await expect(poll()).rejects.toMatchObject({
    code: 'credentials_refused',
    message: 'The transmitter idp returned no access token (invalid_client)',
  });
});
