import { describe, expect, test } from 'vitest';
import { defaultPolicy } from '../../../src/domain/policy/policy.ts';
import { changeSetting, enforceSettings, findDrift } from '../../../src/operations/settings/settings.ts';
import { auditTokens } from '../../../src/operations/token-audit/audit-tokens.ts';
import { dryRun } from '../../../src/targets/dry-run.ts';
import { stillClock } from '../../support/drafts.ts';
import { fixture } from '../../support/fixture.ts';
import { incidentFixture, NO_MEASURE } from '../../support/incident-fixture.ts';
import { description, installed, MemoryTarget } from '../../support/memory-target.ts';

/** The settings as a platform gateway has them. */
const ofGateway = {
  ...installed,
  SESSIONS_PER_USER: null,
  DISABLE_LOCAL_AUTH: null,
  OAUTH2_PROVIDER: null,
  ALLOW_METRICS_FOR_ANONYMOUS_USERS: null,
};

test('local accounts at the web interface are a matter of a gateway whose basic authentication goes off', async () => {
  for (const [dialect, basicAuthentication] of [
    ['controller', true],
    ['gateway', false],
  ] as const) {
    await using at = await incidentFixture('rest');
    at.target.self = description({ dialect });
    const report = await at.lockDown({ measures: { ...NO_MEASURE, basicAuthentication } });
    const covered = report.accessPaths.filter((each) => each.covered);
    expect(JSON.stringify(covered)).not.toContain('local accounts');
  }
});

test('an application is told to be deleted in the words of no other product', async () => {
  await using at = await incidentFixture('database');
  at.target.self = { ...at.target.self, dialect: 'gateway' };
  at.target.programs.push({
    ...{ id: 1, name: 'CI', clientType: 'public', grantType: 'password' },
    created: new Date(0),
  });
  const { accessPaths } = await at.plan({
    scope: { kind: 'applications', names: ['CI'] },
    measures: NO_MEASURE,
  });
  const application = accessPaths.find(({ path }) => path === 'applications');
  expect(application?.remedy).toContain("the gateway's web interface");
  expect(JSON.stringify(application)).not.toMatch(/controller/i);
});

describe('settings that a gateway has not', () => {
  test('leave the rules about them unchecked, and the others checked', async () => {
    const target = new MemoryTarget();
    target.values = ofGateway;
    const policy = {
      ...defaultPolicy,
      'refresh-outlives-access': { ...defaultPolicy['refresh-outlives-access'], enabled: true },
    };
    const run = await auditTokens({ target, selector: { all: true }, policy, clock: stillClock });
    const found: string[] = [];
    for await (const { rule } of run.findings) found.push(rule);
    expect(found).toEqual(['basic-auth-on']);
    const { notChecked } = run.summary();
    expect(Object.fromEntries(notChecked.map(({ rule, why }) => [rule, why]))).toMatchObject({
      'lifetime-default': expect.stringContaining('the lifetime of new tokens'),
      'refresh-outlives-access': expect.stringContaining('the lifetime of new tokens'),
      'sessions-unlimited': expect.stringContaining('sessions per user'),
    });
  });

  test('are not changed, and the rehearsal says so already', async () => {
    await using at = await fixture();
    at.target.values = ofGateway;
    const change = { OAUTH2_PROVIDER: installed.OAUTH2_PROVIDER };
    const rehearsal = { ...at.common, target: dryRun(at.target), operation: 'settings.token-lifetime' };
    await expect(changeSetting({ ...rehearsal, change })).rejects.toMatchObject({
      code: 'unsupported',
      hint: expect.stringContaining('OAUTH2_PROVIDER__ACCESS_TOKEN_EXPIRE_SECONDS'),
    });
    const basic = await changeSetting({ ...rehearsal, change: { AUTH_BASIC_ENABLED: false } });
    expect(basic).toMatchObject({ changed: true });
  });

  test('drift from what is wanted, and enforcing that is refused', async () => {
    await using at = await fixture();
    at.target.values = ofGateway;
    const wanted = { OAUTH2_PROVIDER: { ACCESS_TOKEN_EXPIRE_SECONDS: 3600 }, SESSION_COOKIE_AGE: 1800 };
    expect(await findDrift(at.target, wanted)).toEqual([
      { setting: 'OAUTH2_PROVIDER.ACCESS_TOKEN_EXPIRE_SECONDS', wanted: 3600, found: null },
    ]);
    const target = dryRun(at.target);
    await expect(enforceSettings({ ...at.common, target, wanted })).rejects.toMatchObject({
      code: 'unsupported',
    });
  });

  test('keep no lockdown from its work, and are named among what is to be resolved manually', async () => {
    await using at = await incidentFixture('rest');
    at.target.values = { ...ofGateway, ALLOW_OAUTH2_FOR_EXTERNAL_USERS: true };
    at.target.self = description({ dialect: 'gateway' });
    const report = await at.lockDown();
    expect(report.result).toBe('locked');
    expect(report.steps.map(({ step }) => step)).not.toContain('lifetimes');
    const paths = Object.fromEntries(report.accessPaths.map((each) => [each.path, each]));
    expect(paths['token_lifetimes']).toMatchObject({
      covered: false,
      remedy: expect.stringContaining('OAUTH2_PROVIDER__ACCESS_TOKEN_EXPIRE_SECONDS'),
    });
    expect(paths['basic_authentication']?.how).toMatch(
      /local accounts cannot log in.*`tokenctl incident lift --context test`/,
    );
    const lifted = await at.lift(report.incident, { acceptSessions: true });
    expect(lifted.result).toBe('lifted');
    expect(at.target.values).toEqual({ ...ofGateway, ALLOW_OAUTH2_FOR_EXTERNAL_USERS: true });
  });
});
