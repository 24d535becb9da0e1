import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeUser } from '../access.ts';
import { homeOf, type PeerHome } from '../home.ts';
import { changes, describePeer, type Peer } from '../peer.ts';

/** A personal token with its value. */
interface Made {
  readonly id: number;
  readonly value: string;
}

interface Found {
  readonly found: readonly {
    readonly live: boolean;
    readonly ids: readonly number[];
    readonly user: string;
    readonly fingerprint: string;
    readonly lastUsed?: string | null;
    readonly usedAt: string | null;
  }[];
}

/** The uses of the tool's own credential. */
const OWN_USES = ['main_oauth2accesstoken.last_used'];

describePeer('awx', 'leaked tokens', (peer) => {
  test('the only token of its owner is found without a trace', async () => {
    const [made] = await userWithTokens(peer(), 'lone', 1);
    const home = homeOf(peer());
    const file = leak(home, made);
    const before = await peer().tables();
    const { code, body } = await home.json<Found>('tokens', 'find', '--leaked', file);
    const after = await peer().tables();
    expect(code).toBe(0);
    expect(body.found).toMatchObject([
      { live: true, ids: [made?.id], lastUsed: null, usedAt: null, user: expect.stringMatching(/^lone/) },
    ]);
    expect(changes(before, after, OWN_USES)).toEqual({});
    expect(await lastUsed(peer(), made)).toBeNull();
    expect((await home.run('log', 'list', '--raw', '--json')).stdout).not.toContain('tokens.find');
  });

  test('values that are not accepted leave no trace', async () => {
    const [made] = await userWithTokens(peer(), 'late', 1);
    await peer().sql("UPDATE main_oauth2accesstoken SET expires = now() - interval '1 hour' WHERE id = $1", [
      made?.id,
    ]);
    const home = homeOf(peer());
    const file = leak(home, made, { id: 0, value: 'A'.repeat(30) });
    const before = await peer().tables();
    const { body } = await home.json<Found>('tokens', 'find', '--leaked', file);
    expect(body.found).toEqual([]);
    expect(changes(before, await peer().tables(), OWN_USES)).toEqual({});
    expect(await lastUsed(peer(), made)).toBeNull();
  });

  test('a dry run makes no use: it lists what a value may be, and the next run tells', async () => {
    const made = await userWithTokens(peer(), 'dry', 3);
    const [first] = made;
    const home = homeOf(peer());
    const file = leak(home, first);
    const before = await peer().tables();
    const dry = await home.run('tokens', 'find', '--leaked', file, '--revoke', '--dry-run');
    expect(changes(before, await peer().tables(), OWN_USES)).toEqual({});
    expect(await lastUsed(peer(), first)).toBeNull();
    expect((await home.run('log', 'list', '--raw', '--json')).stdout).not.toContain('tokens.find');
    expect(dry.code).toBe(5);
    const ids = made.map(({ id }) => id).sort((a, b) => a - b);
    expect(dry.stdout).toContain(`access token that is one of ${ids.join(', ')}, of dry`);
    expect(dry.stdout).toContain('Only a use tells which one it is, and a dry run does not use it.');
    expect(dry.stdout).not.toContain('Nothing to revoke');
    expect(dry.stderr).toContain('1 live token needs a use to be told apart, which a dry run does not make');
    const { code, body } = await home.json<Found>('tokens', 'find', '--leaked', file, '--revoke', '--yes');
    expect(code).toBe(0);
    expect(body.found).toMatchObject([{ ids: [first?.id], usedAt: expect.any(String) }]);
  });

  test('tokens of one owner are told apart, again at once, and the timeline knows whose uses these were', async () => {
    const made = await userWithTokens(peer(), 'many', 3);
    const [first, second] = made;
    const used = new Date(Date.now() - 40 * 86_400_000);
    await peer().sql('UPDATE main_oauth2accesstoken SET last_used = $2 WHERE id = $1', [first?.id, used]);
    const home = homeOf(peer());
    const file = leak(home, first, second);
    const look = async () => (await home.json<Found>('tokens', 'find', '--leaked', file)).body.found;
    const byOwner = new Date(Math.floor(used.getTime() / 1000) * 1000).toISOString();
    const once = await look();
    expect(once).toMatchObject([
      { ids: [first?.id], lastUsed: byOwner, usedAt: expect.any(String) },
      { ids: [second?.id], lastUsed: null, usedAt: expect.any(String) },
    ]);
    const touched = await lastUsed(peer(), first);
    const again = await look();
    expect(again).toMatchObject([
      { ids: [first?.id], lastUsed: byOwner, usedAt: null },
      { ids: [second?.id], lastUsed: null, usedAt: null },
    ]);
    expect(await lastUsed(peer(), first)).toEqual(touched);

    const log = (await home.run('log', 'list', '--raw', '--json')).stdout;
    expect(log).toContain('tokens.find');
    expect(log).not.toContain(first?.value);
    const db = await home.json<{ items: { at: string; who: string | null; what: string }[] }>(
      ...['incident', 'timeline', '--context', 'db', '--token', String(first?.id), '--since', '60d'],
    );
    const uses = db.body.items.filter(({ what }) => / used/.test(what));
    expect(uses).toMatchObject([
      { what: `access token ${first?.id} last used`, who: expect.stringMatching(/^many/), at: byOwner },
      { what: `access token ${first?.id} used by tokenctl, which looked for a leaked token`, who: null },
    ]);
    const byHash = await home.json<Found>('tokens', 'find', '--leaked', file, '--context', 'db');
    expect(byHash.body.found).toMatchObject([
      { ids: [first?.id], lastUsed: byOwner, usedAt: null },
      { ids: [second?.id], lastUsed: null, usedAt: null },
    ]);
  });

  test.each([['rest'], ['db']] as const)('a plan made of them is applied exactly (%s)', async (context) => {
    const made = await userWithTokens(peer(), `planned${context}`, 3);
    const [first, second, third] = made;
    const home = homeOf(peer(), { current: context });
    const file = leak(home, first, second);
    const plan = join(home.folder, 'plan.json');
    const before = await peer().tables();
    const planned = await home.json('tokens', 'find', '--leaked', file, '--plan-out', plan);
    expect([planned.code, planned.body['planFile']]).toEqual([0, plan]);
    // The controller makes a profile when a user's own request is answered for the first time.
    expect(changes(before, await peer().tables(), [...OWN_USES, 'main_profile'])).toEqual({});
    const text = readFileSync(plan, 'utf8');
    for (const { value } of made) expect(text).not.toContain(value);
    expect(statSync(plan).mode & 0o777).toBe(0o600);
    expect((await home.run('tokens', 'find', '--leaked', file, '--plan-out', plan)).code).toBe(2);

    const edited = join(home.folder, 'edited.json');
    writeFileSync(edited, text.replace(`"id": ${second?.id}`, `"id": ${third?.id}`));
    expect((await home.run('tokens', 'revoke', '--plan', edited, '--yes')).stderr).toContain(
      'was changed after',
    );
    const unlogged = ['tokens', 'revoke', '--plan', plan, '--yes', '--log-file', '/proc/audit.jsonl'];
    expect((await home.run(...unlogged)).code).toBe(6);
    const dry = await home.run('tokens', 'revoke', '--plan', plan, '--dry-run');
    expect([dry.code, dry.stdout]).toEqual([0, expect.stringContaining('Would revoke 2 tokens')]);
    expect(await existing(peer(), made)).toEqual(made.map(({ id }) => id));

    const path = `${peer().api}tokens/${second?.id}/`;
    const { status } = await peer().request(path, { token: peer().fill.admintoken }, { method: 'DELETE' });
    expect(status).toBe(204);
    const done = await home.json('tokens', 'revoke', '--plan', plan, '--yes');
    expect(done).toMatchObject({
      code: 0,
      body: {
        planned: 1,
        revoked: 1,
        verified: true,
        plan: { saved: { gone: { accessTokens: [second?.id] } } },
      },
    });
    expect(await existing(peer(), made)).toEqual([third?.id]);
    const again = await home.run('tokens', 'revoke', '--plan', plan, '--yes');
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('Nothing to revoke')]);
    expect(again.stdout).toContain('Already gone: 2 access tokens of the plan');
  });

  test('a plan made over REST is refused if its id now belongs to another token, in the database too', async () => {
    const made = await userWithTokens(peer(), 'replaced', 1);
    const home = homeOf(peer());
    const plan = join(home.folder, 'plan.json');
    const { code } = await home.run('tokens', 'revoke', '--id', String(made[0]?.id), '--plan-out', plan);
    expect(code).toBe(0);
    await peer().sql("UPDATE main_oauth2accesstoken SET created = created + interval '1 s' WHERE id = $1", [
      made[0]?.id,
    ]);
    for (const context of ['rest', 'db']) {
      const args = ['tokens', 'revoke', '--plan', plan, '--yes', '--context', context];
      const refused = await home.run(...args);
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('is outdated')]);
    }
    expect(await existing(peer(), made)).toEqual([made[0]?.id]);
  });

  test('no audit log, no use', async () => {
    const made = await userWithTokens(peer(), 'unlogged', 2);
    const home = homeOf(peer());
    const file = leak(home, ...made);
    const { code, stderr } = await home.run(
      'tokens',
      'find',
      '--leaked',
      file,
      '--log-file',
      '/proc/audit.jsonl',
    );
    expect([code, stderr]).toEqual([6, expect.stringContaining('/proc/audit.jsonl')]);
    expect(await lastUsed(peer(), made[0])).toBeNull();
  });
});

/** Makes a user with write tokens that were never used. */
async function userWithTokens(peer: Peer, name: string, count: number): Promise<Made[]> {
  const user = `${name}${Date.now()}`;
  await makeUser(peer, user);
  const made: Made[] = [];
  for (let number = 0; number < count; number += 1) {
    const answer = await peer.request(`${peer.api}tokens/`, { user }, { body: { scope: 'write' } });
    expect(answer.status).toBe(201);
    made.push({ id: Number(answer.body['id']), value: String(answer.body['token']) });
  }
  return made;
}

/** Writes values to a file, as a scan finds them. */
function leak(home: PeerHome, ...made: readonly (Made | undefined)[]): string {
  const file = join(home.folder, 'leak.txt');
  writeFileSync(file, made.map((each) => `TOKEN=${each?.value}\n`).join(''), { mode: 0o600 });
  return file;
}

/** Which of the tokens exist, in their order. */
async function existing(peer: Peer, made: readonly Made[]): Promise<number[]> {
  const ids = made.map(({ id }) => id);
  const rows = await peer.sql('SELECT id FROM main_oauth2accesstoken WHERE id = ANY($1) ORDER BY id', [ids]);
  return rows.map(({ id }) => Number(id));
}

async function lastUsed(peer: Peer, made: Made | undefined): Promise<unknown> {
  const rows = await peer.sql('SELECT last_used FROM main_oauth2accesstoken WHERE id = $1', [made?.id]);
  return rows[0]?.['last_used'];
}
