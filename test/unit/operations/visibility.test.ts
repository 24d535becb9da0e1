import { describe, expect, test } from 'vitest';
import { planUserOffboarding } from '../../../src/operations/incident/offboard-user.ts';
import { planLockdown } from '../../../src/operations/incident/plan-lockdown.ts';
import { planRevocation } from '../../../src/operations/revocation/plan-revocation.ts';
import { resolveTokenIds } from '../../../src/operations/scope/resolve-names.ts';
import { requireMayChange } from '../../../src/operations/scope/visibility.ts';
import { description, MemoryTarget } from '../../support/memory-target.ts';
import { token } from '../../support/tokens.ts';

const clock = { now: () => new Date('2026-01-01T00:00:00Z') };
const log = { entries: async function* () {} };
const measures = {
  basicAuthentication: false,
  externalTokens: false,
  deactivate: false,
  keepActive: [],
  lifetimes: false,
};
const LIMIT = 'alice can see only their own tokens';

/** A controller with one token of alice, as an account of it sees it. */
function seenAs(who: 'admin' | 'alice' | 'auditor'): MemoryTarget {
  const target = new MemoryTarget();
  target.alive.set(1, token({ id: 1, user: { id: 2, username: 'alice' } }));
  if (who === 'admin') return target;
  const identity = { id: 2, username: who, isSuperuser: false, isSystemAuditor: who === 'auditor' };
  const part = {
    kind: 'part',
    tokens: 'their own tokens',
    users: 'some users',
    applications: 'some applications',
    organizations: [],
  } as const;
  target.self = description({ identity, visibility: who === 'auditor' ? { kind: 'all' } : part });
  return target;
}

function lockdown(target: MemoryTarget, name: string) {
  const scope = { kind: 'users', names: [name] } as const;
  return planLockdown({
    target,
    description: target.self,
    log,
    clock,
    scope,
    measures,
    lasts: null,
    count: false,
  });
}

describe('an account that sees only part', () => {
  test('is refused a lockdown and an offboarding', async () => {
    const target = seenAs('alice');
    const refused = { code: 'permission_refused', message: expect.stringContaining(LIMIT) };
    await expect(lockdown(target, 'bob')).rejects.toMatchObject(refused);
    const offboarding = planUserOffboarding({ target, description: target.self, clock, users: ['bob'] });
    await expect(offboarding).rejects.toMatchObject(refused);
  });

  test('does not see the whole of a selection, except of its own tokens and of tokens that are listed', async () => {
    const target = seenAs('alice');
    const notSeen = async (selector: object) => (await planRevocation({ target, clock, selector })).notSeen;
    expect(await notSeen({ users: ['bob'] })).toBe(LIMIT);
    expect(await notSeen({ all: true })).toBe(LIMIT);
    expect(await notSeen({ ids: [1, 5] })).toBe(LIMIT);
    expect(await notSeen({ users: ['alice'] })).toBeNull();
    expect(await notSeen({ ids: [1] })).toBeNull();
  });

  test('cannot tell a hidden user or token from a missing one', async () => {
    const work = planRevocation({ target: seenAs('alice'), clock, selector: { users: ['carol'] } });
    await expect(work).rejects.toMatchObject({
      code: 'permission_refused',
      message: 'No user named "carol" is visible to alice',
    });
    await expect(resolveTokenIds(seenAs('alice'), [9])).rejects.toMatchObject({ code: 'permission_refused' });
  });
});

test('an unknown user is refused although nothing is counted, with the nearest name', async () => {
  await expect(lockdown(seenAs('admin'), 'alcie')).rejects.toMatchObject({
    code: 'not_found',
    message: 'No user named "alcie"',
    hint: 'Did you mean "alice"?',
  });
});

test('an unknown token id is refused, and one that was deleted is not', async () => {
  const target = seenAs('admin');
  const actor = { id: 1, username: 'admin' };
  const at = new Date('2025-01-01T00:00:00Z');
  const deleted = {
    id: 1,
    at,
    operation: 'delete',
    actor,
    object: 'o_auth2_access_token',
    changes: { id: 7 },
  };
  target.stream.push(deleted);
  await expect(resolveTokenIds(target, [7])).resolves.toBeUndefined();
  await expect(resolveTokenIds(target, [8])).rejects.toMatchObject({ code: 'not_found' });
});

test('a system auditor may change nothing of others', () => {
  expect(() => requireMayChange(seenAs('auditor').self)).toThrow(/system auditor/);
  expect(() => requireMayChange(seenAs('admin').self)).not.toThrow();
});
