import { chmod, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { refused } from '@tokenctl/testing/refused.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { describe, expect, test } from 'vitest';
import { openKeyFiles } from '../../../src/audit-log/key-files.ts';
import { openCheckpoint } from '../../../src/domain/checkpoint.ts';
import { parseVerifier } from '../../../src/domain/note-key.ts';
import {
  initLogKey,
  makeCheckpoint,
  proveInclusion,
  rotateLogKey,
  verifyInclusion,
} from '../../../src/operations/audit-log/checkpoints.ts';
import { verifyLog } from '../../../src/operations/audit-log/verify-log.ts';
import { draft } from '../../support/drafts.ts';
import { EMPTY_LOGS, refusal } from '../../support/logs.ts';

const actor = { user: 'root', host: 'bastion' };
const name = 'example.org/audit';

async function keysIn() {
  const folder = await temporaryFolder();
  const path = join(folder.path, 'keys', 'audit.key');
  return { path, keys: openKeyFiles(path), [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

describe.each(EMPTY_LOGS)('a signed log in %s', (_kind, open) => {
  test('has its own key, whose public key is recorded in the log', async () => {
    await using at = await open();
    await using kept = await keysIn();
    const { verifier, entry } = await initLogKey({ log: at.log, keys: kept.keys, actor, name });
    expect((await stat(kept.path)).mode & 0o777).toBe(0o600);
    expect(await readFile(`${kept.path}.pub`, 'utf8')).toBe(`${verifier}\n`);
    expect(entry).toMatchObject({ kind: 'note', operation: 'log.key', data: { verifier } });
    expect((await at.lines()).join()).not.toContain('PRIVATE');
    expect(await refusal(initLogKey({ log: at.log, keys: kept.keys, actor, name }))).toMatchObject(
      refused('configuration', 'already'),
    );
    expect(await kept.keys.verifiers()).toEqual([verifier]);
  });

  test('is verified by a checkpoint and the public key alone', async () => {
    await using at = await open();
    await using kept = await keysIn();
    const { verifier } = await initLogKey({ log: at.log, keys: kept.keys, actor, name });
    const made = await makeCheckpoint({ log: at.log, keys: kept.keys });
    expect(made).toMatchObject({ origin: name, size: 1 });
    await at.log.append(draft());
    const checkpoint = { note: made.note, keys: [verifier] };
    expect(await verifyLog({ log: at.another(), checkpoint })).toMatchObject({
      entries: 2,
      checkpoint: { origin: name, size: 1 },
    });
  });

  test('proves an entry without the log or the private key', async () => {
    await using at = await open();
    await using kept = await keysIn();
    const { verifier } = await initLogKey({ log: at.log, keys: kept.keys, actor, name });
    for (let index = 0; index < 6; index += 1) await at.log.append(draft({ data: { index } }));
    for (let seq = 1; seq <= 7; seq += 1) {
      const { line, proof } = await proveInclusion({ log: at.log, keys: kept.keys, seq });
      expect(proof.startsWith(`c2sp.org/tlog-proof@v1\nindex ${seq - 1}\n`)).toBe(true);
      expect(line).toBe((await at.lines())[seq - 1]);
      const proved = { line, proof, keys: [verifier] };
      expect(verifyInclusion(proved)).toEqual({ seq, origin: name, size: 7 });
      expect(() => verifyInclusion({ ...proved, line: `${line} ` })).toThrow('does not show');
      const moved = proof.replace(/^index \d+$/m, `index ${seq % 7}`);
      expect(() => verifyInclusion({ ...proved, proof: moved })).toThrow('does not show');
    }
    expect(await refusal(proveInclusion({ log: at.log, keys: kept.keys, seq: 8 }))).toMatchObject({
      code: 'not_found',
    });
  });

  test('signs nothing that contradicts what it signed before', async () => {
    await using at = await open();
    await using kept = await keysIn();
    await using other = await open();
    await initLogKey({ log: at.log, keys: kept.keys, actor, name });
    await at.log.append(draft());
    const { note } = await makeCheckpoint({ log: at.log, keys: kept.keys });
    await other.log.append(draft());
    const shorter = makeCheckpoint({ log: other.log, keys: kept.keys, previous: note });
    expect(await refusal(shorter)).toMatchObject({ details: { problem: 'cut-off' } });
    await other.log.append(draft());
    const different = makeCheckpoint({ log: other.log, keys: kept.keys, previous: note });
    expect(await refusal(different)).toMatchObject({ details: { problem: 'rewritten' } });
    await at.log.append(draft());
    expect(await makeCheckpoint({ log: at.log, keys: kept.keys, previous: note })).toMatchObject({ size: 3 });
  });

  test('does not sign a broken chain', async () => {
    await using at = await open();
    await using kept = await keysIn();
    await initLogKey({ log: at.log, keys: kept.keys, actor, name });
    await at.smuggle('garbage');
    expect(await refusal(makeCheckpoint({ log: at.log, keys: kept.keys }))).toMatchObject({
      code: 'log_broken',
      details: { line: 2, problem: 'unreadable' },
    });
  });

  test('hands over from one key to the next, and verifies what the old one signed', async () => {
    await using at = await open();
    await using kept = await keysIn();
    const { verifier: old } = await initLogKey({ log: at.log, keys: kept.keys, actor, name });
    const before = await makeCheckpoint({ log: at.log, keys: kept.keys });
    const handed = await rotateLogKey({ log: at.log, keys: kept.keys, actor });
    expect(handed).toMatchObject({
      replaced: old,
      entry: { operation: 'log.key', data: { verifier: handed.verifier, replaces: old } },
    });
    expect(handed.verifier).not.toBe(old);
    expect(await kept.keys.verifiers()).toEqual([old, handed.verifier]);
    expect((await stat(kept.path)).mode & 0o777).toBe(0o600);
    // Each key alone verifies the checkpoint, which includes the entry of the new key.
    for (const key of [old, handed.verifier]) {
      expect(openCheckpoint(handed.checkpoint, [parseVerifier(key)]).size).toBe(handed.entry.seq);
    }
    const after = await makeCheckpoint({ log: at.log, keys: kept.keys, previous: before.note });
    const keys = await kept.keys.verifiers();
    for (const { note } of [before, after]) await verifyLog({ log: at.log, checkpoint: { note, keys } });
    expect(() => openCheckpoint(after.note, [parseVerifier(old)])).toThrow('has no signature by');
  });
});

describe('the key', () => {
  test('is missed with words about it', async () => {
    await using kept = await keysIn();
    expect(await refusal(kept.keys.signer())).toMatchObject({
      code: 'configuration',
      message: expect.stringContaining(kept.path),
      hint: expect.stringContaining('log init'),
    });
  });

  test('is refused if other users can read it', async () => {
    await using at = await EMPTY_LOGS[0][1]();
    await using kept = await keysIn();
    await initLogKey({ log: at.log, keys: kept.keys, actor, name });
    await chmod(kept.path, 0o644);
    expect(await refusal(makeCheckpoint({ log: at.log, keys: kept.keys }))).toMatchObject(
      refused('configuration', 'Other users can read'),
    );
  });
});
