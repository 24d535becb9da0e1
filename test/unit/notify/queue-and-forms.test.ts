import { type AddressInfo, createServer } from 'node:net';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { NO_ANSWER_MS } from '@tokenctl/testing/limits.ts';
import { until } from '@tokenctl/testing/until.ts';
import { describe, expect, it } from 'vitest';
import { openEmail } from '../../../src/notify/email.ts';
import { NoticeQueue, slackMessage } from '../../../src/notify/notices.ts';
import type { Notice, Notifier } from '../../../src/operations/ports/notifier.ts';
import { mailServer } from '../../support/mail-server.ts';

const notice: Notice = {
  id: 'abc123',
  type: 'job.notice',
  at: new Date('2026-03-01T04:00:00Z'),
  data: {
    subject: 'tokenctl: the job sweep failed',
    text: 'It would revoke <60 %> & more',
    severity: 'error',
  },
};

/** A notifier that fails so many times, or for good. */
function failing(times: number): Notifier & { readonly taken: string[] } {
  const taken: string[] = [];
  let left = times;
  return {
    name: 'test',
    taken,
    async send({ id }) {
      left -= 1;
      if (left >= 0) throw new TokenctlError('target_unreachable', 'away');
      taken.push(id);
    },
    close: async () => undefined,
  };
}

describe('notices in the background', () => {
  it('are tried again, in order, while no one waits', async () => {
    const notifier = failing(2);
    const results: string[] = [];
    const queue = new NoticeQueue({ notifier, pauses: [5, 5], onResult: (result) => results.push(result) });
    queue.tell({ ...notice, id: 'one' });
    queue.tell({ ...notice, id: 'two' });
    expect(notifier.taken).toEqual([]);
    await until(() => results.length === 2);
    expect(notifier.taken).toEqual(['one', 'two']);
    expect(results).toEqual(['delivered', 'delivered']);
    await queue.close();
  });

  it('are given up where no one ever takes them, and told of', async () => {
    const errors: unknown[] = [];
    const queue = new NoticeQueue({
      notifier: failing(Number.POSITIVE_INFINITY),
      pauses: [1],
      onResult: (result, error) => errors.push([result, error instanceof TokenctlError && error.code]),
    });
    queue.tell(notice);
    await until(() => errors.length > 0);
    expect(errors).toEqual([['abandoned', 'target_unreachable']]);
    await queue.close();
  });

  it('are dropped at once if they are refused for good, and the next one is sent', async () => {
    const taken: string[] = [];
    const results: unknown[] = [];
    const notifier: Notifier = {
      name: 'test',
      async send({ id }) {
        if (id === 'refused') throw new TokenctlError('target_misbehaved', 'The webhook answered 400');
        taken.push(id);
      },
      close: async () => undefined,
    };
    const queue = new NoticeQueue({
      notifier,
      pauses: [3_600_000],
      onResult: (result, error) => results.push([result, error instanceof Error && error.message]),
    });
    queue.tell({ ...notice, id: 'refused' });
    queue.tell({ ...notice, id: 'next' });
    await until(() => results.length === 2);
    expect(taken).toEqual(['next']);
    expect(results).toEqual([
      ['abandoned', 'The webhook answered 400'],
      ['delivered', false],
    ]);
    await queue.close();
  });

  it('do not keep the scheduler from ending', async () => {
    const results: string[] = [];
    const queue = new NoticeQueue({
      notifier: failing(Number.POSITIVE_INFINITY),
      pauses: [3_600_000],
      onResult: (result) => results.push(result),
    });
    queue.tell(notice);
    await queue.close();
    expect(results).toEqual(['abandoned']);
  });

  it('are given up together at the end, after one that no one takes', async () => {
    let tried = 0;
    const results: string[] = [];
    const silent: Notifier = {
      ...failing(0),
      async send() {
        tried += 1;
        throw new TokenctlError('target_unreachable', 'no answer');
      },
    };
    const onResult = (result: string) => void results.push(result);
    const queue = new NoticeQueue({ notifier: silent, pauses: [3_600_000], onResult });
    for (const id of ['one', 'two', 'three']) queue.tell({ ...notice, id });
    await queue.close();
    expect([tried, results]).toEqual([1, ['abandoned', 'abandoned', 'abandoned']]);
  });
});

describe('a notice for Slack', () => {
  it('has a text and blocks, and cannot mention anybody', () => {
    const subject = 'tokenctl: <!channel> failed';
    expect(slackMessage({ ...notice, data: { subject, text: 'because' } })).toEqual({
      text: 'tokenctl: &lt;!channel&gt; failed',
      blocks: [
        { type: 'section', text: { type: 'mrkdwn', text: '*tokenctl: &lt;!channel&gt; failed*' } },
        { type: 'section', text: { type: 'plain_text', text: 'because' } },
      ],
    });
  });

  it('is no longer than Slack takes, and says something of a notice without words', () => {
    const long = slackMessage({ ...notice, data: { subject: 's', text: 'x'.repeat(9000) } });
    expect(JSON.stringify(long).length).toBeLessThan(3200);
    const bare = slackMessage({ ...notice, type: 'token.expiring', data: { threshold: 7 } });
    expect(JSON.stringify(bare)).toContain('threshold: 7');
  });
});

describe('a notice by email', () => {
  it('reaches a mail server, with an id that stays the same', async () => {
    await using server = await mailServer();
    const email = openEmail({
      server: new Secret(server.url),
      from: 'tokenctl@example.org',
      to: ['ops@example.org', 'security@example.org'],
      allowPlain: true,
    });
    await email.send(notice);
    await email.close();
    expect(server.lines).toContain('RCPT TO:<security@example.org>');
    const message = server.lines.join('\n');
    expect(message).toContain('Subject: tokenctl: the job sweep failed');
    expect(message).toContain('Message-ID: <abc123@example.org>');
    expect(message).toContain('It would revoke <60 %> & more');
  });

  it('is not sent in clear text unless that is allowed, and credentials are not told', async () => {
    await using server = await mailServer();
    const url = new URL(server.url);
    url.username = 'user';
    url.password = 'hunter2';
    const email = openEmail({ server: new Secret(url.href), from: 'a@example.org', to: ['b@example.org'] });
    const failure = await email.send(notice).catch((error: unknown) => error);
    await email.close();
    expect(failure).toMatchObject({ code: 'target_unreachable' });
    expect(`${email.name} ${String(failure)}`).not.toContain('hunter2');
    expect(server.lines.join('\n')).not.toContain('hunter2');
  });

  it.each([
    ['a temporary refusal (greylisting)', '450 4.2.0 try later', 'target_unreachable'],
    ['a permanent refusal', '550 5.1.1 no such user', 'target_misbehaved'],
  ])('tells %s of the recipient apart', async (_what, answer, code) => {
    await using server = await mailServer({ RCPT: answer });
    const from = { from: 'tokenctl@example.org', to: ['ops@example.org'], allowPlain: true };
    const email = openEmail({ server: new Secret(server.url), ...from });
    await expect(email.send(notice)).rejects.toMatchObject({ code });
    await email.close();
  });

  it('is given up if the server goes on talking and never takes it', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined).write('220 test\r\n');
      const talking = setInterval(() => socket.write('250-wait\r\n'), 20);
      socket.on('data', () => undefined).on('close', () => clearInterval(talking));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const from = { from: 'tokenctl@example.org', to: ['ops@example.org'], allowPlain: true };
    const email = openEmail({
      ...from,
      server: new Secret(`smtp://127.0.0.1:${port}`),
      messageTimeoutMs: NO_ANSWER_MS,
    });
    const failure = await email.send(notice).catch((error: unknown) => error);
    expect(String(failure)).toContain('did not accept the message in time');
    // Resolves when the connection is closed.
    await new Promise((resolve) => server.close(resolve));
  });

  it('takes no other address than that of a mail server', () => {
    const options = { from: 'a@example.org', to: ['b@example.org'] };
    expect(() => openEmail({ server: new Secret('https://example.org'), ...options })).toThrow(
      expect.objectContaining({ code: 'configuration' }),
    );
  });
});
