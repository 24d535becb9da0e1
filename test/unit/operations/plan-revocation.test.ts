import { refused } from '@tokenctl/testing/refused.ts';
import { describe, expect, test } from 'vitest';
import { planRevocation } from '../../../src/operations/revocation/plan-revocation.ts';
import { stillClock } from '../../support/drafts.ts';
import { MemoryTarget } from '../../support/memory-target.ts';
import { token } from '../../support/tokens.ts';

const clock = stillClock;

describe('planRevocation', () => {
  test('says what is to be revoked and what stays open', async () => {
    const target = new MemoryTarget(2);
    target.alive.set(3, token({ id: 3, hasRefreshToken: true }));
    const plan = await planRevocation({ target, selector: { all: true }, clock });
    expect(plan).toMatchObject({ selection: 'every token', tokenIds: [1, 2, 3], absentIds: [], kept: [] });
    expect(plan.accessPaths).toContainEqual(expect.objectContaining({ path: 'refresh_tokens', count: 1 }));
    expect(target.alive.size).toBe(3);
  });

  test('names ids that were not found', async () => {
    const plan = await planRevocation({ target: new MemoryTarget(2), selector: { ids: [2, 7] }, clock });
    expect(plan).toMatchObject({ tokenIds: [2], absentIds: [7] });
  });

  test('refuses a plan above the limit, and takes one at it', async () => {
    const target = new MemoryTarget(3);
    const work = planRevocation({ target, selector: { all: true }, clock, atMost: 2 });
    await expect(work).rejects.toMatchObject({ code: 'plan_too_large', details: { planned: 3, atMost: 2 } });
    expect(
      (await planRevocation({ target, selector: { all: true }, clock, atMost: 3 })).tokenIds,
    ).toHaveLength(3);
  });

  test.each([
    ['a user', { users: ['alice', 'alcie'] }, 'alcie'],
    ['an application', { applications: ['CI'] }, 'CI'],
  ])('refuses %s that does not exist', async (_, selector, name) => {
    const work = planRevocation({ target: new MemoryTarget(2), selector, clock });
    await expect(work).rejects.toMatchObject(refused('not_found', name));
  });

  test('refuses a selector without criteria', async () => {
    const work = planRevocation({ target: new MemoryTarget(2), selector: {}, clock });
    await expect(work).rejects.toMatchObject({ code: 'usage' });
  });
});
