import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { ADMIN, basic, Client, useService } from './support/service.ts';

describe('answers that are the same for everyone', () => {
  const { service } = useService();

  const fetched = async (path: string, headers: Record<string, string>, method = 'GET') => {
    const { authorization } = basic(ADMIN.username, ADMIN.password);

    const answer = await request(service.url + path, {
      method: method as 'GET',
      headers: { authorization, ...headers },
    });
    return { ...answer, bytes: Buffer.from(await answer.body.arrayBuffer()) };
  };

  it.each([
    ['/api/v2/openapi.json', 'GET'],
    ['/static/service.css', 'GET'],
    ['/api/v2/tokens/', 'OPTIONS'],
  ])('%s (%s) is sent compressed', async (path, method) => {
    const plain = await fetched(path, {}, method);
    expect([plain.statusCode, plain.headers['content-encoding']]).toEqual([200, undefined]);
    const br = await fetched(path, { 'accept-encoding': 'gzip, br' }, method);
    expect(br.headers['content-encoding']).toBe('br');
    expect(brotliDecompressSync(br.bytes)).toEqual(plain.bytes);
    const gzip = await fetched(path, { 'accept-encoding': 'gzip, br;q=0' }, method);
    expect(gzip.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(gzip.bytes)).toEqual(plain.bytes);
    for (const { headers } of [plain, br, gzip]) expect(headers['vary']).toBe('Accept-Encoding');
  });

  it.each(['/api/v2/openapi.json', '/static/service.css'])('%s has a validator', async (path) => {
    const { etag = '' } = (await new Client(service.url).get(path)).headers;
    expect(etag).toMatch(/^W\/"[\w-]+"$/);
    for (const given of [etag, etag.slice(2), `"other", ${etag}`, '*']) {
      const { status, text, headers } = await new Client(service.url, { 'if-none-match': given }).get(path);
      expect([status, text, headers.etag]).toEqual([304, '', etag]);
    }
    expect((await new Client(service.url, { 'if-none-match': '"other"' }).get(path)).status).toBe(200);
  });
});
