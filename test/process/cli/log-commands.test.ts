import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { verifyInclusion } from '../../../src/operations/audit-log/checkpoints.ts';
import { estate } from './estate.ts';
import { temporaryFolder, tokenctl } from './program.ts';

/** A home folder of its own, with a log in it that has some entries. */
async function place() {
  const folder = temporaryFolder();
  const log = join(folder, 'audit.jsonl');
  const run = (...args: string[]) => tokenctl([...args, '--log-file', log], { env: { HOME: folder } });
  const at = (name: string) => join(folder, name);
  const init = await run('log', 'init', '--name', 'example.org/audit', '--json');
  expect([init.stderr, init.code]).toEqual(['', 0]);
  const { verifier } = JSON.parse(init.stdout) as { verifier: string };
  return { log, run, at, verifier };
}

describe('log init', () => {
  test('keeps the key for its owner, and says in the log which it is', async () => {
    const { log, run, verifier } = await place();
    expect(statSync(`${log}.key`).mode & 0o777).toBe(0o600);
    expect(readFileSync(`${log}.key.pub`, 'utf8')).toBe(`${verifier}\n`);
    expect(readFileSync(log, 'utf8')).toContain(`"data":{"verifier":"${verifier}"}`);
    const listed = await run('log', 'list');
    expect(listed.stdout).toMatch(/created an audit log key$/m);
    expect(listed.stdout).not.toContain('undefined');
    const [{ run: id = '', sentence = '' } = {}] = JSON.parse((await run('log', 'list', '--json')).stdout);
    const shown = await run('log', 'show', id.slice(0, 8));
    expect(shown.stdout).toMatch(
      new RegExp(`^${sentence}\\.\n\nResult: +noted\n[^]*Run: +${id}\n\n1 entry:\n`),
    );
    expect(JSON.parse((await run('log', 'show', id, '--json')).stdout)).toMatchObject({
      run: id,
      entries: JSON.parse((await run('log', 'list', '--raw', '--json')).stdout),
    });
    expect(await run('log', 'show', 'ffff')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('No run "ffff" in the audit log.'),
    });
    const again = await run('log', 'init');
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('log init --rotate') });
  });

  test('replaces it by a new one, which both sign for', async () => {
    const { run, at, verifier } = await place();
    const handover = at('handover');
    const rotated = await run('log', 'init', '--rotate', '--output', handover);
    expect(rotated).toMatchObject({ code: 0, stdout: expect.stringContaining(`replaces ${verifier}`) });
    expect((await run('log', 'verify', '--checkpoint', handover, '--key', verifier)).code).toBe(0);
    expect((await run('log', 'verify', '--checkpoint', handover)).code).toBe(0);
    const again = await run('log', 'init', '--rotate', '--output', handover);
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('already exists') });
    expect((await run('log', 'verify', '--checkpoint', handover)).code).toBe(0);
  });

  test('keeps the key where the configuration says', async () => {
    const folder = temporaryFolder();
    const config = join(folder, 'tokenctl.yaml');
    writeFileSync(config, 'auditLog: { file: audit.jsonl, key: { file: keys/log.key } }\n');
    expect((await tokenctl(['log', 'init', '--config', config])).code).toBe(0);
    expect(existsSync(join(folder, 'keys/log.key.pub'))).toBe(true);
  });
});

describe('log checkpoint', () => {
  test('signs the log; with it and the public key alone a cut and a rewritten log are found', async () => {
    const { log, run, at, verifier } = await place();
    const other = await place();
    const dry = await run('log', 'rotate', '--remove-older-than', '1d', '--dry-run', '--json');
    expect(JSON.parse(dry.stdout)).toEqual({ dryRun: true, archive: null, removed: [], kept: null });
    await run('log', 'rotate');
    const checkpoint = at('checkpoint');
    expect(await run('log', 'checkpoint', '--output', checkpoint)).toMatchObject({ code: 0 });
    expect((await run('log', 'checkpoint')).stdout).toBe(readFileSync(checkpoint, 'utf8'));
    expect(readFileSync(checkpoint, 'utf8')).toMatch(
      /^example\.org\/audit\n2\n\S{44}\n\n— example\.org\/audit /,
    );
    const verified = await run('log', 'verify', '--checkpoint', checkpoint, '--key', verifier, '--json');
    expect(JSON.parse(verified.stdout)).toMatchObject({
      entries: 2,
      checkpoint: { origin: 'example.org/audit', size: 2 },
    });
    const keys = at('trusted.pub');
    writeFileSync(keys, `${other.verifier}\n${verifier}\n`);
    expect((await run('log', 'verify', '--checkpoint', checkpoint, '--key', keys)).code).toBe(0);
    const stranger = await run('log', 'verify', '--checkpoint', checkpoint, '--key', other.verifier);
    expect(stranger).toMatchObject({ code: 6, stderr: expect.stringContaining('has no signature by') });

    writeFileSync(log, '');
    const cut = await run('log', 'verify', '--checkpoint', checkpoint, '--key', verifier, '--json');
    expect(cut.code).toBe(6);
    expect(JSON.parse(cut.stdout)).toMatchObject({ error: { details: { problem: 'cut-off' } } });
    await run('log', 'rotate');
    writeFileSync(log, readFileSync(other.log));
    const rewritten = await other.run(
      'log',
      'verify',
      '--checkpoint',
      checkpoint,
      '--key',
      verifier,
      '--json',
    );
    expect(JSON.parse(rewritten.stdout)).toMatchObject({ error: { code: 'log_broken' } });
  });

  test('signs nothing that contradicts the checkpoint in its file', async () => {
    const { run, at, log } = await place();
    const checkpoint = at('checkpoint');
    await run('log', 'rotate');
    await run('log', 'checkpoint', '--output', checkpoint);
    const before = readFileSync(checkpoint, 'utf8');
    writeFileSync(log, '');
    const refused = await run('log', 'checkpoint', '--output', checkpoint);
    expect(refused.code).toBe(6);
    expect(readFileSync(checkpoint, 'utf8')).toBe(before);
  });

  test('without a key says how to make one', async () => {
    const log = join(temporaryFolder(), 'audit.jsonl');
    const refused = await tokenctl(['log', 'checkpoint', '--log-file', log]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('tokenctl log init') });
  });
});

describe('log prove', () => {
  test('gives what verifies without the log', async () => {
    const { run, at, verifier } = await place();
    await run('log', 'rotate');
    const { proof, entry, seq, size } = JSON.parse((await run('log', 'prove', '2', '--json')).stdout) as {
      readonly proof: string;
      readonly entry: string;
      readonly seq: number;
      readonly size: number;
    };
    expect(verifyInclusion({ line: entry, proof, keys: [verifier] })).toMatchObject({ seq, size });
    expect((await run('log', 'prove', '2')).stdout).toBe(proof);
    const output = at('proof');
    expect((await run('log', 'prove', '2', '--output', output)).code).toBe(0);
    expect([readFileSync(output, 'utf8'), readFileSync(`${output}.entry`, 'utf8')]).toEqual([proof, entry]);
    expect(await run('log', 'prove', '2', '--output', output)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('already exists and is not overwritten'),
    });
    expect((await run('log', 'prove', '7')).code).toBe(2);
    expect((await run('log', 'prove', 'x')).code).toBe(2);
  });
});

describe('log rotate', () => {
  test('closes the file, removes old ones, and what is left verifies', async () => {
    const { log, run } = await place();
    const first = await run('log', 'rotate', '--json');
    expect(JSON.parse(first.stdout)).toEqual({ dryRun: false, archive: `${log}.1-1`, removed: [] });
    expect(JSON.parse((await run('log', 'verify', '--json')).stdout)).toMatchObject({ entries: 2 });
    const young = await run('log', 'rotate', '--remove-older-than', '1d', '--json');
    expect(JSON.parse(young.stdout)).toMatchObject({ removed: [], kept: null });
    expect(existsSync(`${log}.1-1`)).toBe(true);
    expect((await run('log', 'verify')).code).toBe(0);
  });

  test('has nothing to close in an empty log', async () => {
    const log = join(temporaryFolder(), 'audit.jsonl');
    const empty = await tokenctl(['log', 'rotate', '--log-file', log]);
    expect(empty).toMatchObject({ code: 0, stdout: 'Nothing to rotate: the audit log has no entries.\n' });
  });
});

describe('a change has to say why, where the configuration asks for it', () => {
  const { home } = estate({ users: 5, tokens: 20 });

  function demanding() {
    const at = home();
    const file = join(at.folder, '.config/tokenctl/tokenctl.yaml');
    writeFileSync(
      file,
      `${readFileSync(file, 'utf8')}auditLog: { requireReason: true, requireTicket: true }\n`,
    );
    return at;
  }

  test('every command that changes something is refused before anything is read', async () => {
    const { run } = demanding();
    for (const args of [
      ['tokens', 'revoke', '--all', '--yes'],
      ['tokens', 'create', '--scope', 'read', '--output', 'x', '--yes'],
      ['tokens', 'cleanup', '--yes'],
      ['settings', 'basic-auth', 'off', '--yes'],
      ['sessions', 'expire', '--all', '--yes'],
      ['incident', 'lockdown', '--all', '--yes'],
      ['revoke_oauth2_tokens', '--all'],
      ['cleanup_tokens'],
      ['expire_sessions'],
    ]) {
      const refused = await run([...args, '--context', 'nowhere']);
      expect([args, refused.code, refused.stderr]).toEqual([
        args,
        2,
        expect.stringContaining('--reason and --ticket'),
      ]);
    }
  });

  test('needs both and refuses blank ones, except for reading and dry runs', async () => {
    const { run } = demanding();
    const revoke = ['tokens', 'revoke', '--user', 'user00001', '--yes'];
    expect((await run(['tokens', 'list', '--json'])).code).toBe(0);
    expect((await run(['tokens', 'revoke', '--all', '--dry-run'])).code).toBe(0);
    expect((await run([...revoke, '--reason', ' ', '--ticket', 'T-1'])).code).toBe(2);
    const { stderr } = await run([...revoke, '--reason', 'stolen']);
    expect(stderr).toMatch(/--ticket required for changes/);
    const [user] = JSON.parse((await run(['tokens', 'list', '--json'])).stdout) as {
      user: { username: string };
    }[];
    const name = user?.user.username ?? '';
    const order = ['--reason', 'stolen', '--ticket', 'SEC-7'];
    const done = await run(['tokens', 'revoke', '--user', name, '--yes', ...order]);
    expect(done).toMatchObject({ code: 0 });
    const report = await run(['log', 'report']);
    expect(report.stdout).toMatch(/- \*\*Reason\*\*: stolen\n- \*\*Ticket\*\*: SEC-7\n/);
  });
});

describe('log verify', () => {
  test('says of a log that was cut what its hashes cannot show, and a checkpoint does', async () => {
    const { log, run, at, verifier } = await place();
    await run('log', 'init', '--rotate', '--output', at('rotated'));
    await run('log', 'checkpoint', '--output', at('elsewhere'));
    const [first = ''] = readFileSync(log, 'utf8').split('\n');
    const key = readFileSync(`${log}.key.pub`, 'utf8').trim().split('\n').at(-1) ?? '';
    const compared = await run('log', 'verify', '--checkpoint', at('elsewhere'), '--key', key);
    expect(compared.stdout).toContain('Checked: entries 1 to 2 match the checkpoint');
    expect(compared.stdout).toContain('Not checked: whether entries after the checkpoint are missing.');
    writeFileSync(log, `${first}\n`);
    const cut = await run('log', 'verify');
    expect(cut.code).toBe(0);
    expect(cut.stdout).toContain('Checked: each entry follows from the previous one, from entry 1 to 1, in');
    expect(cut.stdout).toContain('Not checked: whether entries are missing at the end');
    expect(cut.stdout).toContain('tokenctl log verify --checkpoint FILE --key KEY');
    expect(cut.stdout).not.toContain('intact');
    const found = await run('log', 'verify', '--checkpoint', at('elsewhere'), '--key', key);
    expect(found.code).toBe(6);
    expect(verifier).not.toBe(key);
  });

  test('log init warns of a key in the folder of the log', async () => {
    const env = { HOME: temporaryFolder() };
    expect((await tokenctl(['log', 'init'], { env })).stdout).toContain(
      'Warning: the key is in the same directory as the log.',
    );
  });
});
