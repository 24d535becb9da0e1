import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Secret } from '@tokenctl/common/secret.ts';
import { NO_ANSWER_MS } from '@tokenctl/testing/limits.ts';
import { until } from '@tokenctl/testing/until.ts';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { commandStore } from '../../../src/stores/command-store.ts';
import { fileStore } from '../../../src/stores/file-store.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tokenctl-store-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const [old, fresh] = [new Secret('the old token'), new Secret('the new token')];

describe('a file as a store', () => {
  const at = (path = join(folder, 'token')) => fileStore(path, 'The store ci');

  it('is made for its owner only, and read back without its line feed', async () => {
    const store = at();
    expect(await store.read()).toBeNull();
    await store.write(old, null);
    expect((await store.read())?.reveal()).toBe('the old token');
    expect(statSync(join(folder, 'token')).mode & 0o777).toBe(0o600);
  });

  it('keeps its mode and a symbolic link, and leaves nothing beside it', async () => {
    writeFileSync(join(folder, 'real'), 'the old token\n');
    chmodSync(join(folder, 'real'), 0o640);
    symlinkSync('real', join(folder, 'token'));
    await at().write(fresh, old);
    expect(readFileSync(join(folder, 'real'), 'utf8')).toBe('the new token\n');
    expect(statSync(join(folder, 'real')).mode & 0o777).toBe(0o640);
    expect(readdirSync(folder).toSorted()).toEqual(['real', 'token']);
  });

  it('of which others can read the file is refused where it has to be private', async () => {
    const own = fileStore(join(folder, 'token'), 'The store ci', { isPrivate: true });
    writeFileSync(join(folder, 'token'), '');
    chmodSync(join(folder, 'token'), 0o644);
    await expect(own.write(fresh, null)).rejects.toMatchObject({ code: 'configuration' });
    symlinkSync('/dev/null', join(folder, 'link'));
    const link = fileStore(join(folder, 'link'), 'The store ci', { isPrivate: true });
    await expect(link.read()).rejects.toMatchObject({ code: 'configuration' });
    expect(readFileSync(join(folder, 'token'), 'utf8')).toBe('');
    chmodSync(join(folder, 'token'), 0o600);
    await own.write(fresh, null);
    expect((await own.read())?.reveal()).toBe('the new token');
  });

  it('is left as it is where someone else wrote it', async () => {
    writeFileSync(join(folder, 'token'), 'of someone else\n');
    for (const over of [old, null]) {
      await expect(at().write(fresh, over)).rejects.toMatchObject({ code: 'store_changed' });
    }
    expect(readFileSync(join(folder, 'token'), 'utf8')).toBe('of someone else\n');
    expect(readdirSync(folder)).toEqual(['token']);
  });

  it('says why it cannot be written or read', async () => {
    await expect(at(join(folder, 'none', 'token')).write(fresh, null)).rejects.toMatchObject({
      message: `The store ci (${folder}/none/token) cannot be written (ENOENT)`,
      hint: 'Create its folder.',
    });
    await expect(at(folder).read()).rejects.toMatchObject({ code: 'configuration' });
  });

  it('is written in spite of what killed processes left beside it, and removes that in time', async () => {
    const [left, recent] = ['token.0123456789ab.new', 'token.ba9876543210.new'];
    for (const name of [left, recent, 'token.new', `token.${process.pid}.new`]) {
      writeFileSync(join(folder, name), 'half');
      if (name !== recent) utimesSync(join(folder, name), 1, 1);
    }
    await at().write(fresh, null);
    expect(readdirSync(folder).toSorted()).toEqual(
      ['token', recent, 'token.new', `token.${process.pid}.new`].toSorted(),
    );
  });
});

describe('two commands as a store', () => {
  const place = () => join(folder, 'kept');
  const node = (script: string) => [process.execPath, '-e', script, place()];
  const WRITE = "require('fs').writeFileSync(process.argv[1], require('fs').readFileSync(0))";
  const READ = "try { process.stdout.write(require('fs').readFileSync(process.argv[1])) } catch {}";
  const at = (changed: { readonly write?: string; readonly read?: string; readonly timeout?: number } = {}) =>
    commandStore(
      {
        write: node(changed.write ?? WRITE),
        read: node(changed.read ?? READ),
        timeout: changed.timeout ?? 60,
        environment: {},
      },
      'The store cloud',
    );

  it('gets the value on standard input, never as an argument, and reads it back', async () => {
    const store = at({ write: `${WRITE}; if (process.argv.join().includes(' token')) process.exit(9)` });
    expect(await store.read()).toBeNull();
    await store.write(old, null);
    expect((await store.read())?.reveal()).toBe('the old token');
    await store.write(fresh, old);
    expect(readFileSync(place(), 'utf8')).toBe('the new token');
    await expect(store.write(fresh, old)).rejects.toMatchObject({ code: 'store_changed' });
  });

  it('says how a command failed, and quotes nothing of it', async () => {
    const failing = "console.log('the old token'); console.error('the old token'); process.exit(3)";
    const error: unknown = await at({ read: failing })
      .read()
      .catch((caught: unknown) => caught);
    expect(error).toMatchObject({
      code: 'target_unreachable',
      message: expect.stringMatching(/ended with 3$/),
    });
    expect(JSON.stringify(error)).not.toContain('the old token');
    await expect(at({ read: "process.stdout.write('x'.repeat(100_000))" }).read()).rejects.toMatchObject({
      message: expect.stringContaining('printed too much'),
    });
    const missing = commandStore(
      { write: ['/no/such/program'], read: ['/no/such/program'], timeout: 60, environment: {} },
      'The store cloud',
    );
    await expect(missing.read()).rejects.toMatchObject({ code: 'configuration' });
  });

  it('waits for nothing that a command leaves behind with its output, once it is stopped', async () => {
    const leaving = (script: string) =>
      at({
        read: `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(script)}, process.argv[1], String(process.pid)], { stdio: ['ignore', 'inherit', 'ignore'], detached: true }).unref()`,
      });
    const flood = leaving("setInterval(() => process.stdout.write('x'.repeat(100_000)))");
    await expect(flood.read()).rejects.toMatchObject({
      message: expect.stringContaining('printed too much'),
    });
    const stop = new AbortController();
    const reading = leaving(
      "const timer = setInterval(() => { if (process.ppid === Number(process.argv[2])) return; clearInterval(timer); require('fs').writeFileSync(process.argv[1], String(process.pid)); setInterval(() => {}, 1000) }, 10)",
    ).read(stop.signal);
    reading.catch(() => undefined);
    const left = await until(() => (existsSync(place()) ? Number(readFileSync(place(), 'utf8')) : 0));
    onTestFinished(() => void process.kill(left, 'SIGKILL'));
    stop.abort();
    await expect(reading).rejects.toMatchObject({ code: 'interrupted' });
  });

  it('ends a command that hangs, also when it is stopped itself', async () => {
    const hanging = at({ read: 'setInterval(() => {}, 1000)', timeout: NO_ANSWER_MS / 1000 });
    await expect(hanging.read()).rejects.toMatchObject({
      message: expect.stringContaining('did not end within'),
    });
    const patient = at({ read: 'setInterval(() => {}, 1000)' });
    await expect(patient.read(AbortSignal.abort())).rejects.toMatchObject({ code: 'interrupted' });
  });
});
