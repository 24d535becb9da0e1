import { expect, it } from 'vitest';
import { foldUses, isUses } from '../../../../src/domain/recorded-use.ts';
import { describeEach, loadRealTables, type Peer, REAL_PEERS } from '../../../support/real-tables.ts';
import { all } from '../../../support/test-database.ts';

const GATEWAYS = REAL_PEERS.filter((peer: Peer) => peer.startsWith('gateway'));

describeEach(GATEWAYS)('uses of tokens that %s records', (peer) => {
  it('are told from changes by entries as the gateway writes them', async () => {
    const real = await loadRealTables(peer);
    try {
      const { alice = 0 } = real.filling.users;
      const record = (changed: object, minutes: number) =>
        real.database.execute(
          `INSERT INTO dab_activitystream_entry (created, operation, changes, content_type_id, object_id, created_by_id)
           SELECT now() + make_interval(mins => $2), 'update', $1::jsonb, c.id, '2', $3::bigint
           FROM django_content_type c WHERE c.model = 'oauth2accesstoken'`,
          [JSON.stringify({ added_fields: {}, changed_fields: changed, removed_fields: {} }), minutes, alice],
        );
      await record({ scope: ['write', 'read'] }, 1);
      for (let minute = 2; minute < 40; minute += 1) await record({ scope: ['write', 'write read'] }, minute);
      const target = await real.open();
      const entries = foldUses(await all(target.activity.list({ tokenIds: [2] })));
      expect(entries.map((each) => (isUses(each) ? each.count : each.operation))).toEqual([
        'create',
        'update',
        38,
      ]);
      const last = (await target.activity.lastChanges([alice])).get(alice);
      expect(last?.getTime()).toBeLessThan(Date.now() + 90_000);
    } finally {
      await real.close();
    }
  });
});
