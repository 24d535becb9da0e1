import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../../src/domain/secret.ts';
import { openStreamManagement } from '../../../src/signals/transmitter-client.ts';

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

const options = { name: 'The transmitter idp', token: new Secret('the-token') };

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
    message: `The transmitter idp names a management API on ${api.host}: the token is for ${issuer.host}`,
  });
  await expect(own.status('one')).rejects.toMatchObject({ code: 'target_misbehaved' });
  expect(api.asked).toEqual([]);
  const stated = openStreamManagement(issuer.url, { ...options, host: api.host });
  expect(await stated.streams()).toEqual([]);
  expect(api.asked).toEqual(['/streams Bearer the-token']);
  expect(issuer.asked.join()).not.toContain('the-token');
});
