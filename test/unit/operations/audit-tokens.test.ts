import { TokenctlError } from '@tokenctl/common/errors.ts';
import { describe, expect, test } from 'vitest';
import { Baseline, type Finding, findingKey } from '../../../src/domain/policy/judge.ts';
import { defaultPolicy, type Policy } from '../../../src/domain/policy/policy.ts';
import type { Selector } from '../../../src/domain/selector.ts';
import {
  type AuditTokensOptions,
  auditTokens,
  findingSelector,
} from '../../../src/operations/token-audit/audit-tokens.ts';
import { stillClock } from '../../support/drafts.ts';
import { databaseDescription, description, MemoryTarget, user } from '../../support/memory-target.ts';
import { application, emptyLog, policyWith } from '../../support/policy-facts.ts';
import { token } from '../../support/tokens.ts';

const quietSettings = policyWith({
  'basic-auth-on': { enabled: false },
  'lifetime-default': { enabled: false },
  'sessions-unlimited': { enabled: false },
  'refresh-orphaned': { enabled: false },
});

async function audit(target: MemoryTarget, other: Partial<AuditTokensOptions> = {}) {
  const run = await auditTokens({
    target,
    selector: { all: true },
    policy: quietSettings,
    clock: stillClock,
    openLog: emptyLog,
    ...other,
  });
  const findings: Finding[] = [];
  for await (const finding of run.findings) findings.push(finding);
  return { findings, keys: findings.map(findingKey), summary: run.summary(), statistics: run.statistics };
}

const described = { description: 'pipeline' };

function troubled(): MemoryTarget {
  const target = new MemoryTarget();
  target.people.push(user(5, 'leaver', { isActive: false }), user(6, 'erin', { externalAccount: 'ldap' }));
  target.alive.set(1, token({ id: 1, description: 'laptop' }));
  target.alive.set(2, token({ ...described, id: 2, user: { id: 5, username: 'leaver' }, scope: 'write' }));
  target.alive.set(3, token({ ...described, id: 3, user: { id: 6, username: 'erin' } }));
  const old = { created: new Date('2026-01-01'), expires: new Date('2027-01-01') };
  target.alive.set(4, token({ ...described, id: 4, lastUsed: null, ...old }));
  return target;
}

describe('auditTokens', () => {
  test('finds, counts by severity and rule, and changes nothing', async () => {
    const { keys, summary } = await audit(troubled());
    expect(keys).toEqual([
      'owner-inactive token:2',
      'write-scope token:2',
      'owner-external token:3',
      'never-used token:4',
    ]);
    expect(summary).toMatchObject({ tokensRead: 4, found: 4, known: null, excused: {}, notChecked: [] });
    expect(summary.bySeverity).toEqual({ low: 1, medium: 2, high: 0, critical: 1 });
    expect(summary.byRule).toMatchObject({ 'write-scope': 1, 'unused-for': 0, 'owner-superuser': 0 });
    expect(summary.byRule).not.toHaveProperty('basic-auth-on');
  });

  test('judges applications, refresh tokens and settings as well', async () => {
    const target = new MemoryTarget();
    target.self = databaseDescription();
    target.programs.push(application({ grantType: 'implicit' }));
    target.refresh.rows.set(8, {
      id: 8,
      user: { id: 2, username: 'alice' },
      application: { id: 3, name: 'portal' },
      created: new Date('2026-11-01'),
      revoked: null,
      accessTokenId: null,
      fingerprint: 'abc',
    });
    const { keys } = await audit(target, { policy: defaultPolicy });
    expect(keys).toEqual([
      'basic-auth-on setting:AUTH_BASIC_ENABLED',
      'lifetime-default setting:OAUTH2_PROVIDER',
      'sessions-unlimited setting:SESSIONS_PER_USER',
      'application-implicit application:3',
      'refresh-orphaned refresh-token:8',
    ]);
  });

  test('judges nothing but the selected tokens where some are selected', async () => {
    const target = troubled();
    const selector: Selector = { ids: [2] };
    const { keys, summary } = await audit(target, { selector, policy: defaultPolicy });
    expect(keys).toEqual(['owner-inactive token:2', 'write-scope token:2']);
    expect(summary.byRule).not.toHaveProperty('basic-auth-on');
    expect(summary.byRule).not.toHaveProperty('refresh-orphaned');
    expect(summary.notChecked).toEqual([]);
  });

  test('says which rules could not be checked, instead of passing them', async () => {
    const target = troubled();
    target.refused = ['unusedSince', 'inactive'];
    target.settings.read = () => Promise.reject(new TokenctlError('permission_refused', 'Not for you'));
    const { summary } = await audit(target, { policy: defaultPolicy });
    const settings = ['basic-auth-on', 'external-tokens-allowed', 'lifetime-default', 'session-age-long'];
    expect(summary.notChecked).toEqual([
      { rule: 'owner-inactive', why: 'There is no filter for inactive' },
      { rule: 'unused-for', why: 'There is no filter for unusedSince' },
      { rule: 'owner-external', why: 'Not for you' },
      ...[...settings, 'sessions-unlimited'].map((rule) => ({ rule, why: 'Not for you' })),
      { rule: 'refresh-orphaned', why: 'Refresh tokens can be neither listed nor revoked over the REST API' },
    ]);
    for (const { rule } of summary.notChecked) expect(summary.byRule).not.toHaveProperty(rule);
  });

  test('does not guess whether the service requires PKCE', async () => {
    const target = new MemoryTarget();
    target.self = description({ dialect: 'service', credential: 'database_role' });
    target.programs.push(application({ clientType: 'public' }));
    const { keys, summary } = await audit(target);
    expect(keys).toEqual([]);
    expect(summary.notChecked.map(({ rule }) => rule)).toEqual(['application-public-without-pkce']);
    // Over REST a controller may claim to be the service.
    target.self = description({ dialect: 'service', credential: 'token' });
    expect((await audit(target)).keys).toHaveLength(1);
  });

  test('does not take an unreachable target for a rule that cannot be checked', async () => {
    const target = troubled();
    target.users = {
      ...target.users,
      list: () => {
        throw new TokenctlError('target_unreachable', 'Gone away');
      },
    };
    await expect(audit(target)).rejects.toMatchObject({ code: 'target_unreachable' });
  });

  test('lets the target select by last use where tokens do not tell', async () => {
    const target = troubled();
    const untold = { ...described, lastUsed: undefined };
    target.alive.set(4, token({ ...untold, id: 4, created: new Date('2026-11-01') }));
    const old = { created: new Date('2026-01-01'), expires: new Date('2027-01-01') };
    target.alive.set(9, token({ ...untold, id: 9, ...old }));
    const { findings } = await audit(target);
    expect(findings.filter(({ rule }) => rule === 'unused-for').map(({ message }) => message)).toEqual([
      'It has not been used for 90 days or more.',
    ]);
  });

  test('asks for the last change of those alone whose tokens may write', async () => {
    const target = troubled();
    target.alive.set(2, token({ ...described, id: 2, scope: 'write', created: new Date('2026-01-01') }));
    const asked: (readonly number[])[] = [];
    const { activity } = target;
    target.activity = {
      ...activity,
      lastChanges: (ids) => {
        asked.push(ids);
        return activity.lastChanges(ids);
      },
    };
    const { keys } = await audit(target, { policy: policyWith({ 'write-unneeded': { enabled: true } }) });
    expect(asked).toEqual([[2]]);
    expect(keys).toContain('write-unneeded token:2');
  });

  test('leaves out and counts what the baseline knows, and names every finding for the next one', async () => {
    const target = troubled();
    const baseline = new Baseline();
    baseline.add('write-scope token:2');
    baseline.add('write-scope token:3');
    const named: string[] = [];
    const { keys, summary } = await audit(target, { baseline, onKey: (key) => named.push(key) });
    expect(keys).not.toContain('write-scope token:2');
    expect(summary).toMatchObject({ found: 3, known: 1, fixed: 1, bySeverity: { low: 0 } });
    expect(named).toHaveLength(4);
    expect(named).toContain('write-scope token:2');
  });

  test('what is excused is not fixed, and nothing is for an account that sees only part', async () => {
    const target = troubled();
    const baseline = new Baseline();
    baseline.add('write-scope token:2');
    const exceptions = [{ reason: 'they deploy' }];
    const policy = { ...quietSettings, 'write-scope': { ...quietSettings['write-scope'], exceptions } };
    expect((await audit(target, { baseline, policy })).summary).toMatchObject({ known: 0, fixed: 0 });
    target.self = description({
      visibility: {
        kind: 'part',
        tokens: 'its own',
        users: 'itself',
        applications: 'none',
        organizations: [],
      },
    });
    expect((await audit(target, { baseline })).summary.fixed).toBeNull();
  });

  test('counts tokens for charts where asked to', async () => {
    const target = troubled();
    target.self = databaseDescription();
    const { statistics } = await audit(target, { statistics: true });
    expect(statistics?.byScope()).toEqual([
      { label: 'read', tokens: 3 },
      { label: 'write', tokens: 1 },
    ]);
    expect(statistics?.byLastUse().filter(({ tokens }) => tokens > 0)).toEqual([
      { label: 'within a week', tokens: 3 },
      { label: 'never', tokens: 1 },
    ]);
    expect(statistics?.calendar().reduce((sum, count) => sum + count, 0)).toBe(4);
    expect((await audit(troubled())).statistics).toBeNull();
  });
});

describe('findingSelector', () => {
  const select = (rule: Parameters<typeof findingSelector>[0]['rule'], policy: Policy = quietSettings) =>
    findingSelector({ target: troubled(), policy, rule, clock: stillClock });

  test('gives the ids that an audit by the same policy finds', async () => {
    expect(await select('never-used')).toEqual([4]);
    expect(await select('write-scope')).toEqual([2]);
    expect(await select('never-expires')).toEqual([]);
  });

  test('leaves to other rules what the audit leaves to them', async () => {
    const target = troubled();
    target.alive.set(9, token({ ...described, id: 9, expires: new Date('3026-01-01') }));
    const options = { target, clock: stillClock, rule: 'lifetime-over' as const };
    expect(await findingSelector({ ...options, policy: quietSettings })).toEqual([]);
    const alone = policyWith({ 'never-expires': { enabled: false } });
    expect(await findingSelector({ ...options, policy: alone })).toEqual([9]);
  });

  test('leaves out what exceptions excuse', async () => {
    const excepting = policyWith({ 'write-scope': { exceptions: [{ user: 'leaver', reason: 'agreed' }] } });
    expect(await select('write-scope', excepting)).toEqual([]);
  });

  test('refuses a rule that is not about tokens, and one that is not applied', async () => {
    await expect(select('expiry-cliff')).rejects.toMatchObject({ code: 'usage' });
    await expect(select('write-unneeded')).rejects.toMatchObject({ code: 'usage' });
  });

  test('does not take a rule that cannot be checked for one that finds nothing', async () => {
    const target = troubled();
    target.refused = ['inactive'];
    const options = { target, policy: quietSettings, rule: 'owner-inactive' as const, clock: stillClock };
    await expect(findingSelector(options)).rejects.toMatchObject({ code: 'unsupported' });
  });
});
