import { Secret } from '@tokenctl/common/secret.ts';
import { kinds } from '@tokenctl/testing/runs.ts';
import { expect, it } from 'vitest';
import { investigate } from '../../../src/operations/investigation/investigate.ts';
import { openDatabaseEvidence } from '../../../src/targets/database/evidence/evidence.ts';
import { describeEach, loadRealTables, type Peer, REAL_PEERS } from '../../support/real-tables.ts';

const PEERS: readonly Peer[] = ['awx-24.6.1', 'awx-23.5.1'];

describeEach(kinds(PEERS.filter((peer) => REAL_PEERS.includes(peer))))('an investigation of %s', (peer) => {
  it('names entries without an actor newest first, with the owners of the tokens', async () => {
    const real = await loadRealTables(peer);
    const evidence = await openDatabaseEvidence({ connection: new Secret(real.url) });
    try {
      const target = await real.open();
      const { unattributed, unattributedCount } = await investigate({
        ...{ target, evidence, description: await target.describe(), clock: { now: () => new Date() } },
        user: 'alice',
      });
      const rows = await real.database.query<{ id: number; username: string | null }>(
        `SELECT s.id, u.username FROM main_activitystream s
         LEFT JOIN main_oauth2accesstoken t ON t.id = (s.changes::jsonb ->> 'id')::int AND s.object1 = 'o_auth2_access_token'
         LEFT JOIN auth_user u ON u.id = t.user_id
         WHERE s.actor_id IS NULL AND s.deleted_actor IS NULL AND s.object1 IN ('user', 'o_auth2_access_token',
           'o_auth2_application', 'setting', 'credential', 'team', 'role') ORDER BY s.id DESC`,
      );
      expect(rows.length).toBeGreaterThan(15);
      expect(unattributed.map(({ entry, owner }) => ({ id: entry, username: owner }))).toEqual(rows);
      expect(unattributedCount).toBe(rows.length);
    } finally {
      await evidence.close();
      await real.close();
    }
  });

  it('follows a user who gave the name to another one', { tags: ['long'] }, async () => {
    const real = await loadRealTables(peer);
    const evidence = await openDatabaseEvidence({ connection: new Secret(real.url) });
    try {
      const { alice = 0, bob = 0 } = real.filling.users;
      const rename = async (id: number, from: string, to: string) => {
        await real.database.execute('UPDATE auth_user SET username = $1 WHERE id = $2', [to, id]);
        const [entry] = await real.database.query<{ id: number }>(
          `INSERT INTO main_activitystream (operation, timestamp, changes, object1, object2, object_relationship_type, actor_id, action_node, setting)
           VALUES ('update', now(), $1, 'user', '', '', 1, 'x', '{}') RETURNING id`,
          [JSON.stringify({ username: [from, to] })],
        );
        await real.database.execute(
          'INSERT INTO main_activitystream_user (activitystream_id, user_id) VALUES ($1, $2)',
          [entry?.id, id],
        );
      };
      await rename(alice, 'alice', 'other');
      await rename(bob, 'bob', 'alice');
      const target = await real.open();
      const { chain, limits } = await investigate({
        ...{ target, evidence, description: await target.describe(), clock: { now: () => new Date() } },
        user: 'alice',
      });
      expect(chain).toMatchObject([{ how: 'subject', user: { id: alice, username: 'other' } }]);
      expect(limits.find(({ limit }) => limit === 'renamed')?.text).toContain(
        `user ${bob} (formerly bob) got it at`,
      );
    } finally {
      await evidence.close();
      await real.close();
    }
  });
});
