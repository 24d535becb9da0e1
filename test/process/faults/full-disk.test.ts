import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, test } from 'vitest';
import { databaseEstate } from '../cli/database-estate.ts';

const bin = fileURLToPath(new URL('../../../bin/tokenctl.js', import.meta.url));
const db = databaseEstate();

/** A lockdown of a user, of which the disk with the audit log becomes full afterwards. */
async function lockedPlace() {
  const home = db.home();
  const { name } = await db.addUser();
  const log = join(home.folder, '.local/state/tokenctl/audit.jsonl');
  const json = async (...args: readonly string[]) => JSON.parse((await home.run([...args, '--json'])).stdout);
  const lockdown = ['incident', 'lockdown', '--user', name, '--deactivate', '--basic-auth-off', '--yes'];
  const { incident } = await json(...lockdown);
  /** Runs a command while the log can grow by this many KiB only: a limit on file sizes fails a write half-way, as a full disk does. */
  const withRoom = async (kib: number, args: readonly string[]) => {
    const limit = Math.floor(statSync(log).size / 1024) + kib;
    const command = `trap '' XFSZ; ulimit -f ${limit}; exec "$0" "$@"`;
    const env = { PATH: process.env['PATH'], HOME: home.folder };
    return await promisify(execFile)('bash', ['-c', command, process.execPath, bin, ...args], { env }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
        code,
        stdout,
        stderr,
      }),
    );
  };
  const state = async () => {
    const [user] = await db
      .database()
      .query<{ is_active: boolean }>('SELECT is_active FROM auth_user WHERE username = $1', [name]);
    const [setting] = await db
      .database()
      .query<{ value: string }>("SELECT value FROM conf_setting WHERE key = 'AUTH_BASIC_ENABLED'");
    return { isActive: user?.is_active, isBasicOff: String(setting?.value ?? true) === 'false' };
  };
  return { ...home, json, log, incident: String(incident), withRoom, state };
}

const NO_ROOM = /audit log .*audit\.jsonl.*the file has reached the maximum size/s;

describe('with a full disk', () => {
  let at: Awaited<ReturnType<typeof lockedPlace>>;
  beforeEach(async () => {
    at = await lockedPlace();
  });

  test('a lift that leaves users deactivated says so wherever it is met, and the next run finishes it', {
    tags: ['long'],
  }, async () => {
    const lift = ['incident', 'lift', at.incident, '--keep-deactivated', '--yes'];
    expect(await at.state()).toEqual({ isActive: false, isBasicOff: true });
    const codes: number[] = [];
    for (let kib = 0; codes.at(-1) !== 0; kib += 1) {
      const run = await at.withRoom(kib, lift);
      codes.push(run.code);
      if (run.code === 0) break;
      expect(run).toMatchObject({ code: 6, stderr: expect.stringMatching(NO_ROOM) });
      expect(run.stderr).not.toMatch(/^ +at /m);
      // What was begun stays in the log, and is not taken for lifted.
      expect(await at.json('incident', 'status')).toMatchObject({ incidents: [{ id: at.incident }] });
      expect((await at.state()).isActive).toBe(false);
      expect(codes.length).toBeLessThan(30);
    }
    expect(codes.length).toBeGreaterThan(2);
    expect(await at.state()).toEqual({ isActive: false, isBasicOff: false });
    expect(await at.json('incident', 'status')).toMatchObject({ incidents: [] });
    expect(await at.run(['log', 'verify'])).toMatchObject({ code: 0 });
    const again = await at.run(lift);
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing to do') });
  });

  test('a mark that an item was resolved manually is refused whole, and made by the next run', {
    tags: ['long'],
  }, async () => {
    const mark = ['incident', 'mark', at.incident, '--item', 'inventory:2', '--by-hand'];
    const { size } = statSync(at.log);
    const refused = await at.withRoom(0, mark);
    expect(refused).toMatchObject({ code: 6, stdout: '', stderr: expect.stringMatching(NO_ROOM) });
    expect(statSync(at.log).size).toBe(size);
    const made = await at.run(mark);
    expect(made).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Marked 1 item as resolved manually'),
    });
    expect(await at.run(['log', 'verify'])).toMatchObject({ code: 0 });
    expect(await at.run(['incident', 'lift', at.incident, '--yes'])).toMatchObject({ code: 0 });
  });
});
