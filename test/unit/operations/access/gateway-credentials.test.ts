import { expect, test } from 'vitest';
import { uncheckedPaths } from '../../../../src/domain/access.ts';
import { gatewayCredentials } from '../../../../src/operations/incident/lockdown-paths.ts';
import { incidentFixture, NO_MEASURE } from '../../../support/incident-fixture.ts';

test('credentials of recent gateways that no list has are named, and do not make a lockdown partial', async () => {
  await using at = await incidentFixture('database');
  at.target.self = { ...at.target.self, dialect: 'gateway' };
  const scope = { kind: 'users', names: ['alice'] } as const;
  const { accessPaths, result } = await at.lockDown({ scope, measures: NO_MEASURE });
  const found = accessPaths.filter(({ path }) => path === 'workload_identity' || path === 'service_keys');
  expect(found.map(({ path, state, covered }) => ({ path, state, covered }))).toEqual([
    { path: 'workload_identity', state: 'not_checked', covered: false },
    { path: 'service_keys', state: 'not_checked', covered: false },
  ]);
  expect(Date.parse(found[0]?.until ?? '')).toBeGreaterThan(Date.now() - 86_400_000 * 3650);
  expect(uncheckedPaths(found)).toEqual([]);
  expect(result).toBe('locked');
  expect(gatewayCredentials({ dialect: 'controller' })).toEqual([]);
});
