import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Home, homeOf } from '../home.ts';
import type { Installation } from '../installation.ts';
import { CONTROLLER, DATABASE, QUIET } from '../needs.ts';
import { type Account, asUser, makeUser } from '../own-objects.ts';
import { expectStatus } from '../requests.ts';
import type { AcceptanceSuite } from '../scene.ts';

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
    readonly lastUsed?: string | null;
    readonly usedAt: string | null;
  }[];
}

/** Makes a user with write tokens that were never used. */
async function userWithTokens(
  it: Installation,
  own: string,
  number: number,
): Promise<readonly [Account, readonly Made[]]> {
  const account = await makeUser(it, own);
  const made: Made[] = [];
  for (let index = 0; index < number; index += 1) {
    const body = { scope: 'write', description: it.name(`${own}-${index}`) };
    const answer = expectStatus(await it.request('tokens/', asUser(account), { body }), 201);
    made.push({ id: Number(answer.body['id']), value: it.keep(String(answer.body['token'])) });
  }
  return [account, made];
}

/** Writes values to a file, as a scan finds them. */
function leak(it: Installation, home: Home, made: readonly (Made | undefined)[]): string {
  const file = join(home.folder, 'leak.txt');
  writeFileSync(file, made.map((each) => `TOKEN=${each?.value}\n`).join(''), { mode: 0o600 });
  it.secretFiles.add(file);
  return file;
}

/** Which of the tokens exist, in their order. */
async function existing(it: Installation, made: readonly Made[]): Promise<readonly number[]> {
  const ids = new Set((await it.all('tokens/')).map(({ id }) => Number(id)));
  return made.map(({ id }) => id).filter((id) => ids.has(id));
}

async function lastUsed(it: Installation, made: Made | undefined): Promise<unknown> {
  const answer = expectStatus(await it.request(`tokens/${made?.id}/`, it.admin), 200);
  return answer.body['last_used'] ?? null;
}

const idsOf = ({ found }: Found) => found.map(({ ids }) => ids);

/** Applies a plan that `tokens find` made, after one of its tokens is gone, and never another one. */
async function applyPlan(it: Installation, current: 'rest' | 'db'): Promise<void> {
  const [, made] = await userWithTokens(it, `planned-${current}`, 3);
  const [first, second, third] = made;
  const home = homeOf(it, { current });
  const [file, plan] = [leak(it, home, [first, second]), join(home.folder, 'plan.json')];
  assert.equal((await home.run('tokens', 'find', '--leaked', file, '--plan-out', plan)).code, 0);
  const text = readFileSync(plan, 'utf8');
  for (const { value } of made) assert.ok(!text.includes(value), 'the plan holds a value');
  assert.equal(statSync(plan).mode & 0o777, 0o600);
  assert.equal((await home.run('tokens', 'find', '--leaked', file, '--plan-out', plan)).code, 2);
  const edited = join(home.folder, 'edited.json');
  writeFileSync(edited, text.replace(`"id": ${second?.id}`, `"id": ${third?.id}`));
  assert.match((await home.run('tokens', 'revoke', '--plan', edited, '--yes')).stderr, /was modified after/);
  const unlogged = ['--yes', '--log-file', '/proc/audit.jsonl'];
  assert.equal((await home.run('tokens', 'revoke', '--plan', plan, ...unlogged)).code, 6);
  assert.equal((await home.run('tokens', 'revoke', '--plan', plan, '--dry-run')).code, 0);
  assert.deepEqual(
    await existing(it, made),
    made.map(({ id }) => id),
  );
  expectStatus(await it.request(`tokens/${second?.id}/`, it.admin, { method: 'DELETE' }), 204);
  const done = await home.json<{ revoked: number; verified: boolean }>(
    ...['tokens', 'revoke', '--plan', plan, '--yes'],
  );
  assert.deepEqual([done.code, done.body.revoked, done.body.verified], [0, 1, true]);
  assert.deepEqual(await existing(it, made), [third?.id]);
  const again = await home.run('tokens', 'revoke', '--plan', plan, '--yes');
  assert.equal(again.code, 0);
  assert.match(again.stdout, /Nothing to revoke/);
}

/** Leaked values: which tokens they are, found out with as few traces as possible. */
export const leakedTokens: AcceptanceSuite = {
  name: 'Leaked tokens',
  needs: [CONTROLLER],
  scenarios: [
    {
      name: 'the only token of its owner is found',
      run: async (it) => {
        const [account, [made]] = await userWithTokens(it, 'lone', 1);
        const home = homeOf(it);
        const { code, body } = await home.json<Found>('tokens', 'find', '--leaked', leak(it, home, [made]));
        assert.equal(code, 0);
        assert.deepEqual(
          body.found.map(({ live, ids, user }) => ({ live, ids, user })),
          [{ live: true, ids: [made?.id], user: account.name }],
        );
      },
    },
    {
      name: 'finding it leaves no use of it behind',
      needs: [QUIET],
      run: async (it) => {
        const [, [made]] = await userWithTokens(it, 'unused', 1);
        const home = homeOf(it);
        const { body } = await home.json<Found>('tokens', 'find', '--leaked', leak(it, home, [made]));
        assert.equal(body.found[0]?.usedAt, null);
        assert.equal(await lastUsed(it, made), null);
      },
    },
    {
      name: 'values that are no tokens are not found',
      run: async (it) => {
        const home = homeOf(it);
        const file = leak(it, home, [{ id: 0, value: 'A'.repeat(30) }]);
        const { body } = await home.json<Found>('tokens', 'find', '--leaked', file);
        assert.deepEqual(body.found, []);
      },
    },
    {
      name: 'a dry run makes no use: it lists what a value may be, and the next run tells',
      needs: [QUIET],
      run: async (it) => {
        const [, made] = await userWithTokens(it, 'dry', 3);
        const [first] = made;
        const home = homeOf(it);
        const find = ['tokens', 'find', '--leaked', leak(it, home, [first]), '--revoke'];
        const dry = await home.run(...find, '--dry-run');
        assert.equal(await lastUsed(it, first), null);
        assert.equal(dry.code, 5);
        const ids = made.map(({ id }) => id).sort((a, b) => a - b);
        assert.ok(dry.stdout.includes(`access token that is one of ${ids.join(', ')}`), dry.stdout);
        assert.doesNotMatch(dry.stdout, /Nothing to revoke/);
        const { code, body } = await home.json<Found>(...find, '--yes');
        assert.deepEqual([code, idsOf(body)], [0, [[first?.id]]]);
        assert.deepEqual(
          await existing(it, made),
          made.slice(1).map(({ id }) => id),
        );
      },
    },
    {
      name: 'a value of an owner of several tokens is none of another token, and of no other owner',
      run: async (it) => {
        const [account, made] = await userWithTokens(it, 'several', 3);
        const [first, second] = made;
        const home = homeOf(it);
        const find = ['tokens', 'find', '--leaked', leak(it, home, [first, second])];
        const { body } = await home.json<Found>(...find);
        const ids = made.map(({ id }) => id);
        assert.deepEqual(
          body.found.map(({ user }) => user),
          [account.name, account.name],
        );
        for (const [index, right] of [first?.id ?? 0, second?.id ?? 0].entries()) {
          const named = body.found[index]?.ids ?? [];
          assert.ok(named.includes(right), `${right} is not among ${named.join(', ')}`);
          assert.ok(named.every((id) => ids.includes(id)));
        }
      },
    },
    {
      name: 'tokens of one owner are told apart, and the second look makes no use',
      needs: [QUIET],
      run: async (it) => {
        const [, [first, second]] = await userWithTokens(it, 'many', 3);
        const home = homeOf(it);
        const file = leak(it, home, [first, second]);
        const look = async () => (await home.json<Found>('tokens', 'find', '--leaked', file)).body;
        const once = await look();
        assert.deepEqual(idsOf(once), [[first?.id], [second?.id]]);
        assert.ok(once.found.every(({ usedAt, lastUsed: byOwner }) => usedAt !== null && byOwner === null));
        const touched = await lastUsed(it, first);
        const again = await look();
        assert.deepEqual(idsOf(again), idsOf(once));
        assert.ok(again.found.every(({ usedAt }) => usedAt === null));
        assert.equal(await lastUsed(it, first), touched);
      },
    },
    {
      name: 'the database tells them apart by what it stores',
      needs: [DATABASE],
      run: async (it) => {
        const [, [first, second]] = await userWithTokens(it, 'by-hash', 3);
        const home = homeOf(it, { current: 'db' });
        const file = leak(it, home, [first, second]);
        const { body } = await home.json<Found>('tokens', 'find', '--leaked', file);
        assert.deepEqual(idsOf(body), [[first?.id], [second?.id]]);
        assert.equal(await lastUsed(it, first), null);
      },
    },
    {
      name: 'a plan made of them is applied exactly, over REST',
      needs: [QUIET],
      run: (it) => applyPlan(it, 'rest'),
    },
    {
      name: 'a plan made of them is applied exactly, in the database',
      needs: [DATABASE],
      run: (it) => applyPlan(it, 'db'),
    },
    {
      name: 'no audit log, no use',
      run: async (it) => {
        const [, made] = await userWithTokens(it, 'unlogged', 2);
        const home = homeOf(it);
        const find = ['tokens', 'find', '--leaked', leak(it, home, made), '--log-file', '/proc/audit.jsonl'];
        assert.equal((await home.run(...find)).code, 6);
        assert.equal(await lastUsed(it, made[0]), null);
      },
    },
  ],
};
