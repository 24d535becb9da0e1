import { appendFile, link, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { refused } from '@tokenctl/testing/refused.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { describe, expect, test } from 'vitest';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { generateNoteKey, parseSigner } from '../../../src/domain/note-key.ts';
import {
  makeCheckpoint,
  proveInclusion,
  verifyInclusion,
} from '../../../src/operations/audit-log/checkpoints.ts';
import {
  filesToPrune,
  heldEntries,
  pruneLog,
  rotateLog,
} from '../../../src/operations/audit-log/rotate-log.ts';
import { verifyLog } from '../../../src/operations/audit-log/verify-log.ts';
import type { AuditLog } from '../../../src/operations/ports/audit-log.ts';
import { draft } from '../../support/drafts.ts';
import { refusal, sequence } from '../../support/logs.ts';
import { verifySecond } from './second-verifier.ts';

const actor = { user: 'root', host: 'bastion' };
const key = generateNoteKey('example.org/audit');
const { verifier } = parseSigner(key);
const keys = { signer: () => Promise.resolve(key), verifiers: () => Promise.resolve([verifier.text]) };

async function opened() {
  const folder = await temporaryFolder();
  const path = join(folder.path, 'audit.jsonl');
  const now = { at: new Date('2026-01-01T00:00:00.000Z') };
  const open = () => openFileLog({ path, clock: { now: () => now.at } });
  return { path, now, open, log: open(), [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

async function append(log: AuditLog, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await log.append(draft({ data: { index } }));
}

/** Three files with 4, 4 and 3 entries; the first of each but the first is the rotation's. */
async function rotated() {
  const at = await opened();
  await append(at.log, 4);
  await rotateLog({ log: at.log, actor });
  await append(at.log, 3);
  at.now.at = new Date('2026-02-01T00:00:00.000Z');
  await rotateLog({ log: at.log, actor });
  await append(at.log, 2);
  return { ...at, first: `${at.path}.1-4`, second: `${at.path}.5-8` };
}

async function linesOf(...paths: readonly string[]): Promise<string[]> {
  const texts = await Promise.all(paths.map((path) => readFile(path, 'utf8')));
  return texts.join('').trimEnd().split('\n');
}

describe('rotation', () => {
  test('closes the file and goes on in a new one that follows from it', async () => {
    await using at = await opened();
    await append(at.log, 3);
    const { head } = await at.log.verify();
    const rotation = await rotateLog({ log: at.log, actor });
    expect(rotation).toMatchObject({
      archive: `${at.path}.1-3`,
      entry: { seq: 4, previous: head.hash, operation: 'log.rotate', actor },
    });
    expect(rotation?.entry.data).toMatchObject({ archive: 'audit.jsonl.1-3', size: 3, hash: head.hash });
    expect((await at.log.append(draft())).seq).toBe(5);
    expect(await sequence(at.log)).toEqual([1, 2, 3, 4, 5]);
    expect(await at.log.verify()).toMatchObject({ entries: 5, break: null });
  });

  test('leaves one chain in all files together', async () => {
    await using at = await rotated();
    expect(await at.log.verify()).toMatchObject({ entries: 11, break: null });
    const lines = await linesOf(at.first, at.second, at.path);
    expect(lines).toHaveLength(11);
    expect(verifySecond(lines)).toBeNull();
  });

  test('does nothing to an empty log', async () => {
    await using at = await opened();
    expect(await rotateLog({ log: at.log, actor })).toBeNull();
    expect(await at.log.head()).toMatchObject({ size: 0 });
  });

  test('cuts an unfinished line away before', async () => {
    await using at = await opened();
    await append(at.log, 2);
    await appendFile(at.path, '{"half":');
    expect((await rotateLog({ log: at.log, actor }))?.archive).toBe(`${at.path}.1-3`);
    expect(await at.log.verify()).toMatchObject({ entries: 4, break: null, tornBytes: 0 });
  });

  test('does not rotate a file with a broken chain', async () => {
    await using at = await opened();
    await append(at.log, 3);
    await writeFile(at.path, (await readFile(at.path, 'utf8')).replace('"index":1', '"index":7'));
    expect(await refusal(rotateLog({ log: at.open(), actor }))).toMatchObject({ code: 'log_broken' });
    expect(await readdir(join(at.path, '..'))).not.toContain('audit.jsonl.1-3');
  });

  test('keeps the writers beside it on the chain', async () => {
    await using at = await opened();
    const logs = [at.log, at.open(), at.open()];
    for (let round = 0; round < 4; round += 1) {
      await Promise.all([
        ...logs.flatMap((log) => Array.from({ length: 5 }, () => log.append(draft()))),
        rotateLog({ log: at.open(), actor }),
      ]);
    }
    const found = await at.open().verify();
    expect(found).toMatchObject({ break: null });
    expect(found.entries).toBeGreaterThanOrEqual(63);
    expect(await sequence(at.log)).toEqual(Array.from({ length: found.entries }, (_, index) => index + 1));
  });

  test('that crashed half-way is finished by the next, with what was appended since', async () => {
    await using at = await opened();
    await append(at.log, 2);
    // The archive's name was given, and the new file not yet put in the place of the old.
    await link(at.path, `${at.path}.1-2`);
    await writeFile(`${at.path}.next`, 'half a li');
    expect(await at.log.verify()).toMatchObject({ entries: 2, break: null });
    await append(at.log, 1);
    expect(await sequence(at.log)).toEqual([1, 2, 3]);
    await rotateLog({ log: at.log, actor });
    expect((await readdir(join(at.path, '..'))).filter((name) => /\.\d+-\d+$/.test(name))).toEqual([
      'audit.jsonl.1-3',
    ]);
    expect(await at.log.verify()).toMatchObject({ entries: 4, break: null });
  });

  test('lets an intent of an older file be found', async () => {
    await using at = await opened();
    await append(at.log, 2);
    const intent = await at.log.append(draft({ kind: 'intent' }));
    await rotateLog({ log: at.log, actor });
    await append(at.log, 1);
    expect(await at.open().abandonedIntents()).toEqual([intent]);
    await at.log.append(draft({ kind: 'outcome', closes: intent.seq }));
    expect(await at.log.abandonedIntents()).toEqual([]);
    expect(await at.log.verify()).toMatchObject({ break: null });
  });

  test('leaves checkpoints and proofs as they are', async () => {
    await using at = await opened();
    await append(at.log, 4);
    const { note } = await makeCheckpoint({ log: at.log, keys });
    await rotateLog({ log: at.log, actor });
    await append(at.log, 3);
    const checkpoint = { note, keys: [verifier.text] };
    expect((await verifyLog({ log: at.log, checkpoint })).checkpoint?.size).toBe(4);
    const { line, proof } = await proveInclusion({ log: at.log, keys, seq: 2 });
    expect(verifyInclusion({ line, proof, keys: [verifier.text] }).seq).toBe(2);
  });
});

describe('several files', () => {
  test.each([
    ['an entry of an older file', 'first', 2, 'edited'],
    ['the last entry of an older file', 'first', 4, 'edited'],
    ['an entry of the file between', 'second', 2, 'edited'],
  ] as const)('tell in which of them %s was changed', async (_, which, line, problem) => {
    await using at = await rotated();
    const lines = await linesOf(at[which]);
    const edited = lines.with(line - 1, (lines[line - 1] ?? '').replace('"index"', '"index_"'));
    await writeFile(at[which], `${edited.join('\n')}\n`);
    expect((await at.open().verify()).break).toMatchObject({ file: basename(at[which]), line, problem });
  });

  test('detect a missing file between others', async () => {
    await using at = await rotated();
    await rm(at.second);
    expect((await at.log.verify()).break).toMatchObject({
      file: 'audit.jsonl',
      line: 1,
      expected: 5,
      problem: 'removed',
    });
  });

  test('detect a missing first file', async () => {
    await using at = await rotated();
    await rm(at.first);
    const found = await at.log.verify();
    expect(found.break).toMatchObject({ file: 'audit.jsonl.5-8', line: 1, expected: 1, problem: 'removed' });
    expect(found.break?.message).toContain('Entries 1 to 4 are missing');
  });

  test('detect an archive whose end was cut off, also in the middle of a line', async () => {
    await using at = await rotated();
    await truncate(at.first, (await readFile(at.first)).length - 20);
    expect((await at.log.verify()).break).toMatchObject({
      file: 'audit.jsonl.1-4',
      line: 4,
      problem: 'unreadable',
    });
  });

  test('do not start again if the current one is missing', async () => {
    await using at = await rotated();
    await rm(at.path);
    expect(await refusal(at.open().append(draft()))).toMatchObject(
      refused('audit_unavailable', 'it is missing'),
    );
  });
});

describe('retention', () => {
  const january = new Date('2026-01-15T00:00:00.000Z');

  test('removes files that are old enough, and says so', async () => {
    await using at = await rotated();
    const planned = await filesToPrune({ log: at.log, before: january });
    const everything = await filesToPrune({ log: at.log, before: new Date('2026-03-01T00:00:00Z') });
    expect(everything).toEqual([...planned, 'audit.jsonl']);
    const pruning = await pruneLog({ log: at.log, actor, before: january });
    expect(pruning?.files).toEqual(planned);
    expect(pruning).toMatchObject({
      files: ['audit.jsonl.1-4', 'audit.jsonl.5-8'],
      entry: { operation: 'log.prune', data: { upTo: 8 } },
    });
    expect(await at.log.verify()).toMatchObject({ entries: 12, removed: 8, break: null });
    expect(await sequence(at.log)).toEqual([9, 10, 11, 12]);
    await append(at.log, 1);
    expect(await at.log.verify()).toMatchObject({ entries: 13, break: null });
  });

  test('leaves what is younger, and a file with an intent that has no outcome', async () => {
    await using at = await opened();
    await append(at.log, 1);
    await rotateLog({ log: at.log, actor });
    const intent = await at.log.append(draft({ kind: 'intent' }));
    await rotateLog({ log: at.log, actor });
    at.now.at = new Date('2026-02-01T00:00:00.000Z');
    expect(await pruneLog({ log: at.log, actor, before: new Date('2025-12-01T00:00:00Z') })).toBeNull();
    expect(await pruneLog({ log: at.log, actor, before: january })).toMatchObject({
      files: ['audit.jsonl.1-1'],
    });
    await at.log.append(draft({ kind: 'outcome', closes: intent.seq }));
    expect(await pruneLog({ log: at.log, actor, before: january })).toMatchObject({
      files: ['audit.jsonl.2-3'],
    });
    expect(await at.log.verify()).toMatchObject({ removed: 3, break: null });
  });

  test('leaves what an incident needs to be lifted, however old it is', async () => {
    await using at = await opened();
    const lockdown = { operation: 'incident.lockdown', data: { step: 'operation', incident: 'inc-1' } };
    const lift = {
      operation: 'incident.lift',
      data: { step: 'operation', incident: 'inc-1', result: 'lifted' },
    };
    await append(at.log, 1);
    await rotateLog({ log: at.log, actor });
    at.now.at = new Date('2026-01-02T00:00:00.000Z');
    const opening = await at.log.append(draft({ kind: 'intent', ...lockdown }));
    await at.log.append(draft({ kind: 'outcome', closes: opening.seq, ...lockdown }));
    await rotateLog({ log: at.log, actor });
    at.now.at = new Date('2026-02-01T00:00:00.000Z');
    expect(await filesToPrune({ log: at.log, before: january })).toEqual(['audit.jsonl.1-1']);
    expect(await pruneLog({ log: at.log, actor, before: january })).toMatchObject({
      files: ['audit.jsonl.1-1'],
    });
    expect(await pruneLog({ log: at.log, actor, before: january })).toBeNull();
    expect(await filesToPrune({ log: at.log, before: january })).toEqual([]);
    const lifting = await at.log.append(draft({ kind: 'intent', ...lift }));
    await at.log.append(draft({ kind: 'outcome', closes: lifting.seq, ...lift }));
    expect(await pruneLog({ log: at.log, actor, before: january })).toMatchObject({
      files: ['audit.jsonl.2-4'],
    });
  });

  test('leaves what an open lease needs, and names it', async () => {
    await using at = await opened();
    const lease = { id: 'lease-1', why: 'exec', seconds: 9e7 };
    const made = {
      result: 'done',
      token: 7,
      created: '2026-01-02T00:00:00Z',
      expires: '2027-01-02T00:00:00Z',
    };
    const creation = { operation: 'tokens.create' };
    at.now.at = new Date('2026-01-02T00:00:00.000Z');
    const intent = await at.log.append(
      draft({ kind: 'intent', ...creation, data: { scope: 'read', lease } }),
    );
    await at.log.append(draft({ kind: 'outcome', ...creation, closes: intent.seq, data: made }));
    await rotateLog({ log: at.log, actor });
    at.now.at = new Date('2026-02-01T00:00:00.000Z');
    expect(await pruneLog({ log: at.log, actor, before: january })).toBeNull();
    expect(await heldEntries(at.log, january)).toMatchObject({ incidents: [], leases: [{ id: 'lease-1' }] });
    await at.log.append(draft({ operation: 'leases.end', data: { lease: 'lease-1', how: 'gone' } }));
    expect(await pruneLog({ log: at.log, actor, before: january })).toMatchObject({
      files: ['audit.jsonl.1-2'],
    });
  });

  test('leaves what a lift left, until it is restored, and says for which incident', async () => {
    await using at = await opened();
    const data = { step: 'operation', incident: 'inc-1' };
    const bob = { what: 'user', name: 'bob', userId: 3, action: 'stays' };
    const run = async (operation: string, more: object) => {
      const opening = await at.log.append(draft({ kind: 'intent', operation, data }));
      await at.log.append(
        draft({ kind: 'outcome', closes: opening.seq, operation, data: { ...data, ...more } }),
      );
    };
    await run('incident.lockdown', { result: 'locked' });
    await run('incident.lift', { result: 'lifted', left: [bob] });
    await rotateLog({ log: at.log, actor });
    at.now.at = new Date('2026-02-01T00:00:00.000Z');
    expect(await pruneLog({ log: at.log, actor, before: january })).toBeNull();
    expect(await heldEntries(at.log, january)).toMatchObject({
      since: '2026-01-01T00:00:00.000Z',
      incidents: [{ id: 'inc-1', stays: [{ name: 'bob' }] }],
    });
    expect(await heldEntries(at.log, new Date('2026-01-01T00:00:00.000Z'))).toBeNull();
    await run('incident.lift', { result: 'lifted', left: [] });
    expect(await heldEntries(at.log, january)).toBeNull();
    expect(await pruneLog({ log: at.log, actor, before: january })).toMatchObject({
      files: ['audit.jsonl.1-4'],
    });
  });

  test('does not cover another removed file', async () => {
    await using at = await rotated();
    at.now.at = new Date('2026-02-02T00:00:00.000Z');
    await rotateLog({ log: at.log, actor });
    await pruneLog({ log: at.log, actor, before: january });
    expect(await at.log.verify()).toMatchObject({ removed: 8, break: null });
    await rm(`${at.path}.9-11`);
    expect((await at.log.verify()).break).toMatchObject({ problem: 'removed', expected: 1 });
  });

  test('lets checkpoints made later, and proofs of what is left, be verified without the removed', async () => {
    await using at = await rotated();
    const early = await makeCheckpoint({ log: at.log, keys });
    await append(at.log, 2);
    await pruneLog({ log: at.log, actor, before: january });
    const late = await makeCheckpoint({ log: at.log, keys, previous: early.note });
    for (const { note, size } of [early, late]) {
      const found = await verifyLog({ log: at.log, checkpoint: { note, keys: [verifier.text] } });
      expect(found.checkpoint?.size).toBe(size);
      const { line, proof } = await proveInclusion({ log: at.log, keys, seq: 10, checkpoint: note });
      expect(verifyInclusion({ line, proof, keys: [verifier.text] })).toMatchObject({ seq: 10, size });
    }
    expect(await refusal(proveInclusion({ log: at.log, keys, seq: 3 }))).toMatchObject(
      refused('not_found', 'retention'),
    );
  });

  test('is told where a checkpoint covers only what was removed', async () => {
    await using at = await opened();
    await append(at.log, 2);
    const { note } = await makeCheckpoint({ log: at.log, keys });
    await append(at.log, 2);
    await rotateLog({ log: at.log, actor });
    at.now.at = new Date('2026-02-01T00:00:00.000Z');
    await pruneLog({ log: at.log, actor, before: january });
    const checkpoint = { note, keys: [verifier.text] };
    expect(await refusal(verifyLog({ log: at.log, checkpoint }))).toMatchObject({
      details: { problem: 'removed', size: 2 },
    });
  });
});
