import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { makeAccess, makeUser, openWays, passwordGrant, tryAccess } from '../access.ts';
import { homeOf } from '../home.ts';
import { describePeer, type Peer } from '../peer.ts';

interface Status {
  readonly incidents: readonly {
    readonly id: string;
    readonly state: string;
    readonly address: string;
    readonly holds: boolean | null;
    readonly lifetimes: { readonly set: number; readonly issued: number; readonly longer: number } | null;
    readonly accessPaths: readonly { readonly path: string; readonly state: string; readonly how: string }[];
    readonly values: readonly { readonly name: string; readonly incidents: readonly string[] }[];
  }[];
}

/** What a lockdown sets the lifetime of access tokens to, in seconds. */
const SHORT = 3600;
/** Workers may take a minute to read settings again, or to start. */
const APPLIED = { timeout: 120_000, interval: 1000 };

/** Has the peer start new web workers, as the restart of its web services does. */
async function restartWorkers(peer: Peer): Promise<void> {
  const pid = readFileSync(join(peer.folder, 'run/web.pid'), 'utf8').trim();
  await promisify(execFile)('kill', ['-HUP', pid]);
}

/** The lifetimes of new application tokens, in seconds: asked for at once, so that each worker that runs has its share. */
async function grantedLifetimes(peer: Peer, user: string, count: number): Promise<number[]> {
  const grants = Array.from({ length: count }, () => passwordGrant(peer, user, 'AppPwConf'));
  return (await Promise.all(grants)).map(({ body }) => Number(body['expires_in']));
}

describePeer('awx', 'incidents', (peer) => {
  test('compare what new application tokens get, which is what was set once the workers were restarted', async () => {
    try {
      const user = 'shortlived';
      await makeUser(peer(), user);
      // A worker reads the lifetime for its first grant, and keeps it. From here on at least one keeps the long one.
      const [before] = await grantedLifetimes(peer(), user, 1);
      const { json, run } = homeOf(peer());
      const lockDown = () => run('incident', 'lockdown', '--user', user, '--shorten-lifetimes', '--yes');
      const lifetimes = async () => {
        const { incidents } = (await json<Status>('incident', 'status')).body;
        return incidents[0]?.lifetimes;
      };
      // As always over REST, where not everything can be checked.
      expect(await lockDown()).toMatchObject({ code: 5, stdout: expect.stringMatching(/restart/i) });
      expect(await lifetimes()).toEqual({ set: SHORT, issued: 0, longer: 0 });

      // Another worker may still have been starting, and grants the short one already.
      const granted: number[] = [];
      const grantMore = async () => {
        granted.push(...(await grantedLifetimes(peer(), user, 4)));
        return granted;
      };
      await expect.poll(grantMore, APPLIED).toContain(before);
      const longer = granted.filter((seconds) => seconds !== SHORT).length;
      expect(await lifetimes()).toEqual({ set: SHORT, issued: granted.length, longer });
      expect((await run('incident', 'status')).stdout).toContain(
        `NEW ACCESS TOKENS LIVE LONGER THAN SET: ${longer} of ${granted.length}`,
      );

      await restartWorkers(peer());
      const restarted = async () => [...new Set(await grantedLifetimes(peer(), user, 8))];
      await expect.poll(restarted, APPLIED).toEqual([SHORT]);
      await lockDown();
      expect(await grantedLifetimes(peer(), user, 1)).toEqual([SHORT]);
      expect(await lifetimes()).toEqual({ set: SHORT, issued: 1, longer: 0 });
      expect((await run('incident', 'status')).stdout).toContain('1, none valid for longer than the 3600 s');
    } finally {
      await peer().reset();
    }
  }, 300_000);

  test('of the REST API are checked and lifted over the database, also where they ended their own credential', async () => {
    try {
      const access = await makeAccess(peer(), 'alice');
      const { json, run } = homeOf(peer());
      const { body } = await json<{ incident: string }>('incident', 'lockdown', '--all', '--yes');
      const other = homeOf(peer());
      const status = async () => (await json<Status>('incident', 'status', '--context', 'db')).body.incidents;
      // The database lists what the REST API cannot list. The tables of this peer state no version, so that orphans count.
      expect(await status()).toMatchObject([
        { id: body.incident, address: peer().url, state: 'locked', holds: false },
      ]);
      expect((await status())[0]?.accessPaths.filter(({ state }) => state === 'open')).toMatchObject([
        { path: 'authorization_codes' },
        { path: 'refresh_tokens', how: expect.stringMatching(/^(\d+) are live \(\1 orphaned, assumed/) },
        { path: 'sessions' },
      ]);
      expect(openWays(await tryAccess(peer(), access))).toEqual(
        expect.arrayContaining(['code', 'session', 'password', 'login']),
      );

      const second = await json<{ incident: string }>(
        ...['incident', 'lockdown', '--user', 'alice', '--deactivate', '--basic-auth-off'],
        ...['--context', 'db', '--yes'],
      );
      const refused = await run('incident', 'lift', second.body.incident, '--yes');
      expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining('cannot activate alice') });
      expect((await other.run('tokens', 'revoke', '--all', '--context', 'db', '--yes')).code).toBe(0);
      expect((await run('incident', 'lift', body.incident, '--yes')).code).toBe(4);

      const lift = (id: string) => json('incident', 'lift', id, '--context', 'db', '--yes');
      expect(await lift(body.incident)).toMatchObject({ code: 0, body: { reports: [{ result: 'lifted' }] } });
      const [left] = await status();
      expect(left).toMatchObject({ id: second.body.incident });
      expect(await basicAuth(peer())).toBe(false);
      expect(await lift(second.body.incident)).toMatchObject({
        code: 0,
        body: { reports: [{ result: 'lifted' }] },
      });
      expect(await status()).toEqual([]);
      expect(await basicAuth(peer())).not.toBe(false);
      const [alice] = await peer().sql("SELECT is_active FROM auth_user WHERE username = 'alice'");
      expect(alice).toEqual({ is_active: true });
    } finally {
      await peer().reset();
    }
  });
});

async function basicAuth(peer: Peer): Promise<unknown> {
  const [row] = await peer.sql("SELECT value FROM conf_setting WHERE key = 'AUTH_BASIC_ENABLED'");
  return row?.['value'];
}
