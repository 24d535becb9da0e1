import assert from 'node:assert/strict';
import { offeredWays } from '../access.ts';
import { homeOf } from '../home.ts';
import { DATABASE } from '../needs.ts';
import type { AcceptanceSuite } from '../scene.ts';

/** What the installation is: who tokenctl is there, and which ways in there are to close. */
export const everyWay: AcceptanceSuite = {
  name: 'The installation',
  needs: [],
  scenarios: [
    {
      name: 'lets new users in: with a token, an application, a session',
      run: async (it) => {
        const ways = offeredWays(it) ?? [];
        assert.ok(ways.includes('personal'), `only ${ways.join(', ')} are open to a new user`);
        return `Ways in here: ${ways.join(', ')}.`;
      },
    },
    {
      name: 'is accepted by context check, over REST',
      run: async (it) => {
        const { code, stdout, stderr } = await homeOf(it).run('context', 'check', 'rest');
        assert.equal(code, 0, stdout + stderr);
      },
    },
    {
      name: 'is accepted by context check, in the database',
      needs: [DATABASE],
      run: async (it) => {
        const { code, stdout, stderr } = await homeOf(it).run('context', 'check', 'db');
        assert.equal(code, 0, stdout + stderr);
      },
    },
    {
      name: 'knows the superuser, and lists the tokens, over both ways alike',
      needs: [DATABASE],
      run: async (it) => {
        const home = homeOf(it);
        const { body } = await home.json<{ identity: { username: string } }>('whoami');
        assert.equal(body.identity.username, it.adminName);
        const ids = async (context: string) =>
          (await home.json<{ id: number }[]>('tokens', 'list', '--context', context)).body.map(
            ({ id }) => id,
          );
        assert.deepEqual(await ids('rest'), await ids('db'));
      },
    },
  ],
};
