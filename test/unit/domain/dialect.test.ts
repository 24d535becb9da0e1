import { expect, test } from 'vitest';
import { lifetimeCaution, orphanUse } from '../../../src/domain/dialect.ts';
import { refreshOrphaned } from '../../../src/domain/policy/lifetime-rules.ts';
import type { Facts } from '../../../src/domain/policy/rule.ts';

test.each([
  ['controller', '24.6.1', 'refused', 'low'],
  ['controller', '21.14.0', 'refused', 'low'],
  ['controller', '23.0.0', 'refused', 'low'],
  ['controller', '25.0.0', 'assumed', null],
  ['controller', '4.5.12', 'assumed', null],
  ['controller', null, 'assumed', null],
  ['gateway', null, 'refused', 'low'],
  ['service', null, 'refused', 'low'],
] as const)('an orphaned refresh token at a %s %s is %s', (dialect, version, use, severity) => {
  expect(orphanUse({ dialect, version })).toBe(use);
  expect(refreshOrphaned.severityHere?.({ orphanUse: use } as Facts)).toBe(severity);
});

test('only a controller needs a restart before application tokens get new lifetimes', () => {
  expect(lifetimeCaution('controller')?.remedy).toContain('automation-controller-service restart');
  expect([lifetimeCaution('gateway'), lifetimeCaution('service')]).toEqual([null, null]);
});
