import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Secret } from '@tokenctl/common/secret.ts';
import { AUDIENCE, startTransmitter } from '@tokenctl/testing/transmitter.ts';
import { expect, onTestFinished, test } from 'vitest';
import { deliveryMethods } from '../../../src/operations/ports/transmitters.ts';
import { connectStream, findStream } from '../../../src/operations/signals/connect-stream.ts';
import { openStreamManagement } from '../../../src/signals/transmitter-client.ts';
import { MANAGEMENT_TOKEN } from '../../support/signal-world.ts';
import { streamTransmitter } from '../../support/stream-transmitter.ts';

/** A server that remembers what was asked of it, with the authorization. */
async function serve(answer: (url: string) => unknown) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.url} ${request.headers.authorization ?? ''}`);
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer(request.url ?? '')));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { host, url: `http://${host}`, asked };
}

const using = (token: string) => ({
  name: 'The transmitter idp',
  authorization: () => Promise.resolve(new Secret(`Bearer ${token}`)),
});
const options = using('the-token');

test('the token of the management API goes to the host of the issuer, or to the one that is stated', async () => {
  const api = await serve(() => []);
  const issuer: Awaited<ReturnType<typeof serve>> = await serve(() => ({
    issuer: issuer.url,
    configuration_endpoint: `${api.url}/streams`,
    status_endpoint: 'https://idp.example.org:99999/status',
  }));
  const own = openStreamManagement(issuer.url, options);
  await expect(own.streams()).rejects.toMatchObject({
    code: 'target_misbehaved',
    message: `The transmitter idp uses a management API on ${api.host}, but the token is for ${issuer.host}`,
  });
  await expect(own.status('one')).rejects.toMatchObject({ code: 'target_misbehaved' });
  expect(api.asked).toEqual([]);
  const stated = openStreamManagement(issuer.url, { ...options, host: api.host });
  expect(await stated.streams()).toEqual([]);
  expect(api.asked).toEqual(['/streams Bearer the-token']);
  expect(issuer.asked.join()).not.toContain('the-token');
});

/** A transmitter with a management API, and what connects to it. */
async function managed() {
  const stream = streamTransmitter();
  const { issuer, jwks, close } = await startTransmitter(stream.serve);
  onTestFinished(close);
  const api = openStreamManagement(issuer, using(MANAGEMENT_TOKEN));
  const endpoint = 'https://tokenctl.example.com/signals/idp';
  const settings = {
    issuer,
    jwks,
    audience: [AUDIENCE],
    criticalMembers: [],
    method: 'push',
    endpoint,
  } as const;
  const wanted = { method: deliveryMethods.push, endpoint, authorization: null, events: [] };
  const connect = () => connectStream(api, { settings, wanted, record: () => Promise.resolve() });
  return { stream, connect, find: () => findStream(api, settings), api };
}

test('what a transmitter publishes under another issuer is not used', async () => {
  const { stream, connect, find, api } = await managed();
  stream.issuer = 'https://other.example.com';
  for (const each of [connect, find]) await expect(each()).rejects.toMatchObject({ code: 'configuration' });
  await expect(api.streams()).rejects.toMatchObject({
    ...{ code: 'target_misbehaved', message: expect.stringContaining('https://other.example.com') },
  });
  expect(stream.created).toEqual([]);
});

test('a new stream of another issuer is deleted again', async () => {
  const { stream, connect, find } = await managed();
  stream.streamIssuer = 'https://other.example.com';
  await expect(connect()).rejects.toMatchObject({
    code: 'target_misbehaved',
    message: 'The stream s-1 belongs to a different issuer: https://other.example.com',
  });
  expect([stream.deleted, await find()]).toEqual([1, null]);
});

test('a stream of another issuer is not taken for ours, nor deleted', async () => {
  const { stream, connect, find } = await managed();
  await connect();
  stream.answerStreamsAs('https://other.example.com');
  for (const each of [connect, find]) await expect(each()).rejects.toThrow('belongs to a different issuer');
  expect(stream.deleted).toBe(0);
});

test('where no further stream is allowed, the one that exists is named', async () => {
  const { stream, connect } = await managed();
  await connect();
  stream.moveStream('https://elsewhere.example.com/events');
  stream.conflicts = true;
  await expect(connect()).rejects.toMatchObject({
    code: 'configuration',
    message: expect.stringContaining('s-1 (urn:ietf:rfc:8935 to https://elsewhere.example.com/events)'),
  });
});

test.each([
  ['ALL', false],
  ['NONE', true],
] as const)(
  'whether a stream is about no one at first is known: %s',
  async (defaultSubjects, needsSubjects) => {
    const { stream, connect } = await managed();
    stream.defaultSubjects = defaultSubjects;
    expect(await connect()).toMatchObject({ isNew: true, needsSubjects });
  },
);

test('critical members of subjects that the configuration lacks are named', async () => {
  const { stream, connect } = await managed();
  stream.criticalMembers = ['tenant', 'group'];
  const path = 'criticalMembers';
  expect((await connect()).settings).toEqual([{ path, value: '[tenant, group]' }]);
});
