import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  describeEach,
  loadRealTables,
  type Peer,
  REAL_PEERS,
  type RealTables,
} from '../../../support/real-tables.ts';

const GATEWAYS = REAL_PEERS.filter((peer: Peer) => peer.startsWith('gateway'));
const ID_TOKENS = 'dab_oauth2_provider_oauth2idtoken';

describeEach(GATEWAYS)('id tokens in the database of %s', (peer) => {
  let real: RealTables;
  beforeAll(async () => {
    real = await loadRealTables(peer);
  });
  afterAll(() => real.close());

  /** Stores an id token of an application, as OpenID Connect does; its access token may be gone. */
  const idToken = async (application: number) => {
    const [row] = await real.database.query<{ id: number }>(
      `INSERT INTO ${ID_TOKENS} (created, modified, application_id, expires, jti, scope, user_id)
       VALUES (now(), now(), $1, now() + interval '10 hours', gen_random_uuid(), 'openid', $2) RETURNING id`,
      [application, real.filling.users['alice']],
    );
    return row?.id ?? 0;
  };
  const left = async () =>
    (await real.database.query<{ application_id: number }>(`SELECT application_id FROM ${ID_TOKENS}`)).map(
      (row) => row.application_id,
    );

  it('go with their application, and are counted before', async () => {
    const { AppPwConf, AppPwPub } = real.filling.applications;
    const [meant = 0, other = 0] = [AppPwConf?.id, AppPwPub?.id];
    const used = await idToken(meant);
    await idToken(meant);
    await idToken(other);
    await real.database.execute(
      `UPDATE dab_oauth2_provider_oauth2accesstoken SET id_token_id = $1
       WHERE id = (SELECT min(id) FROM dab_oauth2_provider_oauth2accesstoken WHERE application_id = $2)`,
      [used, meant],
    );
    const target = await real.open();
    expect(await target.applications.find(meant)).toMatchObject({ id: meant, idTokens: 2 });
    expect(await target.applications.delete(meant)).toBe(true);
    expect(await left()).toEqual([other]);
    expect(await target.applications.find(meant)).toBeNull();
  });

  it('are not counted where there is no table of them', async () => {
    await real.database.execute(
      `ALTER TABLE dab_oauth2_provider_oauth2accesstoken DROP COLUMN id_token_id CASCADE;`,
    );
    await real.database.execute(
      `ALTER TABLE dab_oauth2_provider_oauth2accesstoken ADD COLUMN id_token_id bigint`,
    );
    await real.database.execute(`DROP TABLE ${ID_TOKENS}`);
    const target = await real.open();
    const { missingRights } = await target.describe();
    expect(missingRights).toEqual([]);
    const id = real.filling.applications['AppPwPub']?.id ?? 0;
    expect((await target.applications.find(id))?.idTokens).toBeUndefined();
    expect(await target.applications.delete(id)).toBe(true);
  });
});
