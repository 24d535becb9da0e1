import assert from 'node:assert/strict';
import { join } from 'node:path';
import { closedWays, ofOffered } from '../access.ts';
import { homeOf } from '../home.ts';
import type { Installation } from '../installation.ts';
import { expectStatus } from '../requests.ts';
import { type AcceptanceSuite, scene } from '../scene.ts';

/** Revocations of a user's tokens: those of tokenctl, and the drop-in for the management command. */
const REVOCATIONS = [
  ['tokens revoke', ['tokens', 'revoke', '--yes', '--user']],
  ['revoke_oauth2_tokens', ['revoke_oauth2_tokens', '--user']],
] as const;

/** Creating and revoking tokens over the REST API: what is done, and to no one else. */
export const tokensOverRest: AcceptanceSuite = {
  name: 'Tokens over REST',
  needs: [],
  scenarios: [
    {
      name: 'tokens create makes one token that works',
      run: async (it) => {
        const home = homeOf(it);
        const before = await it.all('tokens/');
        const [file, description] = [join(home.folder, 'new.token'), it.name('created')];
        const args = ['tokens', 'create', '--scope', 'read', '--description', description, '--yes'];
        assert.equal((await home.run(...args, '--output', file)).code, 0);
        const token = it.keepFile(file);
        assert.equal((await it.all('tokens/')).length, before.length + 1);
        expectStatus(await it.request('me/', { token }), 200);
      },
    },
    {
      name: 'tokens revoke --id removes that token alone',
      run: async (it) => {
        const { access, tokenIds, listed } = await scene(it, 'rest-id');
        const id = Math.max(...tokenIds);
        assert.equal((await homeOf(it).run('tokens', 'revoke', '--id', `${id}`, '--yes')).code, 0);
        assert.deepEqual(await listed(), { gone: [id], made: [] });
        assert.deepEqual(await closedWays(it, access), ofOffered(it, 'personal'));
      },
    },
    ...REVOCATIONS.map(([name, args]) => ({
      name: `${name} of a user ends the user's tokens, and the refresh token is refused`,
      run: async (it: Installation) => {
        const { account, access, tokenIds, listed } = await scene(it, `rest-${name.replace(' ', '-')}`);
        const { code } = await homeOf(it).run(...args, account.name);
        assert.ok(code === 0 || code === 5, `exit ${code}`);
        assert.deepEqual(await listed(), { gone: tokenIds, made: [] });
        assert.deepEqual(await closedWays(it, access), ofOffered(it, 'application', 'personal', 'refresh'));
      },
    })),
    {
      name: 'a second revocation changes nothing',
      run: async (it) => {
        const { account, listed, changed } = await scene(it, 'rest-twice');
        const home = homeOf(it);
        const revoke = ['tokens', 'revoke', '--user', account.name, '--yes'];
        assert.equal((await home.run(...revoke)).code, 0);
        const once = [await listed(), await changed()];
        assert.equal((await home.run(...revoke)).code, 0);
        assert.deepEqual([await listed(), await changed()], once);
      },
    },
    {
      name: 'a dry run changes nothing',
      run: async (it) => {
        const { account, access, listed, changed } = await scene(it, 'rest-dry');
        const home = homeOf(it);
        await home.run('tokens', 'revoke', '--user', account.name, '--dry-run');
        await home.run('incident', 'lockdown', '--user', account.name, '--dry-run');
        await home.run('users', 'offboard', account.name, '--dry-run');
        assert.deepEqual([await listed(), await changed()], [{ gone: [], made: [] }, {}]);
        assert.deepEqual(await closedWays(it, access), []);
      },
    },
    {
      name: 'without an audit log nothing is done',
      run: async (it) => {
        const { account, access, listed, changed } = await scene(it, 'rest-unlogged');
        const at = ['--yes', '--log-file', '/proc/audit.jsonl'];
        const home = homeOf(it);
        assert.equal((await home.run('tokens', 'revoke', '--user', account.name, ...at)).code, 6);
        assert.equal((await home.run('incident', 'lockdown', '--user', account.name, ...at)).code, 6);
        assert.deepEqual([await listed(), await changed()], [{ gone: [], made: [] }, {}]);
        assert.deepEqual(await closedWays(it, access), []);
      },
    },
  ],
};
