import { describe, expect, it } from 'vitest';
import { jobKinds } from '../../../src/app/jobs/job-kinds.ts';
import { schedulerSchema, jobsSchema as schemaFor } from '../../../src/config/jobs.ts';

const jobsSchema = schemaFor(jobKinds);

const sweep = { job: 'revocation-sweep', parameters: { rules: ['unused-for'] } };

describe('the jobs section', () => {
  it('fills in what is safe: what changes a controller is a dry run, and a sweep stops early', () => {
    const jobs = jobsSchema.parse({ sweep, audit: { job: 'token-audit' } });
    expect(jobs['sweep']).toMatchObject({
      dryRun: true,
      timeZone: 'UTC',
      timeout: 3600,
      missed: { run: 'last', within: 604_800 },
      onFailure: { retries: 3, retryAfter: 60, notify: true },
      parameters: { keepIfYounger: 604_800_000, atMost: 500, stopAbovePercent: 20, accessOnly: false },
    });
    expect(jobs['audit']).toMatchObject({ dryRun: false, parameters: { notifyAt: 'high' } });
  });

  it('reads lengths of time', () => {
    const jobs = jobsSchema.parse({
      sweep: { ...sweep, timeout: '90s', jitter: '10m', missed: { within: '12h' } },
    });
    expect(jobs['sweep']).toMatchObject({
      timeout: 90,
      jitter: 600,
      missed: { run: 'last', within: 43_200 },
    });
  });

  it.each([
    ['25d', { timeout: '25d' }, 'must be at most 7d, not "25d"'],
    ['0s', { timeout: '0s' }, 'must be at least 1s, not "0s"'],
    ['8d of jitter', { jitter: '8d' }, 'must be at most 7d, not "8d"'],
    ['a retry after 2d', { onFailure: { retryAfter: '2d' } }, 'must be at most 1d, not "2d"'],
    ['ticks of 11 years', { missed: { within: '4015d' } }, 'must be at most 3650d, not "4015d"'],
    ['more than a number holds', { timeout: `${'9'.repeat(400)}d` }, 'must be at most 7d'],
  ])('refuses %s, with the value', (_what, settings, message) => {
    const { error } = jobsSchema.safeParse({ sweep: { ...sweep, ...settings } });
    expect(error?.issues[0]?.message).toContain(message);
  });

  it.each([
    ['a name that ledger and metrics cannot hold', { 'A b': sweep }],
    ['a kind that does not exist', { sweep: { ...sweep, job: 'sweep' } }],
    ['a sweep without rules', { sweep: { ...sweep, parameters: { rules: [] } } }],
    ['a rule that does not exist', { sweep: { ...sweep, parameters: { rules: ['unused'] } } }],
    ['an unknown parameter', { sweep: { ...sweep, parameters: { rules: ['unused-for'], atmost: 3 } } }],
    [
      'a share above all',
      { sweep: { ...sweep, parameters: { rules: ['unused-for'], stopAbovePercent: 101 } } },
    ],
    ['a length of time without a unit', { sweep: { ...sweep, timeout: '90' } }],
    ['an offboarding without users', { gone: { job: 'offboarding', parameters: { inactive: false } } }],
    ['a guard of nothing', { guard: { job: 'settings-guard', parameters: { settings: {} } } }],
    [
      'a checkpoint that is kept nowhere',
      { sign: { job: 'log-checkpoint', parameters: { key: { file: '/k' } } } },
    ],
    [
      'a report without a format',
      { audit: { job: 'token-audit', parameters: { report: { file: 'audit.txt' } } } },
    ],
  ])('refuses %s', (_what, jobs) => {
    expect(jobsSchema.safeParse(jobs).success).toBe(false);
  });
});

describe('the scheduler section', () => {
  it.each([
    [{ lease: '0s' }, 'must be at least 1s'],
    [{ lease: '2d' }, 'must be at most 1d'],
    [{ grace: '25d' }, 'must be at most 1d'],
    [{ keepDays: 4_000_000 }, 'must be at most 36500'],
  ])('refuses %o, with the maximum', (settings, message) => {
    expect(schedulerSchema.safeParse(settings).error?.issues[0]?.message).toContain(message);
  });

  it('can be left out', () => {
    expect(schedulerSchema.parse(undefined)).toEqual({
      healthPort: 9464,
      healthAddress: '127.0.0.1',
      lease: 60,
      grace: 60,
      runsAtOnce: 32,
      runsPerContext: 4,
      notify: {},
      keepDays: 400,
    });
    expect(schedulerSchema.parse({})).toEqual(schedulerSchema.parse(undefined));
  });

  it('refuses a ledger in two places, and a secret in plain text', () => {
    const refused = [
      { ledger: { file: '/a', database: { env: 'B' } } },
      { notify: { chat: { kind: 'slack', url: 'https://hooks.example.org/secret' } } },
    ];
    for (const section of refused) expect(schedulerSchema.safeParse(section).success).toBe(false);
  });
});
