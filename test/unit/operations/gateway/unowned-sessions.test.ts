import { afterEach, beforeEach, expect, it } from 'vitest';
import { cachedSessions } from '../../../../src/operations/access/cached-sessions.ts';
import { returningSessions } from '../../../../src/operations/sessions/returning-sessions.ts';
import {
  describeEach,
  loadRealTables,
  type Peer,
  REAL_PEERS,
  type RealTables,
} from '../../../support/real-tables.ts';

const PLAIN = REAL_PEERS.filter((peer: Peer) => peer === 'gateway-plain');

describeEach(PLAIN)('sessions in the database of %s, which records no owners', (peer) => {
  let real: RealTables;
  beforeEach(async () => {
    real = await loadRealTables(peer);
    await real.database.execute(
      "INSERT INTO django_session (session_key, session_data, expire_date) VALUES ('k', 'x', now() + interval '2 hours')",
    );
  });
  afterEach(() => real.close());

  const paths = async () => {
    const target = await real.open();
    const description = await target.describe();
    const { alice = 0 } = real.filling.users;
    const now = new Date();
    const found = await cachedSessions(target, { description, userIds: [alice], now, latestExpiry: null });
    const incident = { ends: {}, since: now.toISOString(), locked: now.toISOString() };
    const [lifted] = await returningSessions(incident, [alice], {
      ...{ target, description, clock: { now: () => now } },
    });
    return { found, lifted, now };
  };

  it('are not called none while their user is active', async () => {
    const { found } = await paths();
    expect(found).toMatchObject({
      state: 'not_checked',
      how: expect.stringContaining('without a recorded owner'),
    });
    expect(found?.until).toBeUndefined();
  });

  it('are not called none while their user is deactivated, and may come back until they expire', async () => {
    await real.database.execute('UPDATE aap_gateway_api_user SET is_active = false WHERE id = $1', [
      real.filling.users['alice'],
    ]);
    const { found, lifted, now } = await paths();
    expect(found).toMatchObject({ state: 'closed', basis: 'known' });
    expect(found?.how).not.toMatch(/none is left/i);
    // The cookie age is 15 minutes: the session is from before it was lowered.
    expect(Date.parse(found?.until ?? '') - now.getTime()).toBeGreaterThan(7_000_000);
    expect(lifted?.how).toContain('The database contains sessions without a recorded owner');
  });
});
