import { spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stopClocks } from '@tokenctl/testing/virtual-clock.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lock, tryLock } from '../../src/db/file-system.ts';

const MODULE = fileURLToPath(new URL('../../src/db/file-system.ts', import.meta.url));

describe('a lock on a file', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tokenctl-lock-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** A process that holds the lock until it is ended. */
  async function holder(path: string) {
    const script = `
      const { tryLock } = await import(${JSON.stringify(MODULE)});
      process.stdout.write(tryLock(${JSON.stringify(path)}) === null ? 'busy' : 'held');
      setInterval(() => undefined, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const end = () =>
      new Promise((resolve) => {
        child.once('exit', resolve);
        child.kill('SIGKILL');
      });
    for await (const part of child.stdout.setEncoding('utf8')) return { said: String(part), end };
    return { said: 'nothing', end };
  }

  it('is held by one at a time in a process, and free again when let go', () => {
    const path = join(folder, 'one');
    const first = tryLock(path);
    expect(first).not.toBeNull();
    expect(tryLock(path)).toBeNull();
    first?.release();
    first?.release();
    {
      using second = tryLock(path);
      expect(second).not.toBeNull();
    }
    tryLock(path)?.release();
    const last = tryLock(path);
    expect(last).not.toBeNull();
    last?.release();
  });

  it('is held by one process at a time, and freed by its death, however sudden', async () => {
    const path = join(folder, 'two');
    const one = await holder(path);
    expect(one.said).toBe('held');
    expect(tryLock(path)).toBeNull();
    const two = await holder(path);
    expect(two.said).toBe('busy');
    await two.end();
    await one.end();
    const mine = tryLock(path);
    expect(mine).not.toBeNull();
    mine?.release();
  });

  it('can be waited for, for as long as is said', async () => {
    const path = join(folder, 'three');
    const held = tryLock(path);
    const pass = stopClocks();
    const inVain = lock(path, 5_000);
    pass(5_000);
    expect(await inVain).toBeNull();
    const waiting = lock(path, 5_000);
    pass(4_999);
    held?.release();
    const mine = await waiting;
    expect(mine).not.toBeNull();
    mine?.release();
  });

  it('is an error where the file cannot be one', async () => {
    expect(() => tryLock(join(folder, 'no', 'such', 'folder'))).toThrow();
    const path = join(folder, 'other');
    await writeFile(path, 'this is something else entirely, and must not be overwritten');
    await chmod(path, 0o600);
    expect(() => tryLock(path)).toThrow();
  });
});
