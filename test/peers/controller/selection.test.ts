import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { homeOf } from '../home.ts';
import { describePeer } from '../peer.ts';

interface Listed {
  readonly id: number;
  readonly user: { readonly username: string };
  readonly lastUsed?: string | null;
  readonly lastUsedOn?: string | null;
}

describePeer('awx', 'selections, rescue and rotation', (peer) => {
  const listed = async (...args: string[]) =>
    (await homeOf(peer()).json<Listed[]>('tokens', 'list', ...args)).body;
  const ids = async (...args: string[]) => (await listed(...args)).map(({ id }) => id);

  test.each([
    ['a pattern without a name', ['--user', '*o*', '--not-user', 'bob']],
    ['all but some', ['--not-user', 'a*', '--not-application', 'AppPw*']],
    ['deactivated owners', ['--owner-inactive']],
    ['recent ones', ['--created-after', '1d']],
    ['those that never expire', ['--never-expires', '--scope', 'write']],
    ['those that were never used', ['--never-used']],
    ['those that expire soon', ['--expires-within', '400d']],
    ['the findings of a rule', ['--finding', 'unused-for']],
  ])('%s are the same over REST and in the database', async (_, args) => {
    const rest = await ids('--context', 'rest', ...args);
    expect(rest).toEqual(await ids('--context', 'db', ...args));
    if (!args.includes('--expires-within')) expect(rest.length).toBeGreaterThan(0);
    expect(rest.length).toBeLessThan((await ids()).length);
  });

  test('the day of the last use over REST is that of the database', async () => {
    const days = (tokens: readonly Listed[]) =>
      tokens
        .filter(({ user }) => user.username !== 'admin')
        .map(({ id, lastUsed, lastUsedOn }) => [id, lastUsedOn ?? lastUsed?.slice(0, 10) ?? null]);
    const inDatabase = days(await listed('--context', 'db'));
    expect(days(await listed('--context', 'rest', '--last-used'))).toEqual(inDatabase);
    expect(new Set(inDatabase.map(([, day]) => day)).size).toBeGreaterThan(2);
  });

  test('a context with a password turns basic authentication off with a rescue token, and rotates that', async () => {
    const home = homeOf(peer(), { user: 'admin' });
    const [rescue, rotated] = [join(home.folder, 'rescue.token'), join(home.folder, 'rotated.token')];
    const off = ['settings', 'basic-auth', 'off', '--rescue-token', rescue];
    expect([(await home.run(...off, '--dry-run')).code, existsSync(rescue)]).toEqual([0, false]);
    const { body, code } = await home.json<{ rescueToken: { tokenId: number } }>(...off, '--yes');
    expect(code).toBe(0);
    const use = ['context', 'add', 'rest', '--replace', '--url', peer().url, '--token-file'];
    await home.run(...use, rescue);
    const id = String(body.rescueToken.tokenId);
    const rotation = await home.json<{ tried: string; revocation: { verified: boolean } }>(
      ...['tokens', 'rotate', id, '--output', rotated, '--yes'],
    );
    expect(rotation).toMatchObject({ code: 0, body: { tried: 'accepted', revocation: { verified: true } } });
    expect((await home.run('whoami')).code).toBe(4);
    await home.run(...use, rotated);
    expect((await home.run('settings', 'basic-auth', 'on', '--yes')).code).toBe(0);
  });
});
