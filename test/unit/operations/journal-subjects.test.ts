import { describe, expect, it } from 'vitest';
import { gatherReport } from '../../../src/operations/incident/gather-report.ts';
import { offboardUsers, planUserOffboarding } from '../../../src/operations/incident/offboard-user.ts';
import { timeline } from '../../../src/operations/incident/timeline.ts';
import { isAboutSubject } from '../../../src/operations/journal/entry-subjects.ts';
import { planRevocation } from '../../../src/operations/revocation/plan-revocation.ts';
import { revokeTokens } from '../../../src/operations/revocation/revoke-tokens.ts';
import { incidentFixture, NO_MEASURE } from '../../support/incident-fixture.ts';
import { token } from '../../support/tokens.ts';

const DAY = { since: new Date('2026-11-20T00:00:00Z'), until: new Date('2026-11-21T00:00:00Z') };
const ALICE = { kind: 'user', ids: new Set([2]), names: new Set(['alice']) } as const;

describe('what an entry is about', () => {
  it('is told by ids where they are stated, and by names elsewhere', () => {
    const cases: readonly (readonly [object, boolean])[] = [
      [{ users: ['alice'] }, true],
      [{ users: ['alice'], userIds: [3] }, false],
      [{ users: ['liam'], userIds: [2] }, true],
      [{ users: [2] }, true],
      [{ tokens: [{ user: 'alice', userId: 3, ids: [2] }] }, false],
      [{ tokens: [{ user: 'liam', userId: 2, ids: [7] }] }, true],
      [{ tokens: [{ user: 'alice', ids: [7] }] }, true],
      [{ scope: { kind: 'users', names: ['alice'], bound: [{ id: 3, name: 'alice' }] } }, false],
      [{ scope: { kind: 'users', names: ['liam'], bound: [{ id: 2, name: 'liam' }] } }, true],
      [{ scope: { kind: 'applications', names: ['alice'] } }, false],
      [{ application: { id: 2, name: 'alice' } }, false],
      [{ subject: { kind: 'user', name: 'alice' } }, true],
      [{ subject: { kind: 'user', name: 'alice' }, userIds: [3] }, false],
      [{ step: 'alice', reason: 'alice', digest: 'alice' }, false],
      [{ ids: [2], users: 2, planned: { users: 2 } }, false],
    ];
    for (const [data, isMeant] of cases) {
      expect([data, isAboutSubject(data as never, ALICE)]).toEqual([data, isMeant]);
    }
  });
});

/** alice (2) and bob (3) have a token each; then they swap their names. */
async function swapped() {
  const at = await incidentFixture('database', 0);
  at.target.refresh.rows.clear();
  at.target.alive.clear();
  at.target.now = () => new Date('2026-11-20T23:59:00Z');
  const [, alice, bob] = at.target.people;
  if (alice === undefined || bob === undefined) throw new Error('there are no users');
  at.target.alive.set(7, token({ id: 7, user: { id: bob.id, username: 'bob' } }));
  const revoke = async (users: readonly string[]) => {
    const plan = await planRevocation({ ...at.common, selector: { users } });
    await revokeTokens({ ...at.common, plan });
  };
  const swap = () => {
    const [to, from] = [bob.username, alice.username];
    Object.assign(alice, { username: to });
    Object.assign(bob, { username: from });
  };
  return { at, revoke, swap };
}

describe('after a swap of names', () => {
  it('a timeline has what was done about the user, whatever the name was', async () => {
    const { at, revoke, swap } = await swapped();
    await using _at = at;
    await revoke(['bob']);
    swap();
    const run = async (user: string) => {
      const items = await timeline({ ...at.common, subject: { user }, ...DAY });
      return items.filter(({ what }) => what.includes('tokens.revoke (batch)')).length;
    };
    // Who is alice now was bob.
    expect(await run('alice')).toBe(2);
    expect(await run('bob')).toBe(0);
  });

  it('the report of an incident has the runs about its users, and not those about who has the name now', async () => {
    const { at, revoke, swap } = await swapped();
    await using _at = at;
    const scope = { kind: 'users', names: ['alice'] } as const;
    const { incident } = await at.lockDown({ scope, measures: NO_MEASURE });
    swap();
    await revoke(['alice']);
    await offboardUsers({ ...at.common, plan: await planUserOffboarding({ ...at.common, users: ['bob'] }) });
    const gathered = await gatherReport({
      ...{ log: at.log, description: at.target.self, incident, investigations: [] },
      ...{ now: at.common.clock.now(), checkpoint: async () => null },
    });
    const operations = gathered.runs.map(({ operation }) => operation);
    expect(operations).toContain('users.offboard');
    expect(gathered.runs.flatMap(({ owners }) => owners)).toEqual([]);
  });
});
