import { expect, test } from 'vitest';
import { timeline } from '../../../../src/operations/incident/timeline.ts';
import { UseRecord } from '../../../../src/operations/journal/own-uses.ts';
import { incidentFixture, NO_MEASURE } from '../../../support/incident-fixture.ts';
import { token } from '../../../support/tokens.ts';

const DAY = { since: new Date('2026-11-20T00:00:00Z'), until: new Date('2026-11-21T00:00:00Z') };

async function estate() {
  const at = await incidentFixture('database', 0);
  at.target.refresh.rows.clear();
  const made = { created: new Date('2026-11-20T08:00:00Z'), lastUsed: new Date('2026-11-20T09:30:00Z') };
  at.target.alive.set(1, token({ id: 1, ...made, expires: new Date('2027-11-20T08:00:00Z') }));
  const activity = (id: number, hour: string, other: object) => ({
    id,
    at: new Date(`2026-11-20T${hour}:00Z`),
    operation: 'create',
    actor: { id: 2, username: 'alice' },
    object: 'o_auth2_access_token',
    changes: {},
    ...other,
  });
  at.target.stream.push(
    activity(1, '08:00', { changes: { id: 1 } }),
    activity(2, '09:00', { operation: 'update', object: 'job_template', changes: { id: 7 } }),
    activity(3, '09:15', { actor: { id: 3, username: 'bob' }, object: 'job', changes: { id: 8 } }),
    activity(5, '09:00', { at: new Date('2026-11-19T09:00:00Z') }),
  );
  // What is revoked is revoked just before midnight.
  at.target.now = () => new Date('2026-11-20T23:59:00Z');
  return at;
}

test('what a user did and what was done about them stands in order, from all three sources', async () => {
  await using at = await estate();
  await at.lockDown({ scope: { kind: 'users', names: ['alice'] }, measures: NO_MEASURE });
  const items = await timeline({ ...at.common, subject: { user: 'alice' }, ...DAY });
  expect(items.map(({ at: when }) => when.getTime())).toEqual(
    items.map(({ at: when }) => when.getTime()).sort((a, b) => a - b),
  );
  const told = items.map(({ source, who, what }) => `${source} ${who} ${what}`);
  expect(told.filter((text) => !text.startsWith('audit_log'))).toEqual([
    'activity_stream alice create o_auth2_access_token 1',
    'activity_stream alice update job_template 7',
    'activity_stream null delete o_auth2_access_token 1',
  ]);
  expect(told.filter((text) => text.startsWith('audit_log'))).toEqual(
    expect.arrayContaining([
      'audit_log root intent incident.lockdown',
      'audit_log root outcome incident.lockdown',
      'audit_log root intent tokens.revoke (batch)',
      'audit_log root outcome tokens.revoke (batch)',
    ]),
  );
});

test('requests that a gateway records are one item for each token and time between changes', async () => {
  await using at = await estate();
  const use = (id: number, minute: string, tokenId = 1) => ({
    ...{ id, at: new Date(`2026-11-20T09:${minute}:00Z`), operation: 'update' },
    ...{ actor: { id: 2, username: 'alice' }, object: 'o_auth2_access_token' },
    changes: { id: tokenId, scope: ['write', 'write read'] },
  });
  const change = { ...use(23, '23'), changes: { id: 1, scope: ['read', 'write'] } };
  at.target.stream.push(use(20, '20'), use(21, '21', 4), use(22, '22'), change, use(24, '24'));
  const items = await timeline({ ...at.common, subject: { user: 'alice' }, ...DAY });
  const told = items.flatMap(({ source, what }) => (source === 'activity_stream' ? [what] : []));
  expect(told.slice(2)).toEqual([
    'access token 1 used in 2 requests, the last at 2026-11-20T09:22:00.000Z',
    'access token 4 used in 1 request',
    'update o_auth2_access_token 1',
    'access token 1 used in 1 request',
  ]);
});

test.each([
  [undefined, ['used by tokenctl, while searching for a leaked token; the last use before it is not known']],
  [null, ['used by tokenctl, while searching for a leaked token']],
  [new Date('2026-11-20T08:30:00Z'), ['last used', 'used by tokenctl, while searching for a leaked token']],
])('a use by tokenctl is marked, and what it hid is told: %s', async (lastUsed, expected) => {
  await using at = await estate();
  const created = new Date('2026-11-20T08:00:00Z');
  const record = new UseRecord(() => Promise.resolve(at.common));
  await record.begin({ values: 1, tokens: [{ id: 1, user: 'alice', created }] });
  const used = { ids: [1], user: 'alice', fingerprint: 'aaaaaaaaaaaa' };
  const usedAt = new Date('2026-11-20T09:30:00Z');
  await record.end([{ ...used, usedAt, ...(lastUsed !== undefined && { lastUsed }) }]);
  const items = await timeline({ ...at.common, subject: { tokenId: 1 }, ...DAY });
  const uses = items.filter(({ source, what }) => source === 'token' && what.includes('used'));
  expect(uses.map(({ what }) => what)).toEqual(expected.map((text) => `access token 1 ${text}`));
});

test('a token tells when it was made and used, and the log what became of it', async () => {
  await using at = await estate();
  const before = await timeline({ ...at.common, subject: { tokenId: 1 }, ...DAY });
  expect(before.map(({ what }) => what)).toEqual([
    'create o_auth2_access_token 1',
    'access token 1 created',
    'access token 1 last used',
  ]);
  await at.revokeAll();
  const after = await timeline({ ...at.common, subject: { tokenId: 1 }, ...DAY });
  expect(after.map(({ what }) => what)).toEqual([
    'create o_auth2_access_token 1',
    'intent tokens.revoke (batch)',
    'outcome tokens.revoke (batch)',
    'delete o_auth2_access_token 1',
  ]);
});

test('of a user that does not exist is refused', async () => {
  await using at = await estate();
  await expect(timeline({ ...at.common, subject: { user: 'nobody' }, ...DAY })).rejects.toMatchObject({
    code: 'not_found',
  });
});
