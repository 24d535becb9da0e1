import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { describe, expect, it } from 'vitest';
import { offboarding } from '../../../jobs/offboarding.ts';
import { revocationSweep } from '../../../jobs/revocation-sweep.ts';
import { settingsGuard } from '../../../jobs/settings-guard.ts';
import { tokenAudit } from '../../../jobs/token-audit.ts';
import { endingJobOf } from '../../../src/app/jobs/ending-job.ts';
import { jobKinds } from '../../../src/app/jobs/job-kinds.ts';
import { unwritableFiles } from '../../../src/app/jobs/scheduled-jobs.ts';
import { loadConfiguration } from '../../../src/config/configuration.ts';
import type { JobSettings } from '../../../src/config/jobs.ts';
import { Baseline } from '../../../src/domain/policy/judge.ts';
import { defaultPolicy } from '../../../src/domain/policy/policy.ts';
import type { JobFiles, TargetJobContext } from '../../../src/operations/jobs/job.ts';
import type { Clock } from '../../../src/operations/ports/clock.ts';
import { SchedulerMetrics } from '../../../src/scheduler/monitoring.ts';
import { dryRun } from '../../../src/targets/dry-run.ts';
import { databaseFixture, entriesOf, fixture } from '../../support/fixture.ts';
import { refreshToken } from '../../support/memory-refresh-tokens.ts';
import { session } from '../../support/memory-sessions.ts';
import { user } from '../../support/memory-target.ts';
import { token } from '../../support/tokens.ts';
import { unusedFiles, unusedServices } from '../../support/unused-files.ts';

const DAY = 86_400_000;

/** A stream that reaches back, in which no one got another name. */
function quietStream(clock: Clock) {
  const extent = {
    enabled: true,
    oldest: new Date(0),
    newest: clock.now(),
    oldestUser: null,
    switched: null,
  };
  return {
    nameChanges: async () => [],
    usersMade: async () => [],
    missingEntries: async () => null,
    extent: async () => extent,
  };
}

/** Tokens of which so many in a hundred have not been used for half a year, the oldest last. */
async function estate(tokens: number, unusedPercent: number) {
  const made = await fixture();
  const { clock } = made.common;
  const ago = (days: number) => new Date(clock.now().getTime() - days * DAY);
  for (let id = 1; id <= tokens; id += 1) {
    const unused = id <= (tokens * unusedPercent) / 100;
    const lastUsed = unused ? ago(180) : ago(1);
    const other = { created: ago(200 + id), expires: ago(-30), lastUsed, user: { id: 2, username: 'alice' } };
    made.target.alive.set(id, token({ id, ...other }));
  }
  const context: TargetJobContext = {
    ...made.common,
    openNames: async () => ({ ...quietStream(clock), close: async () => undefined }),
    actor: { user: 'root', job: 'sweep@test', job_run: 'run-1' },
    files: unusedFiles,
    services: unusedServices,
    due: clock.now(),
    dryRun: false,
    signal: new AbortController().signal,
  };
  return { ...made, context, ago, [Symbol.asyncDispose]: () => made[Symbol.asyncDispose]() };
}

const sweep = {
  policy: defaultPolicy,
  rules: ['unused-for'],
  keepIfYounger: 7 * DAY,
  atMost: 500,
  stopAbovePercent: 20,
  accessOnly: false,
} as const;

describe('a revocation sweep', () => {
  it('revokes what the rules find, under the run of the job', async () => {
    await using made = await estate(100, 10);
    const report = await revocationSweep.run(made.context, sweep);
    expect(report).toMatchObject({ revoked: 10, summary: { tokens: 100, found: 10, young: 0, planned: 10 } });
    expect([...made.target.alive.keys()].sort((a, b) => a - b)[0]).toBe(11);
    const entries = await entriesOf(made.log);
    expect(entries.length).toBeGreaterThan(0);
    expect(entries.every(({ actor }) => actor['job_run'] === 'run-1')).toBe(true);
  });

  it('stops where 60 % of all tokens would go: revokes nothing, records nothing, and says why', async () => {
    await using made = await estate(100, 60);
    await expect(revocationSweep.run(made.context, sweep)).rejects.toMatchObject({
      code: 'plan_too_large',
      message: expect.stringContaining('60 of 100 tokens (60 %)'),
      details: { tokens: 100, found: 60, percent: 60, stopAbovePercent: 20, byRule: { 'unused-for': 60 } },
    });
    expect(made.target.alive.size).toBe(100);
    expect(await made.entries()).toEqual([]);
  });

  it('begins at the share that is allowed, and not above it, however little goes in one run', async () => {
    await using made = await estate(100, 20);
    expect(await revocationSweep.run(made.context, { ...sweep, atMost: 5 })).toMatchObject({ revoked: 5 });
    await using more = await estate(100, 21);
    await expect(revocationSweep.run(more.context, { ...sweep, atMost: 5 })).rejects.toMatchObject({
      code: 'plan_too_large',
    });
  });

  it('takes the oldest first, and the others in the next runs', async () => {
    await using made = await estate(100, 10);
    await revocationSweep.run(made.context, { ...sweep, atMost: 4 });
    expect([1, 2, 3, 4, 5, 6].every((id) => made.target.alive.has(id))).toBe(true);
    expect([7, 8, 9, 10].some((id) => made.target.alive.has(id))).toBe(false);
    await revocationSweep.run(made.context, { ...sweep, atMost: 4 });
    expect(made.target.alive.size).toBe(92);
    expect(await revocationSweep.run(made.context, sweep)).toMatchObject({ revoked: 2 });
    expect((await revocationSweep.run(made.context, sweep)).message).toContain('nothing to revoke');
  });

  it('keeps what is too young', async () => {
    await using made = await estate(100, 10);
    const report = await revocationSweep.run(made.context, { ...sweep, keepIfYounger: 205.5 * DAY });
    expect(report).toMatchObject({ revoked: 5, summary: { young: 5 } });
  });

  it('only says what it would do in a dry run', async () => {
    await using made = await estate(100, 10);
    const context = { ...made.context, target: dryRun(made.target), dryRun: true };
    expect(await revocationSweep.run(context, sweep)).toMatchObject({
      message: 'Would revoke 10 of 100 tokens',
      summary: { planned: 10 },
    });
    expect(made.target.alive.size).toBe(100);
  });

  it('fails where a rule cannot be checked, instead of passing over it', async () => {
    await using made = await estate(10, 0);
    made.target.refused = ['inactive'];
    await expect(
      revocationSweep.run(made.context, { ...sweep, rules: ['unused-for', 'owner-inactive'] }),
    ).rejects.toMatchObject({ code: 'unsupported' });
  });

  it('fails where a token could not be revoked, so that it is tried again', async () => {
    await using made = await estate(100, 10);
    made.target.onRevoke = (id) => (id === 3 ? 'failed' : undefined);
    await expect(revocationSweep.run(made.context, sweep)).rejects.toMatchObject({
      code: 'partly_done',
      details: { revoked: 9, failed: 1 },
    });
  });
});

describe('an offboarding', () => {
  const parameters = { inactive: true, except: [], stopAbovePercent: 50 };

  it('ends what deactivated users have', async () => {
    await using made = await estate(4, 0);
    made.target.people.push(user(4, 'carol', { isActive: false }));
    made.target.alive.set(5, token({ id: 5, user: { id: 4, username: 'carol' }, expires: made.ago(-30) }));
    const report = await offboarding.run(made.context, parameters);
    expect(report).toMatchObject({ revoked: 1, notices: [{ text: expect.stringContaining('carol') }] });
    expect([...made.target.alive.keys()]).toEqual([1, 2, 3, 4]);
    expect(await offboarding.run(made.context, parameters)).not.toHaveProperty('revoked');
  });

  it('names who is not in a list, save for exceptions and whoever runs it, and ends nothing of theirs', async () => {
    await using made = await estate(6, 0);
    made.target.people.push(user(4, 'carol', { isActive: false }));
    made.target.alive.set(7, token({ id: 7, user: { id: 3, username: 'bob' }, expires: made.ago(-30) }));
    made.target.alive.set(8, token({ id: 8, user: { id: 4, username: 'carol' }, expires: made.ago(-30) }));
    const listing = (names: readonly string[], except: readonly string[] = []) => {
      const files: JobFiles = { ...unusedFiles, names: async () => names };
      const own = { ...parameters, present: { file: 'staff' }, except: [...except] };
      return offboarding.run({ ...made.context, files }, own);
    };
    // Who is deactivated needs no list.
    await expect(listing(['alice'])).rejects.toMatchObject({
      code: 'partly_done',
      message: expect.stringMatching(
        /^Revoked 1 of 1 tokens\. Not in the user list and not offboarded: bob$/,
      ),
    });
    expect([...made.target.alive.keys()].slice(-1)).toEqual([7]);
    await expect(listing([])).rejects.toMatchObject({ code: 'usage', message: 'The user list is empty' });
    expect(await listing(['alice'], ['b*'])).toMatchObject({ message: 'No departed user has access' });
    expect(made.target.alive.size).toBe(7);
  });
});

describe('an offboarding stops at the allowed share of', () => {
  /** Ten users, each with a refresh token and a session; and a hundred tokens of a service account that is kept. */
  async function staff() {
    const made = await databaseFixture();
    const { clock, target } = made.common;
    const expires = new Date(clock.now().getTime() + 30 * DAY);
    target.people.splice(1);
    for (let id = 1; id <= 100; id += 1) {
      target.alive.set(id, token({ id, expires, user: { id: 2, username: 'robot' } }));
    }
    target.people.push(user(2, 'robot'));
    for (let id = 11; id <= 20; id += 1) {
      const owner = { id, username: `user${id}` };
      target.people.push(user(id, owner.username));
      target.refresh.rows.set(id, refreshToken({ id, user: owner }));
      target.logins.live.push(session({ user: owner }));
    }
    const quiet = async () => ({ ...quietStream(made.common.clock), close: async () => undefined });
    /** Deactivates users, and offboards who is deactivated. */
    const run = (left: readonly string[], stopAbovePercent = 10) => {
      for (const [place, person] of target.people.entries())
        if (left.includes(person.username)) target.people[place] = { ...person, isActive: false };
      return offboarding.run(
        {
          ...made.common,
          openNames: quiet,
          actor: { user: 'root' },
          files: unusedFiles,
          services: unusedServices,
          due: clock.now(),
          dryRun: false,
          signal: new AbortController().signal,
        },
        { inactive: true, except: ['robot'], stopAbovePercent },
      );
    };
    return { ...made, target, run, [Symbol.asyncDispose]: () => made[Symbol.asyncDispose]() };
  }

  it('users, refresh tokens and sessions, and ends nothing then', async () => {
    await using at = await staff();
    const left = [13, 14, 15, 16, 17, 18, 19, 20].map((id) => `user${id}`);
    await expect(at.run(left)).rejects.toMatchObject({
      code: 'plan_too_large',
      message:
        'The offboarding would end the access of 8 of 11 users (72.7 %), with 8 of 10 refresh tokens (80 %), ' +
        '8 of 10 sessions (80 %), which exceeds the limit of 10 %. Nothing was revoked',
      details: {
        users: { planned: 8, all: 11, percent: 72.7 },
        tokens: { planned: 0, all: 100, percent: 0 },
        refreshTokens: { planned: 8, all: 10, percent: 80 },
        sessions: { planned: 8, all: 10, percent: 80 },
        stopAbovePercent: 10,
      },
    });
    expect(at.target.logins.live).toHaveLength(10);
    expect(await at.entries()).toEqual([]);
  });

  it('none of them for one user who left', async () => {
    await using at = await staff();
    await at.run(['user15'], 1);
    expect(at.target.logins.live).toHaveLength(9);
  });

  it('tokens also for one user', async () => {
    await using at = await staff();
    const own = { id: 15, username: 'user15' };
    for (let id = 101; id <= 120; id += 1) at.target.alive.set(id, token({ id, user: own }));
    await expect(at.run(['user15'])).rejects.toMatchObject({
      message: expect.stringContaining('20 of 120 tokens (16.7 %)'),
    });
  });
});

describe('a guard of the settings', () => {
  const settings = { AUTH_BASIC_ENABLED: false, OAUTH2_PROVIDER: { ACCESS_TOKEN_EXPIRE_SECONDS: 3600 } };

  it('tells of what is not as it should be, and leaves it', async () => {
    await using made = await estate(0, 0);
    const report = await settingsGuard.run(made.context, { settings, enforce: false });
    expect(report.notices?.[0]).toMatchObject({
      severity: 'warning',
      text: expect.stringContaining('AUTH_BASIC_ENABLED is true; expected false'),
    });
    expect(made.target.values.AUTH_BASIC_ENABLED).toBe(true);
  });

  it('puts it right, leaves what no one spoke of, and has nothing to do afterwards', async () => {
    await using made = await estate(0, 0);
    const before = made.target.values;
    await settingsGuard.run(made.context, { settings, enforce: true });
    expect(made.target.values).toEqual({
      ...before,
      AUTH_BASIC_ENABLED: false,
      OAUTH2_PROVIDER: { ...before.OAUTH2_PROVIDER, ACCESS_TOKEN_EXPIRE_SECONDS: 3600 },
    });
    const entries = (await made.entries()).length;
    expect(await settingsGuard.run(made.context, { settings, enforce: true })).toMatchObject({
      summary: { drift: [] },
    });
    expect((await made.entries()).length).toBe(entries);
  });
});

describe('an audit', () => {
  const parameters = { policy: defaultPolicy, rules: ['unused-for'] as const, notifyAt: 'medium' as const };

  it('tells of each finding once, where it keeps what is known', async () => {
    await using made = await estate(10, 20);
    let kept: readonly string[] | null = null;
    const files: JobFiles = {
      ...unusedFiles,
      baseline: async () => {
        if (kept === null) return null;
        const baseline = new Baseline();
        for (const key of kept) baseline.add(key);
        return baseline;
      },
      writeBaseline: async (_path, keys) => {
        kept = keys;
      },
    };
    const context = { ...made.context, files };
    const first = await tokenAudit.run(context, { ...parameters, baseline: 'known' });
    expect(first).toMatchObject({
      findings: { medium: 2 },
      findingsByRule: { 'unused-for': 2 },
      summary: { told: 2 },
      notices: [{ severity: 'warning' }],
    });
    expect(await tokenAudit.run(context, { ...parameters, baseline: 'known' })).toMatchObject({
      findings: { medium: 2 },
      summary: { told: 0 },
      notices: [],
    });
    const [alive] = made.target.alive.values();
    if (alive !== undefined) made.target.alive.set(11, { ...alive, id: 11 });
    expect(await tokenAudit.run(context, { ...parameters, baseline: 'known' })).toMatchObject({
      summary: { told: 1 },
      notices: [{ text: expect.stringContaining('token 11') }],
    });
  });
});

it('warns of a report beside the configuration of the service, which root can write and the service cannot', () => {
  const report = '/tmp/a.html';
  const settings = { job: 'token-audit', parameters: { report } } as unknown as JobSettings;
  const configuration = { file: '/tmp/tokenctl.yaml', jobs: { audit: settings } };
  expect(unwritableFiles(configuration, { XDG_STATE_HOME: '/var/lib' }, '/tmp/tokenctl.yaml')).toEqual([
    'Warning: the job "audit" cannot write its report to /tmp/a.html: the packaged systemd unit can only read /tmp. Specify a file in a directory that it can write to, such as /var/lib/tokenctl/a.html.',
  ]);
  expect(unwritableFiles(configuration, {})).toEqual([]);
});

it('counts the findings of the last audit by rule, and says nothing of rules that were not checked', async () => {
  const metrics = new SchedulerMetrics({
    store: {
      lastSuccesses: async () => new Map(),
      sighting: async () => ({ running: true, lastSeen: null }),
    },
    log: { head: async () => ({ size: 0, hash: '' }) },
    clock: { now: () => new Date() } as never,
    jobs: () => [],
    version: '1',
  });
  const audited = async (findingsByRule: Record<string, number>) => {
    const ended = { kind: 'run_ended', state: 'completed', seconds: 1, retryAt: null };
    metrics.count({ ...ended, job: { name: 'audit' }, report: { findingsByRule } } as never);
    const { body } = await metrics.text();
    return body.match(/^tokenctl_scheduler_findings_by_rule.*/gm);
  };
  expect(await audited({ 'never-used': 2, 'unused-for': 0 })).toEqual([
    'tokenctl_scheduler_findings_by_rule{job="audit",rule="never-used"} 2',
    'tokenctl_scheduler_findings_by_rule{job="audit",rule="unused-for"} 0',
  ]);
  expect(await audited({ 'unused-for': 1 })).toEqual([
    'tokenctl_scheduler_findings_by_rule{job="audit",rule="unused-for"} 1',
  ]);
});

it('a job without contexts ends leases of the usual context, whatever --context this command has', async () => {
  await using folder = await temporaryFolder();
  const config = join(folder.path, 'tokenctl.yaml');
  const contexts = 'contexts: { a: { url: "https://a.example" }, b: { url: "https://b.example" } }';
  const jobs = 'jobs: { ends: { job: lease-end, dryRun: false } }';
  await writeFile(config, `currentContext: a\n${contexts}\n${jobs}\n`);
  const configuration = loadConfiguration({ config, context: 'b' }, { HOME: folder.path }, jobKinds);
  const until = new Date('2026-11-20T12:00:30Z');
  const of = (context: string) => endingJobOf(configuration, { kind: 'lease-end', context, until });
  expect(of('b')).toBe(null);
  expect(of('a')).toEqual({ name: 'ends@a', at: new Date('2026-11-20T12:01:00Z'), dryRun: false });
});
