import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { draft } from '../../support/drafts.ts';
import { deadPort, messagesIn, receiver, silence, webServer } from '../../support/receivers.ts';
import { estate } from './estate.ts';
import { startTokenctl, temporaryFolder, tokenctl } from './program.ts';

const bin = fileURLToPath(new URL('../../../bin/tokenctl.js', import.meta.url));
const upTo = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

async function place(entries: number) {
  const folder = temporaryFolder();
  const path = join(folder, 'audit.jsonl');
  const log = openFileLog({ path, clock: { now: () => new Date() } });
  const append = async (count: number) => {
    await Promise.all(Array.from({ length: count }, () => log.append(draft())));
  };
  await append(entries);
  const args = (...more: string[]) => ['log', 'export', '--log-file', path, ...more];
  return { folder, path, append, args, cursor: join(folder, 'siem.cursor') };
}

/** The numbers of the entries in lines of JSON. */
function numbersIn(lines: readonly string[]): number[] {
  return lines.filter((line) => line !== '').map((line) => (JSON.parse(line) as { seq: number }).seq);
}

describe('log export', () => {
  test('prints the log unchanged, so that a copy can be verified', async () => {
    const { path, args, folder } = await place(700);
    const printed = await tokenctl(args('--format', 'jsonl'));
    expect(printed.stdout).toBe(readFileSync(path, 'utf8'));
    const copy = join(folder, 'copy.jsonl');
    const copied = await tokenctl(args('--format', 'jsonl', '--to', copy, '--json'));
    expect(JSON.parse(copied.stdout)).toEqual({ entries: 700, records: 700, last: 700 });
    expect((await tokenctl(['log', 'verify', '--log-file', copy])).code).toBe(0);
    const some = await tokenctl(args('--format', 'jsonl', '--since', '699'));
    expect(numbersIn(some.stdout.split('\n'))).toEqual([699, 700]);
    expect((await tokenctl(args('--format', 'jsonl', '--since', '2099-01-01'))).stdout).toBe('');
  });

  test('ends without an error if the reader closes the pipe', async () => {
    const { args } = await place(3_000);
    const running = startTokenctl(args('--format', 'ocsf'), { env: {} });
    running.stopReading();
    expect(await running.ended).toMatchObject({ code: 0, stderr: '' });
  });

  test('resumes by its cursor, and changes neither log nor cursor without need', async () => {
    const { args, append, cursor } = await place(3);
    const run = () => tokenctl(args('--format', 'jsonl', '--cursor', cursor));
    expect(numbersIn((await run()).stdout.split('\n'))).toEqual([1, 2, 3]);
    const kept = readFileSync(cursor, 'utf8');
    expect(JSON.parse(kept)).toMatchObject({ v: 1, seq: 3 });
    expect((await run()).stdout).toBe('');
    expect(readFileSync(cursor, 'utf8')).toBe(kept);
    await append(1);
    expect(numbersIn((await run()).stdout.split('\n'))).toEqual([4]);
  });

  test('says where the sink is not there or refuses; the next run loses nothing', async () => {
    const { args, cursor } = await place(3);
    const port = await deadPort();
    const flags = ['--format', 'syslog', '--cursor', cursor];
    const dead = await tokenctl(args(...flags, '--to', `tcp://127.0.0.1:${port}`));
    expect(dead).toMatchObject({ code: 7, stderr: expect.stringContaining('connection refused') });
    const refusing = await webServer(() => 401);
    const refused = await tokenctl(args(...flags, '--to', `http://127.0.0.1:${refusing.port}/`));
    expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining('status 401') });
    expect(existsSync(cursor)).toBe(false);
    const at = await receiver(undefined, port);
    expect((await tokenctl(args(...flags, '--to', `tcp://127.0.0.1:${port}`))).code).toBe(0);
    await at.until((text) => messagesIn(text).length === 3);
  });

  test('takes a token from a file, and never shows it', async () => {
    const { args, folder } = await place(1);
    const token = join(folder, 'siem.token');
    writeFileSync(token, 's3cret\n', { mode: 0o600 });
    const { port, requests } = await webServer(() => 200);
    const to = `http://127.0.0.1:${port}/`;
    const run = await tokenctl(args('--format', 'ecs', '--to', to, '--token-file', token));
    expect([run.code, requests[0]?.authorization]).toEqual([0, 'Bearer s3cret']);
    expect(run.stdout + run.stderr).not.toContain('s3cret');
    writeFileSync(join(folder, 'open.token'), 's3cret', { mode: 0o644 });
    const open = await tokenctl(
      args('--format', 'ecs', '--to', to, '--token-file', join(folder, 'open.token')),
    );
    expect(open).toMatchObject({ code: 2, stderr: expect.stringContaining('chmod 600') });
  });

  test('a cursor that the disk has no room for is told, and nothing is lost', {
    tags: ['long'],
  }, async () => {
    const { args, cursor } = await place(3);
    const command = args('--format', 'jsonl', '--cursor', cursor);
    // No file may become larger than nothing: what is written fails, as on a full disk.
    const child = spawn('sh', ['-c', 'ulimit -f 0; exec "$0" "$@"', process.execPath, bin, ...command], {
      env: { PATH: process.env['PATH'] ?? '' },
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    const [code] = (await once(child, 'close')) as [number];
    expect([code, numbersIn(stdout.split('\n'))]).toEqual([5, [1, 2, 3]]);
    expect(stderr).toMatch(/Could not write the cursor \S+: the file has reached the maximum size/);
    const again = await tokenctl(command);
    expect(numbersIn(again.stdout.split('\n'))).toEqual([1, 2, 3]);
  });

  test('follows what another process appends, over a sink that breaks, until stopped', {
    tags: ['long'],
  }, async () => {
    const { args, append, cursor } = await place(2);
    const at = await receiver();
    const to = `tcp://127.0.0.1:${at.port}`;
    const running = startTokenctl(
      args('--format', 'jsonl', '--to', to, '--cursor', cursor, '--follow', '--json'),
      { env: {} },
    );
    const has = (last: number) => at.until((text) => text.includes(`"seq":${last},`));
    await has(2);
    await append(200);
    await has(202);
    at.drop();
    await append(3);
    await has(205);
    running.kill('SIGTERM');
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ entries: 205, records: 205, last: 205 });
    expect(JSON.parse(readFileSync(cursor, 'utf8'))).toMatchObject({ seq: 205 });
    expect(numbersIn(at.text().split('\n'))).toEqual(upTo(1, 205));
  });

  test('killed at any time and started again, it hands over every entry at least once, in order', {
    tags: ['long'],
  }, async () => {
    const { args, append, cursor } = await place(4_000);
    const at = await receiver();
    const flags = ['--format', 'jsonl', '--to', `tcp://127.0.0.1:${at.port}`, '--cursor', cursor];
    for (const bytes of [1, 100_000, 400_000]) {
      const before = at.text().length;
      const running = startTokenctl(args(...flags, '--follow'), { env: {} });
      await append(150);
      await at.until((text) => text.length >= before + bytes);
      running.kill('SIGKILL');
      await running.ended;
    }
    expect((await tokenctl(args(...flags))).code).toBe(0);
    await at.until((text) => text.includes('"seq":4450,'));
    // A line that the kill cut short is followed by the first line of the next connection.
    const lines = at
      .text()
      .split('\n')
      .map((line) => line.slice(Math.max(line.lastIndexOf('{"actor"'), 0)));
    const numbers = numbersIn(lines);
    expect(new Set(numbers)).toEqual(new Set(upTo(1, 4_450)));
    const first = numbers.filter((seq, index) => numbers.indexOf(seq) === index);
    expect(first).toEqual(upTo(1, 4_450));
  });

  test('flags that do not go together are refused', async () => {
    const { args } = await place(1);
    for (const wrong of [
      [],
      ['--format', 'xml'],
      ['--format', 'ocsf', '--ca-file', 'x'],
      ['--format', 'ocsf', '--to', 'ftp://x'],
      ['--format', 'ocsf', '--since', 'someday'],
    ]) {
      expect([wrong, (await tokenctl(args(...wrong))).code]).toEqual([wrong, 2]);
    }
  });
});

describe('sinks and revocations', () => {
  const { home } = estate({ users: 8, tokens: 40 });

  async function userWithToken(run: ReturnType<typeof home>['run']): Promise<string> {
    const tokens = JSON.parse((await run(['tokens', 'list', '--json'])).stdout) as {
      user: { username: string };
    }[];
    return tokens.find(({ user }) => user.username !== 'admin')?.user.username ?? '';
  }

  test('an export whose sink hangs keeps no revocation from being done', { tags: ['long'] }, async () => {
    const { start, run } = home();
    await run(['tokens', 'revoke', '--user', await userWithToken(run), '--yes']);
    const sink = await silence();
    const to = `http://127.0.0.1:${sink.port}/`;
    const exporting = start(['log', 'export', '--format', 'ocsf', '--to', to, '--follow']);
    onTestFinished(() => void exporting.kill('SIGKILL'));
    await sink.connected;
    const revoked = await run(['tokens', 'revoke', '--user', await userWithToken(run), '--yes', '--json']);
    expect(revoked.code).toBe(0);
    expect((JSON.parse(revoked.stdout) as { revoked: number }).revoked).toBeGreaterThan(0);
    exporting.kill('SIGTERM');
    expect((await exporting.ended).code).toBe(0);
  });

  test('a report on them is written as Markdown, HTML and JSON', { tags: ['long'] }, async () => {
    const { folder, run } = home();
    const order = ['--reason', 'stolen laptop', '--ticket', 'SEC-9'];
    await run(['tokens', 'revoke', '--user', await userWithToken(run), '--yes', ...order]);
    const markdown = await run(['log', 'report', '--since', '1d']);
    expect(markdown.code).toBe(0);
    expect(markdown.stdout).toContain('stolen laptop');
    expect(markdown.stdout).toMatch(
      /- \*\*Verification\*\*: each of \d+ entries follows from the previous one; not compared with a checkpoint\n/,
    );
    const output = join(folder, 'incident.html');
    const html = await run(['log', 'report', '--format', 'html', '--output', output]);
    expect(html).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Wrote the report on 1 run with'),
    });
    expect(readFileSync(output, 'utf8')).toContain('SEC-9');
    expect(statSync(output).mode & 0o777).toBe(0o600);
    expect((await run(['log', 'report', '--output', output])).code).toBe(2);
    expect((await run(['log', 'report', '--output', output, '--replace'])).code).toBe(0);
    const json = JSON.parse((await run(['log', 'report', '--json'])).stdout) as {
      readonly totals: { readonly runs: number };
      readonly runs: readonly { readonly ticket: string }[];
      readonly verification: { readonly head: { readonly hash: string } };
    };
    expect([json.totals.runs, json.runs[0]?.ticket]).toEqual([1, 'SEC-9']);
    const log = join(folder, '.local/state/tokenctl/audit.jsonl');
    const last = readFileSync(log, 'utf8').trimEnd().split('\n').at(-1) ?? '';
    expect(json.verification.head.hash).toBe(createHash('sha256').update(last).digest('hex'));
    expect((await run(['log', 'report', '--since', '1d', '--until', '2d'])).code).toBe(2);
    writeFileSync(log, 'rubbish\n', { flag: 'a' });
    expect((await run(['log', 'report'])).code).toBe(6);
  });

  test('a required sink that does not take the intent does, and one that takes it does not', async () => {
    const { folder, run } = home();
    const config = join(folder, '.config/tokenctl/tokenctl.yaml');
    const before = readFileSync(config, 'utf8');
    const requiring = (to: string) =>
      writeFileSync(config, `${before}auditLog: { required: { to: "${to}", format: ocsf, timeout: 1s } }\n`);
    requiring(`http://127.0.0.1:${(await silence()).port}/`);
    const tokens = async () => JSON.parse((await run(['tokens', 'list', '--json'])).stdout) as unknown[];
    const alive = (await tokens()).length;
    const refused = await run(['tokens', 'revoke', '--all', '--yes']);
    expect(refused).toMatchObject({ code: 6, stderr: expect.stringContaining('The required sink') });
    expect((await tokens()).length).toBe(alive);
    const { port, requests } = await webServer(() => 200);
    requiring(`http://127.0.0.1:${port}/`);
    expect((await run(['tokens', 'revoke', '--all', '--yes'])).code).toBe(0);
    expect(requests.length).toBeGreaterThan(1);
    expect(JSON.parse(requests[0]?.body ?? '')).toMatchObject({ status: 'Intended', class_uid: 3004 });
    requiring('udp://127.0.0.1:514');
    const udp = await run(['tokens', 'list']);
    expect(udp).toMatchObject({ code: 2, stderr: expect.stringContaining('must not be udp://') });
  });
});
