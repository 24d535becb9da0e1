import { appendFile, chmod, mkdir, readFile, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openFileLog } from '../../src/audit/file-log.ts';
import { TokenctlError } from '../../src/core/errors.ts';
import type { AuditLog } from '../../src/operations/audit-log-port.ts';
import { draft, RUN, stillClock, temporaryFolder } from './drafts.ts';

async function opened() {
  const folder = await temporaryFolder();
  const path = join(folder.path, 'state', 'audit.jsonl');
  const log = openFileLog({ path, clock: stillClock });
  return { folder, path, log, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

async function refusal(work: Promise<unknown>): Promise<TokenctlError> {
  const error: unknown = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof TokenctlError) return error;
  throw new Error(`Not refused as expected: ${String(error)}`);
}

async function sequence(log: AuditLog): Promise<number[]> {
  const numbers: number[] = [];
  for await (const { seq } of log.entries()) numbers.push(seq);
  return numbers;
}

describe('append', () => {
  test('makes the folder and the file, for their owner alone', async () => {
    await using at = await opened();
    await at.log.append(draft());
    expect((await stat(at.path)).mode & 0o777).toBe(0o600);
    expect((await stat(`${at.path}.lock`)).mode & 0o777).toBe(0o600);
    expect((await stat(join(at.folder.path, 'state'))).mode & 0o777).toBe(0o700);
  });

  test('returns the entry as it stands in the file', async () => {
    await using at = await opened();
    const entry = await at.log.append(draft({ kind: 'intent' }));
    expect(entry).toMatchObject({ seq: 1, at: '2026-11-20T10:00:00.000Z', open: [1] });
    expect(JSON.parse(await readFile(at.path, 'utf8'))).toEqual(entry);
  });

  test('numbers concurrent appends in their order', async () => {
    await using at = await opened();
    const entries = await Promise.all(
      Array.from({ length: 50 }, (_, index) => at.log.append(draft({ data: { index } }))),
    );
    expect(entries.map(({ seq, data }) => seq - Number(data['index']))).toEqual(
      Array.from({ length: 50 }, () => 1),
    );
    expect(await at.log.verify()).toMatchObject({ entries: 50, break: null });
  });

  test('follows what another instance appended meanwhile', async () => {
    await using at = await opened();
    const other = openFileLog({ path: at.path, clock: stillClock });
    for (let round = 0; round < 5; round += 1) {
      await Promise.all([at.log.append(draft()), other.append(draft()), at.log.append(draft())]);
    }
    expect(await at.log.verify()).toMatchObject({ entries: 15, break: null });
  });

  test('refuses one entry that is no JSON, and takes the others of its group', async () => {
    await using at = await opened();
    const first = at.log.append(draft());
    const [bad, good] = [at.log.append(draft({ data: { value: Number.NaN } })), at.log.append(draft())];
    expect(await refusal(bad)).toMatchObject({ code: 'audit_unavailable' });
    expect((await first).seq).toBe(1);
    expect((await good).seq).toBe(2);
    expect(await at.log.verify()).toMatchObject({ entries: 2, break: null });
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

  test('does not build on a last line that is no entry', async () => {
    await using at = await opened();
    await at.log.append(draft());
    await appendFile(at.path, 'garbage\n');
    const error = await refusal(at.log.append(draft()));
    expect(error).toMatchObject({ code: 'audit_unavailable', hint: expect.stringContaining('log verify') });
    expect(error.message).toContain(at.path);
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
    expect(error).toMatchObject({
      code: 'audit_unavailable',
      message: expect.stringContaining('symbolic link'),
    });
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

  test('a file or a folder that everybody may write to', async () => {
    await using at = await opened();
    await at.log.append(draft());
    await chmod(at.path, 0o666);
    expect((await refusal(at.log.append(draft()))).message).toContain('everybody may write');
    await using another = await opened();
    await mkdir(join(another.folder.path, 'state'));
    await chmod(join(another.folder.path, 'state'), 0o777);
    expect((await refusal(another.log.append(draft()))).message).toContain(
      'everybody may write to its folder',
    );
  });

  test('a path below a file', async () => {
    await using at = await opened();
    await writeFile(join(at.folder.path, 'state'), '');
    const error = await refusal(at.log.append(draft()));
    expect(error).toMatchObject({
      code: 'audit_unavailable',
      message: expect.stringContaining('not a folder'),
    });
  });
});

describe('reading', () => {
  test('a log that does not exist is empty, and reading makes none', async () => {
    await using at = await opened();
    expect(await at.log.head()).toEqual({ size: 0, hash: '0'.repeat(64) });
    expect(await sequence(at.log)).toEqual([]);
    expect(await at.log.verify()).toMatchObject({ entries: 0, break: null });
    expect(await at.log.abandonedIntents()).toEqual([]);
    await expect(stat(at.path)).rejects.toThrow();
  });

  test('stops at a line that is no entry, with its number', async () => {
    await using at = await opened();
    await at.log.append(draft());
    await appendFile(at.path, 'garbage\n');
    expect(await refusal(sequence(at.log))).toMatchObject({ code: 'log_broken', details: { line: 2 } });
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
  test('finds an open intent at the far end of a long log', async () => {
    await using at = await opened();
    await at.log.append(draft());
    const intent = await at.log.append(draft({ kind: 'intent', data: { text: 'x'.repeat(200_000) } }));
    const filler = Array.from({ length: 3000 }, (_, index) =>
      draft({ data: { index, text: 'y'.repeat(index % 300) } }),
    );
    await Promise.all(filler.map((each) => at.log.append(each)));
    expect(await at.log.abandonedIntents()).toEqual([intent]);
    await at.log.append(draft({ kind: 'outcome', closes: intent.seq }));
    expect(await at.log.abandonedIntents()).toEqual([]);
  });

  test('finds it before a last line that is longer than what is read at once', async () => {
    await using at = await opened();
    const intents = [
      await at.log.append(draft({ kind: 'intent' })),
      await at.log.append(draft({ kind: 'intent' })),
    ];
    await at.log.append(draft({ data: { text: 'x'.repeat(700_000) } }));
    expect(await at.log.abandonedIntents()).toEqual(intents);
  });

  test('leaves a run alone that somebody works on', async () => {
    await using at = await opened();
    const hold = await at.log.holdRun(RUN);
    await at.log.append(draft({ kind: 'intent' }));
    const other = openFileLog({ path: at.path, clock: stillClock });
    expect(await other.abandonedIntents()).toEqual([]);
    hold[Symbol.dispose]();
    expect(await other.abandonedIntents()).toHaveLength(1);
  });

  test('counts a run whose file was left by a killed process as nobody’s', async () => {
    await using at = await opened();
    await at.log.append(draft({ kind: 'intent' }));
    await mkdir(`${at.path}.runs`);
    await writeFile(join(`${at.path}.runs`, `${RUN}.lock`), '');
    expect(await at.log.abandonedIntents()).toHaveLength(1);
    await expect(stat(join(`${at.path}.runs`, `${RUN}.lock`))).rejects.toThrow();
  });

  test('is not led to another path by a run of a strange name', async () => {
    await using at = await opened();
    await at.log.append(draft({ kind: 'intent', run: '../../../etc/passwd' }));
    expect(await at.log.abandonedIntents()).toHaveLength(1);
  });
});
