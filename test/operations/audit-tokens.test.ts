import { describe, expect, test } from 'vitest';
import { TokenctlError } from '../../src/core/errors.ts';
import { defaultPolicy } from '../../src/core/policy/policy.ts';
import { auditTokens } from '../../src/operations/audit-tokens.ts';
import { stillClock } from '../audit/drafts.ts';
import { token } from '../core/tokens.ts';
import { MemoryTarget, user } from './memory-target.ts';

function audit(target: MemoryTarget) {
  return auditTokens({ target, selector: { all: true }, policy: defaultPolicy, clock: stillClock });
}

function troubled(): MemoryTarget {
  const target = new MemoryTarget(1);
  target.people.push(user(5, 'leaver', { isActive: false }), user(6, 'erin', { externalAccount: 'ldap' }));
  target.alive.set(2, token({ id: 2, user: { id: 5, username: 'leaver' }, scope: 'write' }));
  target.alive.set(3, token({ id: 3, user: { id: 6, username: 'erin' } }));
  target.alive.set(
    4,
    token({ id: 4, lastUsed: null, created: new Date('2026-01-01'), expires: new Date('2027-01-01') }),
  );
  return target;
}

describe('auditTokens', () => {
  test('finds, counts by severity and rule, and changes nothing', async () => {
    const report = await audit(troubled());
    expect(report.tokensRead).toBe(4);
    expect(report.findings.map(({ rule, token: { id } }) => `${id} ${rule}`)).toEqual([
      '2 owner-inactive',
      '2 write-scope',
      '3 owner-external',
      '4 unused-for',
    ]);
    expect(report.bySeverity).toEqual({ low: 1, medium: 2, high: 0, critical: 1 });
    expect(report.byRule).toEqual({
      'expired-present': 0,
      'lifetime-over': 0,
      'never-expires': 0,
      'write-scope': 1,
      'unused-for': 1,
      'owner-inactive': 1,
      'owner-external': 1,
    });
    expect(report.notChecked).toEqual([]);
  });

  test('says which rules could not be checked, instead of passing them', async () => {
    const target = troubled();
    target.refused = ['unusedSince', 'inactive'];
    const report = await audit(target);
    expect(report.notChecked).toEqual([
      { rule: 'unused-for', why: 'There is no filter for unusedSince' },
      { rule: 'owner-inactive', why: 'There is no filter for inactive' },
    ]);
    expect(Object.keys(report.byRule)).not.toContain('owner-inactive');
  });

  test('does not take an unreachable target for a rule that cannot be checked', async () => {
    const target = troubled();
    target.users = () => {
      throw new TokenctlError('target_unreachable', 'Gone away');
    };
    await expect(audit(target)).rejects.toMatchObject({ code: 'target_unreachable' });
  });

  test('lets the target select by last use where tokens do not tell', async () => {
    const target = troubled();
    const used = token({ id: 4, lastUsed: undefined });
    const unused = token({
      id: 9,
      lastUsed: undefined,
      created: new Date('2026-01-01'),
      expires: new Date('2027-01-01'),
    });
    target.alive.set(4, { ...used, created: new Date('2026-11-01') });
    target.alive.set(9, unused);
    const { findings } = await audit(target);
    expect(findings.filter(({ rule }) => rule === 'unused-for').map(({ token: { id } }) => id)).toEqual([9]);
  });
});
