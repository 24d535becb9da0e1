import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { exchange, OverlongResponse } from '../../src/network/exchange.ts';

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test('reads a response up to its limit, and refuses or cuts a longer one', async () => {
  const url = await serve((_, response) => response.writeHead(201, { 'x-a': 'b' }).end('12345'));
  const read = await exchange(url, { maxBytes: 5 });
  expect([read.status, read.headers.get('x-a'), await read.text()]).toEqual([201, 'b', '12345']);
  await expect(exchange(url, { maxBytes: 4 })).rejects.toThrow(OverlongResponse);
  expect((await exchange(url, { maxBytes: 4, cut: true })).status).toBe(201);
});

test('leaves an endless response whose status is enough', async () => {
  const closed = Promise.withResolvers<void>();
  const url = await serve((_, response) => {
    response.on('close', closed.resolve);
    const more = () =>
      void (response.write('x'.repeat(10_000)) ? setImmediate(more) : response.once('drain', more));
    more();
  });
  expect((await exchange(url, { maxBytes: 65_536, cut: true })).status).toBe(200);
  await closed.promise;
});

test('follows no redirect, and says who asks', async () => {
  const asked: unknown[] = [];
  const url = await serve((request, response) => {
    asked.push([request.url, request.headers['user-agent']]);
    response.writeHead(302, { location: '/other' }).end();
  });
  expect((await exchange(url, { maxBytes: 100 })).status).toBe(302);
  await exchange(url, { maxBytes: 100, headers: { 'user-agent': 'openid-client' } });
  expect(asked).toEqual([
    ['/', 'tokenctl'],
    ['/', 'openid-client'],
  ]);
});

test('sends nothing unprotected where no way is given', async () => {
  await expect(exchange('http://provider.invalid/', { maxBytes: 100 })).rejects.toThrow(
    'only https addresses are supported',
  );
});
