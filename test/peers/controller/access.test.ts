import { expect, test } from 'vitest';
import { makeAccess, makeUser, openWays, tryAccess } from '../access.ts';
import { homeOf } from '../home.ts';
import { changes, describePeer } from '../peer.ts';

const ALL = ['personal', 'application', 'session', 'refresh', 'code', 'basic', 'password', 'login'];

describePeer('awx', 'ways into a controller', (peer) => {
  test('all are open to a user, and tables show what using them made', async () => {
    await makeUser(peer(), 'everyway');
    const access = await makeAccess(peer(), 'everyway');
    const before = await peer().tables();
    expect(openWays(await tryAccess(peer(), access)).sort()).toEqual([...ALL].sort());
    const after = changes(before, await peer().tables());
    expect(after['main_oauth2accesstoken']?.added).toHaveLength(3);
    expect(after['oauth2_provider_grant']?.removed).toHaveLength(1);
  });

  test('revoking a user in the database removes exactly the tokens of the user', async () => {
    const id = await makeUser(peer(), 'revokee');
    const access = await makeAccess(peer(), 'revokee');
    const before = await peer().tables();
    const run = await homeOf(peer(), { current: 'db' }).run('tokens', 'revoke', '--user', 'revokee', '--yes');
    expect(run).toMatchObject({ code: 0 });
    const found = changes(before, await peer().tables());
    expect(found['main_oauth2accesstoken']?.removed.map((row) => row['user_id'])).toEqual([id, id]);
    expect(found['main_oauth2accesstoken']?.added).toEqual([]);
    const tried = await tryAccess(peer(), access);
    expect(openWays(tried)).not.toContain('personal');
    expect(openWays(tried)).not.toContain('application');
    expect(openWays(tried)).not.toContain('refresh');
  });
});
