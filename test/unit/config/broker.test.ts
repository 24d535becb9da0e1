import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { brokerSchema } from '../../../src/config/broker.ts';
import { configurationSchema } from '../../../src/config/schema.ts';
import { claimsMatch, globMatches } from '../../../src/domain/broker/claim-patterns.ts';
import { type BrokerRule, decideRule, recordedClaims } from '../../../src/domain/broker/rules.ts';

const GITHUB = 'https://token.actions.githubusercontent.com';
const rule = { issuer: 'ci', claims: { repository: 'acme/infra' }, context: 'db', user: 'robot' };

/** What is wrong with a section, as one text; empty for a valid one. */
function problems({ issuer = {}, rules = {} }: { issuer?: object; rules?: object }): string {
  const section = {
    audience: 'https://broker.example.com',
    issuers: { ci: { url: 'https://ci.example.com', ...issuer } },
    rules: { one: rule, ...rules },
  };
  const result = brokerSchema.safeParse(section);
  return result.success
    ? ''
    : result.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; ');
}
const ofClaims = (claims: object, url?: string) =>
  problems({ ...(url !== undefined && { issuer: { url } }), rules: { one: { ...rule, claims } } });

describe('the section', () => {
  test('has issuers over protected connections, and rules of these', () => {
    expect(problems({})).toBe('');
    expect(problems({ issuer: { url: 'http://ci.example.com' } })).toContain('must be an https:// URL');
    expect(problems({ issuer: { url: 'https://ci.example.com/?a=b' } })).toContain('neither a query');
    expect(problems({ issuer: { jwks: 'ftp://ci.example.com' } })).toContain('jwks');
    expect(problems({ rules: { two: { ...rule, issuer: 'cj' } } })).toContain('did you mean "ci"?');
    expect(problems({ rules: { two: { ...rule, lifetime: '2h' } } })).toContain('at most 1h');
    expect(problems({ rules: { Two: rule } })).toContain('rules.Two');
  });

  test('has no rule that lets in whoever the issuer signs for', () => {
    expect(ofClaims({})).toContain('at least one claim');
    for (const sub of ['**', '*', '*/infra', 'ac*/infra']) expect(ofClaims({ sub })).toContain('exact text');
    expect(ofClaims({ sub: 'repo:*' })).toBe('');
    expect(ofClaims({ ref: 'refs/heads/main' }, GITHUB)).toContain('runs of anybody');
    expect(ofClaims({ sub: 'repo:*/infra:ref:refs/heads/main' }, GITHUB)).toContain('runs of anybody');
    expect(ofClaims({ sub: 'repo:**' }, GITHUB)).toContain('runs of anybody');
    expect(ofClaims({ sub: 'repo:acme/*:ref:refs/heads/main' }, GITHUB)).toBe('');
    expect(ofClaims({ repository_owner_id: '65', ref: '**' }, GITHUB)).toBe('');
    expect(ofClaims({ namespace_path: 'acme' }, 'https://gitlab.com')).toBe('');
  });

  test('has rules for contexts that there are, with a user where the context is a database', () => {
    const contexts = {
      db: { database: 'postgres://db.example.com/awx' },
      rest: { url: 'https://controller.example.com' },
    };
    const ofRule = (more: object) => {
      const rules = { one: { ...rule, ...more } };
      const broker = { audience: 'x', issuers: { ci: { url: 'https://ci.example.com' } }, rules };
      const result = configurationSchema([]).safeParse({ contexts, auditLog: {}, scheduler: {}, broker });
      return result.error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; ') ?? '';
    };
    expect(ofRule({})).toBe('');
    expect(ofRule({ context: 'bd' })).toBe(
      'broker.rules.one.context there is no context "bd"; did you mean "db"?',
    );
    expect(ofRule({ user: undefined })).toContain('broker.rules.one.user is missing');
    expect(ofRule({ context: 'rest' })).toContain('broker.rules.one.user goes with a database');
    expect(ofRule({ context: 'rest', user: undefined })).toBe('');
  });

  test('has no pattern that reads otherwise than it is', () => {
    expect(ofClaims({ sub: 'acme\u0301/infra' })).toContain('NFC');
    expect(ofClaims({ sub: 'acme/in\u200bfra' })).toContain('control characters');
    expect(ofClaims({ sub: '' })).toContain('NFC');
    expect(ofClaims({ sub: 'acme/***' })).toContain('***');
    expect(ofClaims({ sub: 1.5 })).toContain('sub');
    expect(ofClaims({ sub: ['acme'] })).toContain('must be a text');
  });
});

describe('a pattern', () => {
  test.each([
    ['acme/infra', 'acme/infra', true],
    ['acme/infra', 'Acme/infra', false],
    ['acme/infra', 'acme/infra/', false],
    ['acme/infra', ' acme/infra', false],
    ['acme/infra', 'acme/infra\n', false],
    ['acme/*', 'acme/infra', true],
    ['acme/*', 'acme/', false],
    ['acme/*', 'acme/infra/x', false],
    ['acme/*', 'acme-evil/infra', false],
    ['acme*/infra', 'acme-evil/infra', true],
    ['refs/heads/release-*', 'refs/heads/release-1.2', true],
    ['refs/heads/release-*', 'refs/heads/release-/../main', false],
    ['refs/**', 'refs/heads/a/b', true],
    ['**/main', 'refs/heads/main', true],
    ['repo:acme/*:ref:refs/heads/main', 'repo:acme/infra:ref:refs/heads/main', true],
    ['repo:acme/*:ref:refs/heads/main', 'repo:acme/x:environment:y:ref:refs/heads/main', false],
    ['system:serviceaccount:ci:*', 'system:serviceaccount:ci:runner', true],
    ['system:serviceaccount:ci:*', 'system:serviceaccount:ci:a:b', false],
    ['a.c', 'abc', false],
    ['a[bc]', 'ab', false],
    ['a?c', 'abc', false],
    ['(a+)+$', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!', false],
    ['𝒶*', '𝒶𝒷', true],
    ['*', '', false],
  ])('%s and %s', (pattern, text, expected) => {
    expect(globMatches(pattern, text)).toBe(expected);
  });

  test('matches as its definition says, whatever the text', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', '/', ':', '*'), maxLength: 8 });
    fc.assert(
      fc.property(word, word, (pattern, text) => {
        const parts = pattern.match(/\*\*|\*|[^*]/g) ?? [];
        const source = parts.map((part) => (part === '**' ? '.+' : part === '*' ? '[^/:]+' : part)).join('');
        expect(globMatches(pattern, text)).toBe(new RegExp(`^${source}$`, 's').test(text));
      }),
    );
  });
});

describe('claims', () => {
  const claims = {
    ref_protected: 'true',
    run_id: 7,
    on: true,
    groups: ['admins', 'acme/infra'],
    'kubernetes.io': { namespace: 'ci', pod: { name: 'run-1' } },
    'https://example.com/claim': 'x',
    'a/b': { 'c~d': 'y' },
    nested: { repository: 'acme/infra' },
  };

  test.each([
    ['a text is no boolean', { ref_protected: true }, false],
    ['a text is a text', { ref_protected: 'true' }, true],
    ['a number is no text', { run_id: '7' }, false],
    ['a number is a number', { run_id: 7 }, true],
    ['a boolean is a boolean', { on: true }, true],
    ['a list matches nothing', { groups: 'admins' }, false],
    ['members of a list have no names', { '/groups/0': 'admins' }, false],
    ['a list is not joined', { groups: '**' }, false],
    [
      'a pointer leads into objects',
      { '/kubernetes.io/namespace': 'ci', '/kubernetes.io/pod/name': 'run-*' },
      true,
    ],
    ['a name with dots is a name', { 'kubernetes.io.namespace': 'ci' }, false],
    ['an address is a name', { 'https://example.com/claim': 'x' }, true],
    ['a pointer escapes as RFC 6901 says', { '/a~1b/c~0d': 'y' }, true],
    ['a nested claim is not one at the top', { repository: 'acme/infra' }, false],
    ['an object matches nothing', { 'kubernetes.io': '**' }, false],
    ['what is inherited is no claim', { constructor: '**', toString: '**' }, false],
    ['a missing claim matches nothing', { environment: '**' }, false],
    ['all have to match', { on: true, run_id: 8 }, false],
  ])('%s', (_, patterns, expected) => {
    expect(claimsMatch(patterns as Readonly<Record<string, string>>, claims)).toBe(expected);
  });

  test('with what people do not see match no pattern, and are not recorded', () => {
    for (const odd of [
      'acme/in\u200bfra',
      'acme/infra\u0000',
      'acme/e\u0301',
      'acme/\ud800',
      'a'.repeat(2000),
    ]) {
      expect(claimsMatch({ sub: '**' }, { sub: odd })).toBe(false);
      expect(recordedClaims({ sub: odd }, [])).toEqual({});
    }
  });

  test('decide for one rule: none or several give nothing, and an audience chooses among contexts', () => {
    const common = {
      issuer: 'ci',
      user: 'robot',
      scope: 'write',
      lifetime: 900,
      live: 1,
      hourly: 1,
    } as const;
    const rules: BrokerRule[] = [
      { ...common, name: 'a', claims: { repository: 'acme/*' }, context: 'one' },
      { ...common, name: 'b', claims: { repository: 'acme/infra' }, context: 'two' },
      { ...common, name: 'c', claims: { repository: 'acme/infra' }, context: 'three', issuer: 'other' },
    ];
    const decide = (repository: string, context?: string, issuer = 'ci') => {
      const { rule: found, problem } = decideRule(rules, { issuer, claims: { repository }, context });
      return found?.name ?? problem;
    };
    expect(decide('acme/web')).toBe('a');
    expect(decide('acme/infra')).toBe('several_rules');
    expect(decide('acme/infra', 'two')).toBe('b');
    expect(decide('acme/infra', 'three')).toBe('no_context');
    expect(decide('acme/infra', undefined, 'other')).toBe('c');
    expect(decide('evil/infra')).toBe('no_rule');
  });
});
