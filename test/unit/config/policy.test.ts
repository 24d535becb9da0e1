import { expect, test } from 'vitest';
import { policyFrom } from '../../../src/config/policy.ts';
import { defaultPolicy } from '../../../src/domain/policy/policy.ts';

test('without anything configured it is the default policy', () => {
  expect(policyFrom({})).toEqual(defaultPolicy);
});

test('the configuration changes single values of single rules', () => {
  const policy = policyFrom({ 'unused-for': { days: 30 }, 'write-scope': { enabled: false } });
  expect(policy['unused-for']).toEqual({ ...defaultPolicy['unused-for'], days: 30 });
  expect(policy['write-scope']).toEqual({ ...defaultPolicy['write-scope'], enabled: false });
  expect(policy['never-expires']).toEqual(defaultPolicy['never-expires']);
});

test('limits of one run go over the configuration', () => {
  const policy = policyFrom(
    { 'unused-for': { days: 30, severity: 'low' } },
    { unusedFor: 7, maxLifetime: 90 },
  );
  expect(policy['unused-for']).toMatchObject({ days: 7, severity: 'low' });
  expect(policy['lifetime-over'].days).toBe(90);
});
