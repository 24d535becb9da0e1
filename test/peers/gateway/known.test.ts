import { expect, test } from 'vitest';
import { grant, login, makeAccess, makeUser } from '../access.ts';
import { homeOf } from '../home.ts';
import { describePeer, type Peer } from '../peer.ts';

/** The access tokens and live refresh tokens of a user. */
async function tokensOf(peer: Peer, userId: number): Promise<unknown[]> {
  return await peer.sql(
    `SELECT t.id FROM dab_oauth2_provider_oauth2accesstoken t WHERE t.user_id = ${userId}
     UNION ALL SELECT r.id FROM dab_oauth2_provider_oauth2refreshtoken r WHERE r.user_id = ${userId} AND r.revoked IS NULL`,
  );
}

describePeer('gateway', 'what is said to be known of a gateway', (peer) => {
  test('an orphaned refresh token is refused with an error, and is found in the database', async () => {
    const id = await makeUser(peer(), 'orphan');
    const { refresh } = await makeAccess(peer(), 'orphan');
    // Over REST, only the access tokens are revoked.
    expect(await homeOf(peer()).run('tokens', 'revoke', '--user', 'orphan', '--yes')).toMatchObject({
      code: 0,
    });
    const form = { grant_type: 'refresh_token', refresh_token: refresh ?? '' };
    expect((await grant(peer(), 'AppPwConf', form)).status).toBe(500);
    expect(await tokensOf(peer(), id)).toHaveLength(1);
    const db = homeOf(peer(), { current: 'db' });
    const listed = await db.json<{ state: string }[]>('refresh-tokens', 'list', '--user', 'orphan');
    expect(listed.body.map(({ state }) => state)).toEqual(['orphaned']);
    expect(await db.run('tokens', 'revoke', '--user', 'orphan', '--yes')).toMatchObject({ code: 0 });
    expect(await tokensOf(peer(), id)).toEqual([]);
  });

  test('the drop-in prints the lines of the gateway’s own command', async () => {
    await makeUser(peer(), 'dropped');
    await makeAccess(peer(), 'dropped');
    const db = homeOf(peer(), { current: 'db' });
    const { code, stdout } = await db.run('revoke_oauth2_tokens', '--user', 'dropped', '--all');
    expect(code).toBe(0);
    expect(stdout).toContain('revoked OAuth2RefreshToken');
    expect(stdout).not.toMatch(/revoked RefreshToken/);
  });

  test('a normal user sees tokens of others, and is not said to see only its own', async () => {
    const home = homeOf(peer(), { user: 'bob' });
    const listed = await home.run('tokens', 'list');
    expect(listed.stdout).toMatch(/^\d+ +alice /m);
    expect(listed.stderr).toContain('which may be more than its own tokens');
  });

  test('local accounts log in without Basic authentication, which the manual only warns of', async () => {
    const home = homeOf(peer());
    const off = await home.run('settings', 'basic-auth', 'off', '--yes');
    expect(off.stdout + off.stderr).toContain('The manual of the gateway warns');
    expect((await peer().request(`${peer().api}me/`, { user: 'alice' })).status).toBe(401);
    expect(await login(peer(), 'alice')).not.toBeNull();
    expect(await home.run('settings', 'basic-auth', 'on', '--yes')).toMatchObject({ code: 0 });
  });
});
