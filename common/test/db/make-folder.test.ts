import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeFolder } from '../../src/db/file-system.ts';

describe('a folder', () => {
  let base: string;
  beforeAll(async () => {
    base = await mkdtemp(join(tmpdir(), 'tokenctl-folder-'));
  });
  afterAll(() => rm(base, { recursive: true, force: true }));

  it('is made with those above it, for its owner alone, and the topmost is told', async () => {
    expect(await makeFolder(join(base, 'a', 'b', 'c'))).toBe(join(base, 'a'));
    expect((await stat(join(base, 'a', 'b'))).mode & 0o777).toBe(0o700);
  });

  it('that is there already is left alone', async () => {
    expect(await makeFolder(base)).toBeUndefined();
  });

  it('made by several at once is there for all', async () => {
    const made = Array.from({ length: 8 }, () => makeFolder(join(base, 'x', 'y', 'z')));
    await expect(Promise.all(made)).resolves.toHaveLength(8);
  });

  it.skipIf(process.platform !== 'linux')(
    'that the file system will never make is an error, and no loop',
    async () => {
      await expect(makeFolder('/proc/nothing/there')).rejects.toMatchObject({ code: 'ENOENT' });
    },
  );
});
