import { describe, expect, test } from 'vitest';
import { type Finding, PolicyEvaluator } from '../../../../src/domain/policy/judge.ts';
import {
  defaultPolicy,
  enabledRules,
  type Policy,
  ruleNames,
  rules,
} from '../../../../src/domain/policy/policy.ts';
import { atLeast } from '../../../../src/domain/policy/rule.ts';
import { subjectKey } from '../../../../src/domain/policy/subject.ts';
import type { Application, RefreshToken, Token } from '../../../../src/domain/token.ts';
import {
  application,
  days,
  facts,
  installedSettings,
  judged,
  now,
  policyWith,
} from '../../../support/policy-facts.ts';
import { token } from '../../../support/tokens.ts';

const known = facts({
  unusedTokenIds: new Set([77, 79]),
  neverUsedTokenIds: new Set([79]),
  inactiveUserIds: new Set([5]),
  superuserIds: new Set([7]),
  externalUsers: new Map([[6, 'ldap']]),
  lastChanges: new Map([
    [2, days(-91)],
    [8, days(-1)],
  ]),
});

function rulesBroken(subject: Partial<Token>, policy: Policy = defaultPolicy): string[] {
  return judged([{ description: 'pipeline', ...subject }], { policy, known }).map(({ rule }) => rule);
}

test('a described token of a year, used yesterday, for reading breaks no rule', () => {
  expect(rulesBroken({})).toEqual([]);
});

describe('each rule on tokens finds what it is for, and its neighbour not', () => {
  const client = { id: 3, name: 'portal' };
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
    ['never used and old', { lastUsed: null, created: days(-31) }, ['never-used']],
    ['never used and as old as the limit', { lastUsed: null, created: days(-30) }, []],
    ['last use not told, selected as unused', { lastUsed: undefined, id: 77 }, ['unused-for']],
    ['last use not told, selected as never used', { lastUsed: undefined, id: 79 }, ['never-used']],
    ['last use not told, not selected', { lastUsed: undefined, id: 78 }, []],
    ['owner deactivated', { user: { id: 5, username: 'leaver' } }, ['owner-inactive']],
    ['owner from a directory', { user: { id: 6, username: 'ldapuser' } }, ['owner-external']],
    ['owner a superuser', { user: { id: 7, username: 'root' } }, ['owner-superuser']],
    ['no owner', { user: null }, []],
    ['personal and not described', { description: ' ' }, ['no-description']],
    ['an application’s and not described', { description: '', application: client }, []],
  ])('%s', (_, subject, expected) => {
    expect(rulesBroken(subject)).toEqual(expected);
  });
});

test('a token past its lease is found, one that never expires is found with it, and another one with its number is not', () => {
  const created = days(-10);
  const lease = {
    ...{ id: 'lease-1', until: '2026-11-19T00:00:00Z', owner: { id: 2 } },
    token: { id: 7, fingerprint: null, created: created.toISOString() },
  };
  const found = (user: { id: number; username: string }, isOverdue = true, other = {}) =>
    judged([{ id: 7, user, created, expires: days(365_000), ...other }], {
      known: facts({ leases: new Map([[7, [{ ...lease, isOverdue }]]]) }),
    });
  const alice = { id: 2, username: 'alice' };
  const rules = (of: ReturnType<typeof found>) => of.map(({ rule }) => rule);
  expect(rules(found(alice))).toContain('lease-overdue');
  expect(rules(found(alice, false))).not.toContain('lease-overdue');
  expect(rules(found({ id: 3, username: 'bob' }))).not.toContain('lease-overdue');
  expect(rules(found(alice, true, { created: days(-9) }))).not.toContain('lease-overdue');
  const message = (user: typeof alice) =>
    found(user, false).find(({ rule }) => rule === 'never-expires')?.message;
  expect(message(alice)).toMatch(/^It expires in the year \d+; its lease ends on 2026-11-19\.$/);
  expect(message({ id: 3, username: 'bob' })).toMatch(/^It expires in the year \d+\.$/);
});

describe('what directories answered', () => {
  const policy = policyWith({ 'owner-left': { enabled: true }, 'provider-not-asked': { enabled: true } });
  const answered = facts({
    left: new Map([[8, { directory: 'staff', at: days(-1) }]]),
    lastCompared: new Map<number, Date | null>([
      [8, days(-1)],
      [9, null],
      [10, days(-7)],
      [11, new Date(days(-7).getTime() - 1)],
    ]),
  });
  test.each<[string, number, string[]]>([
    [
      'a user who had left',
      8,
      ['Its owner x had left according to the directory staff at 2026-11-19T00:00:00.000Z.'],
    ],
    ['a user whom no directory compares', 9, ['No directory was asked about its owner x.']],
    ['a user of whom one was asked seven days ago', 10, []],
    ['a moment longer', 11, ['A directory was last asked about its owner x 7 days ago.']],
    ['a local user', 12, []],
  ])('%s', (_, id, expected) => {
    const subject = { description: 'pipeline', user: { id, username: 'x' } };
    expect(judged([subject], { policy, known: answered }).map(({ message }) => message)).toEqual(expected);
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

describe('one fault is one finding', () => {
  test('without the rule on never expiring, such tokens are over the lifetime', () => {
    const policy = policyWith({ 'never-expires': { enabled: false } });
    expect(rulesBroken({ expires: days(365_000) }, policy)).toEqual(['lifetime-over']);
  });

  test('without the rule on never used tokens, they are unused', () => {
    const policy = policyWith({ 'never-used': { enabled: false } });
    expect(rulesBroken({ lastUsed: null, created: days(-91) }, policy)).toEqual(['unused-for']);
    expect(rulesBroken({ lastUsed: null, created: days(-89) }, policy)).toEqual([]);
  });
});

describe('write-unneeded', () => {
  const policy = policyWith({ 'write-unneeded': { enabled: true }, 'write-scope': { enabled: false } });
  const writing = { scope: 'write', created: days(-100) };

  test.each<[string, Partial<Token>, string[]]>([
    ['an owner who changed nothing for 91 days', {}, ['write-unneeded']],
    ['an owner who changed something yesterday', { user: { id: 8, username: 'busy' } }, []],
    ['an owner who never changed anything', { user: { id: 9, username: 'watcher' } }, ['write-unneeded']],
    ['a token that only reads', { scope: 'read' }, []],
    ['a token younger than that', { created: days(-90) }, []],
    ['a token that is not in use', { lastUsed: null }, ['never-used']],
    ['a token in use where the target does not tell', { lastUsed: undefined }, ['write-unneeded']],
  ])('%s', (_, subject, expected) => {
    expect(rulesBroken({ ...writing, ...subject }, policy)).toEqual(expected);
  });
});

describe('rules that know service accounts by name', () => {
  const policy = policyWith({
    'personal-token-of-service-account': { users: ['ci-*', 'backup'] },
    'application-token-of-person': { enabled: true, users: ['ci-*', 'backup'] },
  });
  const client = { id: 3, name: 'portal' };
  test.each<[string, Partial<Token>, string[]]>([
    [
      'a service account, personal',
      { user: { id: 9, username: 'ci-deploy' } },
      ['personal-token-of-service-account'],
    ],
    ['a service account, an application’s', { user: { id: 9, username: 'backup' }, application: client }, []],
    ['a person, personal', {}, []],
    ['a person, an application’s', { application: client }, ['application-token-of-person']],
  ])('%s', (_, subject, expected) => {
    expect(rulesBroken(subject, policy)).toEqual(expected);
  });

  test('they are not applied without names', () => {
    expect(enabledRules(policyWith({ 'application-token-of-person': { enabled: true } }))).not.toContain(
      'application-token-of-person',
    );
    expect(enabledRules(defaultPolicy)).not.toContain('personal-token-of-service-account');
  });
});

describe('refresh-outlives-access', () => {
  const policy = policyWith({ 'refresh-outlives-access': { enabled: true } });
  // The setting gives a refresh token 30.4 days from its creation.
  test.each<[string, Partial<Token>, string[]]>([
    [
      'expires before its refresh token',
      { created: days(-20), expires: days(5) },
      ['refresh-outlives-access'],
    ],
    ['expires after it', { created: days(-20), expires: days(11) }, []],
    [
      'has expired, its refresh token has not',
      { created: days(-20), expires: days(-5) },
      ['expired-present', 'refresh-outlives-access'],
    ],
    ['both are over', { created: days(-40), expires: days(-35) }, ['expired-present']],
  ])('%s', (_, subject, expected) => {
    expect(rulesBroken({ ...subject, hasRefreshToken: true }, policy)).toEqual(expected);
    expect(rulesBroken({ ...subject, hasRefreshToken: false }, policy)).not.toContain(
      'refresh-outlives-access',
    );
  });
});

test.each([
  ['no refresh token', { hasRefreshToken: false }, /still in the database\.$/],
  ['a live one', { created: days(-20) }, /Its refresh token is live until \d{4}-\d\d-\d\d\.$/],
  ['an expired one', { created: days(-40) }, /Its refresh token is expired as well\.$/],
])('expired-present says what became of the refresh token: %s', (_, subject, message) => {
  const [finding] = judged([{ hasRefreshToken: true, expires: days(-5), ...subject }], {
    policy: defaultPolicy,
    known: { ...known, settings: installedSettings },
  });
  expect(finding?.message).toMatch(message);
});

test('expired-present claims nothing about the refresh token where the lifetime is not known', () => {
  const subject = { hasRefreshToken: true, expires: days(-5) };
  const [finding] = judged([subject], { policy: defaultPolicy, known: { ...known, settings: null } });
  expect(finding?.message).toMatch(/Its refresh token may still be live\.$/);
});

describe('rules on many tokens', () => {
  const described = (count: number, other: Partial<Token> = {}) =>
    Array.from({ length: count }, (_, index) => ({
      id: index + 1,
      description: `use ${index}`,
      expires: days(100 + index),
      ...other,
    }));
  const sums = (tokens: readonly Partial<Token>[], policy = defaultPolicy) =>
    judged(tokens, { policy, known }).map(({ rule, subject, message }) => [
      rule,
      subjectKey(subject),
      message,
    ]);

  test('too-many-per-user counts what has not expired', () => {
    expect(sums(described(20))).toEqual([]);
    expect(sums(described(21))).toEqual([
      ['too-many-per-user', 'user:2', 'alice owns 21 tokens; the limit is 20.'],
    ]);
    const expired = { id: 99, expires: days(-1), description: 'old' };
    expect(sums([...described(20), expired]).map(([rule]) => rule)).toEqual(['expired-present']);
  });

  test('duplicate-purpose takes owner, application and description together', () => {
    const one = { description: 'nightly' };
    const client = { id: 3, name: 'portal' };
    const bob = { id: 3, username: 'bob' };
    expect(
      sums([one, { ...one, application: client }, { ...one, user: bob }, { description: 'other' }]),
    ).toEqual([]);
    // Numbers that a hash of owner and application could confuse.
    const users = [1053, 1061].map((id) => ({ id, username: `user-${id}` }));
    expect(
      sums(
        users.map((user, index) => ({
          ...one,
          user,
          application: index === 0 ? { ...client, id: 8 } : null,
        })),
      ),
    ).toEqual([]);
    const [found, ...more] = sums([one, { description: 'other' }, one, one]);
    expect(more).toEqual([]);
    expect(found?.[2]).toBe('alice has 3 personal tokens described as "nightly".');
    expect(found?.[1]).toMatch(/^purpose:2:0:\w+$/);
    expect(
      sums([
        { ...one, application: client },
        { ...one, application: client },
      ])[0]?.[2],
    ).toBe('alice has 2 tokens of portal described as "nightly".');
  });

  test('expiry-cliff needs the number and the share', () => {
    const policy = policyWith({
      'expiry-cliff': { tokens: 3, percent: 50 },
      'too-many-per-user': { enabled: false },
    });
    const together = described(3, { expires: new Date('2026-12-24T10:00:00Z') });
    expect(sums(together, policy)).toEqual([
      ['expiry-cliff', 'day:2026-12-24', '3 tokens expire on 2026-12-24, 100 % of all unexpired tokens.'],
    ]);
    expect(sums([...together, ...described(4)], policy).map(([, key]) => key)).not.toContain(
      'day:2026-12-24',
    );
    expect(sums(together.slice(1), policy)).toEqual([]);
  });
});

describe('rules on applications, refresh tokens and settings', () => {
  const judge = new PolicyEvaluator({
    policy: defaultPolicy,
    facts: known,
    rules: enabledRules(defaultPolicy),
  });
  const broken = (ask: (found: Finding[]) => void) => {
    const found: Finding[] = [];
    ask(found);
    return found.map(({ rule }) => rule);
  };

  test.each<[string, Partial<Application>, string[]]>([
    ['a confidential one', {}, []],
    ['implicit', { grantType: 'implicit' }, ['application-implicit']],
    ['public, with codes', { clientType: 'public' }, ['application-public-without-pkce']],
    ['public, with passwords', { clientType: 'public', grantType: 'password' }, []],
    ['with an old secret', { created: days(-366) }, ['application-secret-older-than']],
    ['old, without a secret', { created: days(-366), clientType: 'public', grantType: 'password' }, []],
  ])('application: %s', (_, other, expected) => {
    expect(broken((found) => judge.application(application(other), found))).toEqual(expected);
  });

  test.each<[string, Partial<RefreshToken>, string[]]>([
    ['beside its access token', { accessTokenId: 4 }, []],
    ['orphaned', {}, ['refresh-orphaned']],
    ['revoked', { revoked: now }, []],
  ])('refresh token: %s', (_, other, expected) => {
    const refreshToken: RefreshToken = {
      id: 1,
      user: null,
      application: null,
      created: days(-3),
      revoked: null,
      accessTokenId: null,
      fingerprint: null,
      ...other,
    };
    expect(broken((found) => judge.refreshToken(refreshToken, found))).toEqual(expected);
  });

  test('the settings of an installation', () => {
    expect(broken((found) => judge.settings(installedSettings, found)).sort()).toEqual([
      'basic-auth-on',
      'lifetime-default',
      'sessions-unlimited',
    ]);
  });

  test('settings as they should be, and the opposite of them', () => {
    const good = {
      AUTH_BASIC_ENABLED: false,
      ALLOW_OAUTH2_FOR_EXTERNAL_USERS: false,
      SESSION_COOKIE_AGE: 43_200,
      SESSIONS_PER_USER: 3,
      OAUTH2_PROVIDER: { ACCESS_TOKEN_EXPIRE_SECONDS: 3600, REFRESH_TOKEN_EXPIRE_SECONDS: 86_400 },
    };
    expect(broken((found) => judge.settings(good, found))).toEqual([]);
    const bad = { ...installedSettings, ALLOW_OAUTH2_FOR_EXTERNAL_USERS: true, SESSION_COOKIE_AGE: 43_201 };
    expect(broken((found) => judge.settings(bad, found)).sort()).toEqual([
      'basic-auth-on',
      'external-tokens-allowed',
      'lifetime-default',
      'session-age-long',
      'sessions-unlimited',
    ]);
  });
});

test('tokens of external users are as they should be where the setting allows them', () => {
  const allowing = facts({
    externalUsers: known.externalUsers,
    settings: { ...installedSettings, ALLOW_OAUTH2_FOR_EXTERNAL_USERS: true },
  });
  const external = { user: { id: 6, username: 'ldapuser' }, description: 'laptop' };
  expect(judged([external], { known: allowing })).toEqual([]);
});

test('limits, severities and messages come from the policy', () => {
  const policy = policyWith({ 'unused-for': { severity: 'critical', days: 10 } });
  const [found] = judged([{ lastUsed: days(-11), description: 'laptop' }], { policy });
  expect({ ...found, message: found?.message }).toMatchObject({
    rule: 'unused-for',
    severity: 'critical',
    message: 'It was last used 11 days ago.',
  });
});

test('a rule that is switched off is not applied', () => {
  const off = policyWith(Object.fromEntries(ruleNames.map((name) => [name, { enabled: false }])));
  expect(enabledRules(off)).toEqual([]);
});

test.each(ruleNames)('%s says what it finds, why that matters and what to do', (name) => {
  const help: { finds: string; matters: string; remedy: string; reference: string; parameters?: object } =
    rules[name].help;
  for (const text of [help.finds, help.matters, help.remedy]) expect(text).toMatch(/^\S.*\.$/s);
  expect(help.reference).not.toBe('');
  const {
    enabled: _enabled,
    severity: _severity,
    exceptions: _exceptions,
    ...parameters
  } = defaultPolicy[name];
  expect(Object.keys(help.parameters ?? {})).toEqual(Object.keys(parameters));
});

test('severities are ordered', () => {
  expect(atLeast('high', 'high')).toBe(true);
  expect(atLeast('critical', 'high')).toBe(true);
  expect(atLeast('medium', 'high')).toBe(false);
});
