import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Secret } from '@tokenctl/common/secret.ts';
import { NO_ANSWER_MS } from '@tokenctl/testing/limits.ts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openWebhook, type WebhookOptions } from '../../../src/notify/webhook.ts';
import type { Notice } from '../../../src/operations/ports/notifier.ts';

const notice: Notice = {
  id: 'a1b2',
  type: 'token.expiring',
  at: new Date('2026-11-21T10:00:00Z'),
  data: { threshold: 7, token: { id: 17 } },
};

interface Post {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A receiver that answers with these statuses, one after the other; 0 hangs. */
async function receiver(...statuses: number[]) {
  const posts: Post[] = [];
  const server = createServer(async (incoming, answer) => {
    let body = '';
    for await (const part of incoming.setEncoding('utf8')) body += part;
    posts.push({ path: incoming.url ?? '', headers: incoming.headers, body });
    const status = statuses[posts.length - 1] ?? 500;
    if (status === 0) return;
    answer.writeHead(status, { location: '/elsewhere' }).end('thank you');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { posts, url: `http://127.0.0.1:${port}/hooks/very-secret` };
}

function webhook(url: string, other: Partial<WebhookOptions> = {}) {
  const opened = openWebhook({ url: new Secret(url), pauses: [1, 1], ...other });
  onTestFinished(() => opened.close());
  return opened;
}

test('posts the notice as JSON, to the whole address', async () => {
  const { posts, url } = await receiver(204);
  await webhook(url).send(notice);
  expect(posts).toHaveLength(1);
  expect(posts[0]?.path).toBe('/hooks/very-secret');
  expect(posts[0]?.headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': 'a1b2' });
  expect(JSON.parse(posts[0]?.body ?? '')).toEqual({
    id: 'a1b2',
    type: 'token.expiring',
    timestamp: '2026-11-21T10:00:00.000Z',
    data: { threshold: 7, token: { id: 17 } },
  });
  expect(posts[0]?.headers).not.toHaveProperty('webhook-signature');
});

test.each<[string, string, Buffer]>([
  ['a text', 'correct horse', Buffer.from('correct horse')],
  ['the form of Standard Webhooks', `whsec_${Buffer.from('key').toString('base64')}`, Buffer.from('key')],
])('signs with %s what a receiver can verify', async (_, secret, key) => {
  const { posts, url } = await receiver(200);
  await webhook(url, { signingSecret: new Secret(secret) }).send(notice);
  const [post] = posts;
  const timestamp = String(post?.headers['webhook-timestamp']);
  const expected = createHmac('sha256', key).update(`a1b2.${timestamp}.${post?.body}`).digest('base64');
  expect(post?.headers['webhook-signature']).toBe(`v1,${expected}`);
  expect(Math.abs(Number(timestamp) * 1000 - Date.now())).toBeLessThan(60_000);
});

describe('what goes wrong', () => {
  test('is tried again where it may pass', async () => {
    const { posts, url } = await receiver(503, 429, 200);
    await webhook(url).send(notice);
    expect(posts).toHaveLength(3);
  });

  test('is given up after the last attempt', async () => {
    const { posts, url } = await receiver(503, 503, 503, 200);
    await expect(webhook(url).send(notice)).rejects.toMatchObject({ code: 'target_unreachable' });
    expect(posts).toHaveLength(3);
  });

  test.each([
    [400, 'target_misbehaved'],
    [403, 'permission_refused'],
    [302, 'target_misbehaved'],
  ])('is not tried again where it answers %i', async (status, code) => {
    const { posts, url } = await receiver(status, 200);
    await expect(webhook(url).send(notice)).rejects.toMatchObject({ code });
    expect(posts).toHaveLength(1);
  });

  test('a receiver that hangs is given up', async () => {
    const { url } = await receiver(0);
    const sent = webhook(url, { pauses: [], timeoutMs: NO_ANSWER_MS }).send(notice);
    await expect(sent).rejects.toMatchObject({ code: 'target_unreachable' });
  });

  test('says where, and never the address', async () => {
    const { url } = await receiver(400);
    const hook = webhook(url);
    const error = await hook.send(notice).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain(new URL(url).host);
    expect(String(error) + hook.name).not.toContain('very-secret');
    expect(hook.name).not.toBe(webhook(`${url}-other`).name);
  });

  test('an invalid URL is refused, and not shown', () => {
    const wrong = () => webhook('ftp://user:very-secret@example.org');
    expect(wrong).toThrow('The webhook URL is invalid');
    expect(wrong).not.toThrow(/very-secret/);
  });
});
