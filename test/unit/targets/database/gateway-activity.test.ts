import { beforeAll, describe, expect, it } from 'vitest';
import { partOf } from '../../../../src/operations/scope/target-parts.ts';
import { ALICE, all, GITHUB, LEAVER, testDatabase } from '../../../support/test-database.ts';

describe("a gateway's activity stream", () => {
  const place = testDatabase('gateway');
  /** The id of the user in whose name a gateway's management commands write. */
  let system: number;
  const NOTHING = { added_fields: {}, removed_fields: {}, changed_fields: {} };

  beforeAll(async () => {
    const [row] = await place.database.query<{ id: number }>(
      `INSERT INTO aap_gateway_api_user (username, password, is_superuser, first_name, last_name, email, is_staff, is_active,
         date_joined, created, modified, managed)
       VALUES ('_system', '!', true, '', '', '', false, true, now(), now(), now(), true) RETURNING id`,
    );
    system = row?.id ?? 0;
  });

  /** Its rows about an object, oldest first. */
  const entries = (model: string, id: number) =>
    place.database.query(
      `SELECT e.operation, e.changes, e.created_by_id FROM dab_activitystream_entry e
       JOIN django_content_type c ON c.id = e.content_type_id WHERE c.model = $1 AND e.object_id = $2::text ORDER BY e.id`,
      [model, id],
    );

  it('records all fields of a revoked token except its value, and keeps the entry', async () => {
    const [id = 0] = await place.tokens(1, {
      ...{ description: '\'say "hi" é\'', application_id: String(GITHUB), scope: "'read'" },
      ...{ created: "'2026-03-04T05:06:07Z'", expires: "'3026-03-04T05:06:07Z'" },
    });
    await all(place.target.revoke([id]));
    const [entry, more] = await entries('oauth2accesstoken', id);
    expect(more).toBeUndefined();
    expect(entry).toEqual({
      operation: 'delete',
      created_by_id: system,
      changes: {
        ...NOTHING,
        removed_fields: {
          ...{ id: String(id), user: String(ALICE), application: String(GITHUB), scope: 'read' },
          ...{ description: 'say "hi" é', token: '$encrypted$', source_refresh_token: null },
          created: expect.stringMatching(/^2026-03-04T/),
          ...{ id_token: null, last_used: null, created_by: null, modified_by: null },
          modified: expect.any(String),
          expires: expect.stringMatching(/^3026-03-04T/),
        },
      },
    });
    expect(await all(place.target.activity.list({ tokenIds: [id] }))).toEqual([
      expect.objectContaining({
        ...{
          operation: 'delete',
          object: 'o_auth2_access_token',
          actor: { id: system, username: '_system' },
        },
        changes: expect.objectContaining({ id, scope: 'read', token: '$encrypted$' }),
      }),
    ]);
  });

  it('records each revoked or deleted refresh token, and no others', async () => {
    const made = await place.tokens(3);
    const [meant = 0, kept = 0] = made;
    const ids = await Promise.all(made.map((id) => place.refreshToken(id)));
    const [ofMeant = 0, ofKept = 0, ofDirect = 0] = ids;
    const orphan = await place.refreshToken(null);
    await all(place.target.revoke([meant], { withRefreshTokens: true }));
    await all(place.target.revoke([kept]));
    await all(partOf(place.target, 'refreshTokens').revoke([ofDirect, orphan]));
    const changed = async (id: number) =>
      (await entries('oauth2refreshtoken', id)).map((entry) => [entry['operation'], entry['changes']]);
    // The gateway does not record that the access token is gone.
    const revoked = [['update', { ...NOTHING, changed_fields: { revoked: [null, expect.any(String)] } }]];
    expect(await changed(ofMeant)).toEqual(revoked);
    expect(await changed(ofDirect)).toEqual(revoked);
    expect(await changed(ofKept)).toEqual([]);
    expect(await changed(orphan)).toEqual(revoked);
    await all(partOf(place.target, 'refreshTokens').delete([ofKept]));
    expect(await changed(ofKept)).toEqual([
      [
        'delete',
        {
          ...NOTHING,
          removed_fields: expect.objectContaining({
            id: String(ofKept),
            token: '$encrypted$',
            revoked: null,
            ...{ created_by: null, modified_by: null },
          }),
        },
      ],
    ]);
  });

  it('records a created token and a deactivated user', async () => {
    const { token, value } = await place.target.createToken({
      ...{ scope: 'write', description: 'nightly', user: 'alice' },
    });
    const [made] = await entries('oauth2accesstoken', token.id);
    expect(made).toMatchObject({
      operation: 'create',
      created_by_id: system,
      changes: {
        added_fields: {
          ...{ id: String(token.id), user: String(ALICE), description: 'nightly' },
          ...{ id_token: null, created_by: String(system), modified_by: String(system) },
        },
      },
    });
    expect(JSON.stringify(made)).not.toContain('last_used');
    expect(JSON.stringify(made)).not.toContain(value.reveal());
    expect(await place.target.users.setActive(ALICE, false)).toBe(true);
    expect(await place.target.users.setActive(ALICE, true)).toBe(true);
    expect((await entries('user', ALICE)).map(({ changes }) => changes)).toEqual([
      { ...NOTHING, changed_fields: { is_active: ['True', 'False'] } },
      { ...NOTHING, changed_fields: { is_active: ['False', 'True'] } },
    ]);
    const [user] = await place.database.query<{ modified: Date }>(
      'SELECT modified FROM aap_gateway_api_user WHERE id = $1',
      [ALICE],
    );
    expect(user?.modified.getUTCFullYear()).toBeGreaterThan(2020);
  });

  it('is read by actor and time, in the controller’s form', async () => {
    const [id = 0] = await place.tokens(1);
    await place.database.execute(
      `INSERT INTO dab_activitystream_entry (created, operation, changes, content_type_id, object_id, created_by_id)
       SELECT at::timestamptz, 'update', changes::jsonb, c.id, object_id, actor
       FROM (VALUES
         ('2026-01-01', '{"changed_fields": {"name": ["a", "b"]}}', 'oauth2application', '1', ${ALICE}),
         ('2026-01-02', NULL, 'preference', NULL, ${LEAVER}),
         ('2026-01-03', '{"changed_fields": {"description": ["", "x"]}}', 'oauth2accesstoken', '${id}', ${ALICE}),
         ('2026-01-04', '[]', 'organization', 'no number', ${LEAVER})
       ) v(at, changes, model, object_id, actor) JOIN django_content_type c ON c.model = v.model ORDER BY at`,
    );
    const until = new Date('2026-02-01T00:00:00Z');
    const read = await all(place.target.activity.list({ actorIds: [ALICE, LEAVER], until }));
    expect(read.map(({ object, changes, actor }) => [object, changes, actor?.username])).toEqual([
      ['o_auth2_application', { name: ['a', 'b'], id: 1 }, 'alice'],
      ['setting', {}, 'leaver'],
      ['o_auth2_access_token', { description: ['', 'x'], id }, 'alice'],
      ['organization', {}, 'leaver'],
    ]);
    expect((await all(place.target.activity.list({ tokenIds: [id], until }))).map(({ at }) => at)).toEqual([
      new Date('2026-01-03T00:00:00Z'),
    ]);
    // The first application has the same id as the first token.
    expect(await all(place.target.activity.list({ tokenIds: [1], until }))).toEqual([]);
    expect(await place.target.activity.lastChanges([ALICE, LEAVER, 99])).toEqual(
      new Map([
        [ALICE, new Date('2026-01-03T00:00:00Z')],
        [LEAVER, new Date('2026-01-04T00:00:00Z')],
      ]),
    );
  });

  it('prevents any change if it accepts no entry', async () => {
    const [id = 0] = await place.tokens(1);
    await place.database.execute(
      "UPDATE django_content_type SET model = 'unknown' WHERE model = 'oauth2accesstoken'",
    );
    await expect(all(place.target.revoke([id]))).rejects.toMatchObject({ code: 'target_misbehaved' });
    expect(await all(place.target.tokens({ ids: [id] }))).toHaveLength(1);
  });
});
