import { describe, expect, test } from 'vitest';
import { enabledRules, judge, ruleNames } from '../../../src/core/policy/judge.ts';
import { atLeast, defaultPolicy, type Policy } from '../../../src/core/policy/policy.ts';
import type { Facts } from '../../../src/core/policy/rule.ts';
import type { Token } from '../../../src/core/token.ts';
import { token } from '../tokens.ts';

const now = new Date('2026-11-20T00:00:00Z');
const facts: Facts = {
  now,
  unusedTokenIds: new Set([77]),
  inactiveUserIds: new Set([5]),
  externalUsers: new Map([[6, 'ldap']]),
};

function rulesBroken(subject: Partial<Token>, policy: Policy = defaultPolicy): string[] {
  return judge({ token: token(subject), facts, policy }, enabledRules(policy)).map(({ rule }) => rule);
}

function days(count: number, from: Date = now): Date {
  return new Date(from.getTime() + count * 86_400_000);
}

test('a token of a year, used yesterday, for reading breaks no rule', () => {
  expect(rulesBroken({})).toEqual([]);
});

describe('each rule finds what it is for, and its neighbour not', () => {
  test.each<[string, Partial<Token>, string[]]>([
    ['expired this instant', { expires: now }, ['expired-present']],
    ['expires the next instant', { expires: new Date(now.getTime() + 1) }, []],
    ['lives 366 days', { expires: days(366, token().created) }, []],
    [
      'lives a moment longer',
      { expires: new Date(days(366, token().created).getTime() + 1) },
      ['lifetime-over'],
    ],
    ['expires in a hundred years', { expires: days(36_525) }, ['lifetime-over']],
    ['expires a day later', { expires: days(36_526) }, ['never-expires']],
    ['the controller’s default of a thousand years', { expires: days(365_000) }, ['never-expires']],
    ['may write', { scope: 'read write' }, ['write-scope']],
    ['a scope that only looks like it', { scope: 'writer' }, []],
    ['used 90 days ago', { lastUsed: days(-90) }, []],
    ['used a moment earlier', { lastUsed: new Date(days(-90).getTime() - 1) }, ['unused-for']],
    ['never used and old', { lastUsed: null, created: days(-91) }, ['unused-for']],
    ['never used and new', { lastUsed: null, created: days(-89), expires: days(100) }, []],
    ['last use not told, selected as unused', { lastUsed: undefined, id: 77 }, ['unused-for']],
    ['last use not told, not selected', { lastUsed: undefined, id: 78 }, []],
    ['owner deactivated', { user: { id: 5, username: 'leaver' } }, ['owner-inactive']],
    ['owner from a directory', { user: { id: 6, username: 'ldapuser' } }, ['owner-external']],
    ['no owner', { user: null }, []],
  ])('%s', (_, subject, expected) => {
    expect(rulesBroken(subject)).toEqual(expected);
  });
});

test('an expired token breaks no other rule: it authenticates nothing', () => {
  const subject = {
    expires: days(-1),
    created: days(-900),
    scope: 'write',
    user: { id: 5, username: 'leaver' },
  };
  expect(rulesBroken(subject)).toEqual(['expired-present']);
});

test('without the rule on never expiring, such tokens are over the lifetime', () => {
  const policy = { ...defaultPolicy, 'never-expires': { ...defaultPolicy['never-expires'], enabled: false } };
  expect(rulesBroken({ expires: days(365_000) }, policy)).toEqual(['lifetime-over']);
});

test('limits and severities come from the policy', () => {
  const policy: Policy = {
    ...defaultPolicy,
    'unused-for': { enabled: true, severity: 'critical', days: 10 },
  };
  const subject = token({ lastUsed: days(-11) });
  expect(judge({ token: subject, facts, policy }, ['unused-for'])).toEqual([
    { rule: 'unused-for', severity: 'critical', message: 'It was used last 11 days ago.' },
  ]);
});

test('a rule that is switched off is not applied', () => {
  const off = Object.fromEntries(ruleNames.map((name) => [name, { ...defaultPolicy[name], enabled: false }]));
  expect(enabledRules(off as unknown as Policy)).toEqual([]);
});

test('severities are ordered', () => {
  expect(atLeast('high', 'high')).toBe(true);
  expect(atLeast('critical', 'high')).toBe(true);
  expect(atLeast('medium', 'high')).toBe(false);
});
