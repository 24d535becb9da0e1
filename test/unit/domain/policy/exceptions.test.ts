import { describe, expect, test } from 'vitest';
import { type Finding, findingKey, PolicyEvaluator } from '../../../../src/domain/policy/judge.ts';
import { enabledRules } from '../../../../src/domain/policy/policy.ts';
import type { Exception } from '../../../../src/domain/policy/subject.ts';
import type { Token } from '../../../../src/domain/token.ts';
import { facts, judged, policyWith } from '../../../support/policy-facts.ts';
import { token } from '../../../support/tokens.ts';

const client = { id: 3, name: 'Night runner' };
const writing: Partial<Token> = { scope: 'write', description: 'deploy to lab', application: client };

function excepting(...exceptions: Exception[]) {
  return policyWith({ 'write-scope': { exceptions } });
}

describe('an exception holds where every criterion of it does', () => {
  test.each<[string, Omit<Exception, 'reason'>, boolean]>([
    ['without a criterion', {}, true],
    ['user, exactly', { user: 'alice' }, true],
    ['another user', { user: 'alic' }, false],
    ['a pattern for users', { user: 'a*e' }, true],
    ['application', { application: 'Night ?unner' }, true],
    ['description', { description: 'deploy *' }, true],
    ['user and description', { user: 'alice', description: '*prod*' }, false],
    ['until today', { until: '2026-11-20' }, true],
    ['until yesterday', { until: '2026-11-19' }, false],
  ])('%s', (_, criteria, excused) => {
    const found = judged([writing], { policy: excepting({ ...criteria, reason: 'agreed' }) });
    expect(found.map(({ rule }) => rule)).toEqual(excused ? [] : ['write-scope']);
  });

  test('a pattern means nothing that is not there', () => {
    const personal = { ...writing, application: null };
    expect(judged([personal], { policy: excepting({ application: '*', reason: 'r' }) })).toHaveLength(1);
  });
});

test('what is excused is counted, by rule', () => {
  const policy = excepting({ user: 'alice', reason: 'agreed' });
  const judge = new PolicyEvaluator({ policy, facts: facts(), rules: enabledRules(policy) });
  const found: Finding[] = [];
  judge.token({ ...token(writing) }, found);
  judge.token({ ...token(writing) }, found);
  expect([...judge.excused]).toEqual([['write-scope', 2]]);
});

describe('an exception that has run out', () => {
  const overdue = { user: 'alice', until: '2026-11-19', reason: 'until the move, OPS-17' };
  const holding = { user: 'bob', until: '2026-11-20', reason: 'agreed' };

  function exceptionFindings(policy = excepting(holding, overdue)): Finding[] {
    const found: Finding[] = [];
    new PolicyEvaluator({ policy, facts: facts(), rules: enabledRules(policy) }).exceptions(found);
    return found;
  }

  test('is a finding of its own, with its place and its reason', () => {
    const [found, ...more] = exceptionFindings();
    expect(more).toEqual([]);
    expect(found).toMatchObject({
      rule: 'exception-expired',
      subject: { kind: 'exception', exception: { rule: 'write-scope', number: 2 } },
      message: 'It expired on 2026-11-19. Reason: until the move, OPS-17',
    });
  });

  test('keeps its key when another exception is put before it', () => {
    const [found] = exceptionFindings();
    const [moved] = exceptionFindings(excepting(overdue));
    expect(moved && findingKey(moved)).toBe(found && findingKey(found));
  });

  test('is none in a rule that is not applied', () => {
    expect(
      exceptionFindings(policyWith({ 'write-scope': { enabled: false, exceptions: [overdue] } })),
    ).toEqual([]);
  });
});
