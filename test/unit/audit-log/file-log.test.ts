import { appendFile, chmod, mkdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { refused } from '@tokenctl/testing/refused.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { describe, expect, test } from 'vitest';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { draft, RUN, stillClock } from '../../support/drafts.ts';
import { refusal, sequence } from '../../support/logs.ts';

async function opened() {
  const folder = await temporaryFolder();
  const path = join(folder.path, 'state', 'audit.jsonl');
  const log = openFileLog({ path, clock: stillClock });
  return { folder, path, log, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

describe('append', () => {
  test('makes the folder and the file, for their owner alone', async () => {
    await using at = await opened();
    await at.log.append(draft());
    expect((await stat(at.path)).mode & 0o777).toBe(0o600);
    // Its owner may run it: that says that the log has entries.
    expect((await stat(`${at.path}.lock`)).mode & 0o777).toBe(0o700);
    expect((await stat(join(at.folder.path, 'state'))).mode & 0o777).toBe(0o700);
  });

  test('cuts away a line that a crash left unfinished, and notes it', async () => {
    await using at = await opened();
    await at.log.append(draft());
    await appendFile(at.path, '{"half":');
    expect(await at.log.verify()).toMatchObject({ entries: 1, break: null, tornBytes: 8 });
    expect(await sequence(at.log)).toEqual([1]);
    const after = await at.log.append(draft());
    expect(after.seq).toBe(3);
    const entries = (await readFile(at.path, 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(entries[1]).toMatchObject({
      kind: 'note',
      operation: 'log.repair',
      data: { bytes: 8, text: '{"half":' },
    });
    expect(await at.log.verify()).toMatchObject({ entries: 3, break: null, tornBytes: 0 });
  });

  test('cuts away a file that is nothing but an unfinished line', async () => {
    await using at = await opened();
    await mkdir(join(at.folder.path, 'state'), { mode: 0o700 });
    await writeFile(at.path, 'half', { mode: 0o600 });
    expect((await at.log.append(draft())).seq).toBe(2);
    expect(await at.log.verify()).toMatchObject({ entries: 2, break: null });
  });
});

describe('what cannot be a log is refused with its path and the reason', () => {
  test('a symbolic link, also to a file that could be written', async () => {
    await using at = await opened();
    await mkdir(join(at.folder.path, 'state'), { mode: 0o700 });
    const elsewhere = join(at.folder.path, 'elsewhere');
    await writeFile(elsewhere, '', { mode: 0o600 });
    await symlink(elsewhere, at.path);
    const error = await refusal(at.log.append(draft()));
    expect(error).toMatchObject(refused('audit_unavailable', 'symbolic link'));
    expect(await readFile(elsewhere, 'utf8')).toBe('');
    expect(await refusal(at.log.head())).toMatchObject({ code: 'audit_unavailable' });
  });

  test('a folder', async () => {
    await using at = await opened();
    await mkdir(at.path, { recursive: true });
    expect((await refusal(at.log.append(draft()))).message).toContain(at.path);
  });

  test('a device', async () => {
    const log = openFileLog({ path: '/dev/null', clock: stillClock });
    expect((await refusal(log.head())).message).toContain('not a regular file');
  });

  test('a file or a folder that is writable by all users', async () => {
    await using at = await opened();
    await at.log.append(draft());
    await chmod(at.path, 0o666);
    expect((await refusal(at.log.append(draft()))).message).toContain('writable by all users');
    await using another = await opened();
    await mkdir(join(another.folder.path, 'state'));
    await chmod(join(another.folder.path, 'state'), 0o777);
    expect((await refusal(another.log.append(draft()))).message).toContain('its directory');
  });

  test('a path below a file', async () => {
    await using at = await opened();
    await writeFile(join(at.folder.path, 'state'), '');
    const error = await refusal(at.log.append(draft()));
    expect(error).toMatchObject(refused('audit_unavailable', 'not a directory'));
  });
});

describe('reading', () => {
  test.each([
    ['emptied', (path: string) => truncate(path)],
    ['removed', (path: string) => rm(path)],
  ])('a log that was %s is not one without entries', async (_, act) => {
    await using at = await opened();
    expect([await sequence(at.log), (await at.log.head()).size]).toEqual([[], 0]);
    await at.log.append(draft());
    await act(at.path);
    const why = 'it has no entries, but its lock file shows that some were appended';
    const broken = { code: 'log_broken', message: expect.stringContaining(why) };
    await expect(sequence(at.log)).rejects.toMatchObject(broken);
    await expect(at.log.head()).rejects.toMatchObject(broken);
  });

  test('shows that the end was cut off only by the head', async () => {
    await using at = await opened();
    await at.log.append(draft());
    const { size } = await stat(at.path);
    const kept = await at.log.head();
    await at.log.append(draft());
    const before = await at.log.head();
    await truncate(at.path, size);
    const found = await at.log.verify();
    expect(found.break).toBeNull();
    expect(found.head).toEqual(kept);
    expect(found.head).not.toEqual(before);
  });
});

describe('abandonedIntents', () => {
  test('finds it before a last line that is longer than what is read at once', async () => {
    await using at = await opened();
    const intents = [
      await at.log.append(draft({ kind: 'intent' })),
      await at.log.append(draft({ kind: 'intent' })),
    ];
    await at.log.append(draft({ data: { text: 'x'.repeat(700_000) } }));
    expect(await at.log.abandonedIntents()).toEqual(intents);
  });

  test('treats a run of a killed process as abandoned', async () => {
    await using at = await opened();
    await at.log.append(draft({ kind: 'intent' }));
    await mkdir(`${at.path}.runs`);
    await writeFile(join(`${at.path}.runs`, `${RUN}.lock`), '');
    expect(await at.log.abandonedIntents()).toHaveLength(1);
    await expect(stat(join(`${at.path}.runs`, `${RUN}.lock`))).rejects.toThrow();
  });
});
