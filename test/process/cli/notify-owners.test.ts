import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN } from '@tokenctl/service/testing/service.ts';
import { expect, test } from 'vitest';
import { mailServer } from '../../support/mail-server.ts';
import { estate, type Home } from './estate.ts';

const { home, url } = estate({ users: 6, tokens: 30 });

interface Digest {
  readonly owner: string;
  readonly address: string;
  readonly organization: string | null;
}

interface Printed {
  readonly plan: { readonly digests: readonly Digest[]; readonly toldBefore: number };
  readonly sent: number | null;
}

/** A home whose configuration sends mail to a server, with more settings. */
function mailing(server: string, settings: object = {}): Home {
  const at = home();
  const secret = join(at.folder, 'smtp.url');
  writeFileSync(secret, server, { mode: 0o600 });
  const section = { server: { file: secret }, from: 'tokenctl@example.com', allowPlain: true, ...settings };
  const file = join(at.folder, '.config/tokenctl/tokenctl.yaml');
  const jobs = { mail: { job: 'owner-notices', dryRun: false } };
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, `${text}ownerNotices: ${JSON.stringify(section)}\njobs: ${JSON.stringify(jobs)}\n`);
  return at;
}

const EVERY_TOKEN = [36_500];
const notify = (at: Home, ...args: string[]) => at.run(['tokens', 'notify-owners', ...args]);
const read = ({ stdout }: { stdout: string }) => JSON.parse(stdout) as Printed;

/** Makes an organization with a member. */
async function organizationOf(username: string): Promise<void> {
  const authorization = `Basic ${Buffer.from(`${ADMIN.username}:${ADMIN.password}`).toString('base64')}`;
  const call = async (path: string, body?: object) => {
    const response = await fetch(`${url()}/api/v2/${path}`, {
      headers: { authorization, 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return (text === '' ? {} : JSON.parse(text)) as { id: number; results: { id: number }[] };
  };
  const [user] = (await call(`users/?username=${username}`)).results;
  const { id } = await call('organizations/', { name: 'Research' });
  await call(`organizations/${id}/users/`, { id: user?.id });
}

test('owners are told by command and by job, once, in the words of their organization', async () => {
  await using server = await mailServer();
  const organizations = { Research: { subject: 'For {organization}', text: 'Dear {owner}' } };
  const at = mailing(server.url, { thresholds: EVERY_TOKEN, organizations });
  const { plan } = read(await notify(at, '--dry-run', '--json'));
  const [first] = plan.digests;
  if (first === undefined) throw new Error('no one to tell');
  await organizationOf(first.owner);
  const dry = await notify(at, '--dry-run', '--show', first.owner);
  expect(dry).toMatchObject({ code: 0, stdout: expect.stringContaining('Subject: For Research') });
  expect([server.mails, dry.stdout.includes(first.address)]).toEqual([[], true]);
  expect((await at.run(['log', 'list', '--json'])).stdout.trim()).toBe('[]');

  const one = await notify(at, '--at-most', '1', '--yes', '--json');
  expect([one.code, read(one).sent]).toEqual([0, 1]);
  const job = await at.run(['jobs', 'run', 'mail', '--json']);
  expect(job.code).toBe(0);
  expect(server.mails.map(({ to }) => to).sort()).toEqual(plan.digests.map(({ address }) => address).sort());
  expect(server.mails[0]?.lines).toContain(`Dear ${first.owner}`);
  const again = await notify(at, '--yes', '--json');
  expect([again.code, read(again).plan.digests, read(again).plan.toldBefore > 0]).toEqual([0, [], true]);
  expect(server.mails).toHaveLength(plan.digests.length);
});

test('mail needs a server, an audit log, and one that takes it', async () => {
  const bare = await notify(home(), '--dry-run');
  expect(bare).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Emails to owners are not configured'),
  });
  await using server = await mailServer({ RCPT: '450 later' });
  const at = mailing(server.url, { thresholds: EVERY_TOKEN });
  const unlogged = await notify(at, '--yes', '--log-file', '/dev/null/audit.jsonl');
  expect([unlogged.code, server.lines]).toEqual([6, []]);
  const failed = await notify(at, '--yes', '--json');
  expect([failed.code, read(failed).sent]).toEqual([5, 0]);
  expect(failed.stderr + failed.stdout).not.toContain('Bug');
});

test.each([
  [{ template: { subject: '{owner}', text: '{tokn}' } }, 'unknown placeholder {tokn}'],
  [{ template: { subject: 'a\nb', text: 'c' } }, 'must be a single line'],
  [{ optOut: [{ user: 'ci-*' }] }, 'explain the exception'],
  [{ from: 'a@example.org\r\nBcc: b@example.org' }, 'must be a single line'],
])('the configuration refuses %j', async (settings, message) => {
  const { code, stderr } = await notify(mailing('smtp://127.0.0.1', settings), '--dry-run');
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});
