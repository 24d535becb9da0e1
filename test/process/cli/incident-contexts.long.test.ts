import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { configure } from '../../support/drafts.ts';
import { databaseEstate } from './database-estate.ts';
import { temporaryFolder, tokenctl } from './program.ts';

const north = databaseEstate();
const south = databaseEstate();

/** A home with a context for each of two controllers, one audit log, and jobs. */
function place(jobs = '') {
  const folder = temporaryFolder();
  for (const [name, at] of [
    ['north', north],
    ['south', south],
  ] as const)
    writeFileSync(join(folder, name), at.url(), { mode: 0o600 });
  configure(
    folder,
    `currentContext: north
contexts:
  north: { database: { file: "${join(folder, 'north')}" } }
  south: { database: { file: "${join(folder, 'south')}" } }
${jobs}`,
  );
  const log = join(folder, '.local/state/tokenctl/audit.jsonl');
  const run = (...args: readonly string[]) => tokenctl(args, { env: { HOME: folder } });
  return {
    run,
    json: async (...args: readonly string[]) => JSON.parse((await run(...args, '--json')).stdout),
    entries: () => readFileSync(log, 'utf8').trimEnd().split('\n').length,
    /** Records for an incident that its end has passed. */
    async end(incident: string) {
      const opening = readFileSync(log, 'utf8')
        .split('\n')
        .find((line) => line.includes(incident));
      const { run: id, actor, target } = JSON.parse(opening ?? '');
      const data = { incident, until: '2026-01-01T00:00:00.000Z' };
      const writer = openFileLog({ path: log, clock: { now: () => new Date() } });
      await writer.append({ kind: 'note', operation: 'incident.extend', run: id, actor, target, data });
    },
  };
}

describe('incidents of several contexts in one audit log', () => {
  test('that are overdue are named by a lift in another context, which is no success', async () => {
    const { run, json, end } = place();
    const lock = async (context: 'north' | 'south') => {
      const { name } = await (context === 'north' ? north : south).addUser();
      const args = ['incident', 'lockdown', '--user', name, '--for', '1h', '--yes', '--context', context];
      return (await json(...args)).incident as string;
    };
    const [here, there] = [await lock('north'), await lock('south')];
    expect(await run('incident', 'lift', '--due', '--yes')).toMatchObject({ code: 0 });
    await end(there);
    const none = await run('incident', 'lift', '--due', '--yes');
    const command = 'tokenctl incident lift --due --context south';
    expect(none.code).toBe(5);
    expect(none.stdout + none.stderr).toContain(there);
    expect(none.stderr).toContain(command);
    const checked = await run('incident', 'status', '--check');
    expect([checked.code, checked.stderr]).toEqual([3, expect.stringContaining(there)]);

    await end(here);
    const some = await run('incident', 'lift', '--due', '--yes');
    expect(some.code).toBe(5);
    expect(some.stdout).toContain(here);
    expect(some.stderr).toContain(command);
    const states = async () =>
      (await json('incident', 'status', '--all', '--context', 'south')).incidents[0].state;
    expect(await states()).toBe('locked');

    const pasted = await run(...command.split(' ').slice(1), '--yes');
    expect(pasted).toMatchObject({ code: 0 });
    expect(await states()).toBe('lifted');
    expect(await run('incident', 'lift', '--due', '--yes')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('No incidents to lift'),
    });
  });

  test.each([
    [
      'no job',
      '',
      /No configured job lifts it\. To lift it at that time: tokenctl incident lift --due --context north/,
    ],
    [
      'a job of another context',
      'jobs: { lift: { job: incident-lift, contexts: [south], dryRun: false } }\n',
      /No configured job lifts it\./,
    ],
    [
      'a dry run',
      'jobs: { lift: { job: incident-lift, contexts: [north], dryRun: true } }\n',
      /The job lift@north is a dry run, so it does not lift the lockdown\./,
    ],
    [
      'a job',
      'jobs: { lift: { job: incident-lift, contexts: [north], dryRun: false } }\n',
      /The job lift@north lifts it at 20\S+ if a scheduler is running/,
    ],
    [
      'a job of the current context',
      'jobs: { lift: { job: incident-lift, dryRun: false } }\n',
      /The job lift\S* lifts it at 20\S+ if a scheduler is running/,
    ],
  ])('with an end say whether a job lifts them: %s', async (_what, jobs, text) => {
    const { run } = place(jobs);
    const { name } = await north.addUser();
    const { stdout } = await run('incident', 'lockdown', '--user', name, '--for', '1h', '--dry-run');
    expect(stdout).toMatch(/Ends at 20\S+ unless extended\./);
    expect(stdout).toMatch(text);
  });

  test('are lifted by the job of their context, and by no other', async () => {
    const { run, json, end } = place(`jobs:
  north: { job: incident-lift, contexts: [north], dryRun: false }
  south: { job: incident-lift, contexts: [south], dryRun: false }
`);
    const { name } = await south.addUser();
    const lockdown = ['incident', 'lockdown', '--user', name, '--for', '1h', '--yes', '--context', 'south'];
    const { incident } = await json(...lockdown);
    await end(incident);
    const state = async () => (await json('incident', 'status', '--all', '--context', 'south')).incidents[0];
    await run('jobs', 'run', 'north');
    expect(await state()).toMatchObject({ id: incident, state: 'locked' });
    expect(await run('jobs', 'run', 'south')).toMatchObject({ code: 0 });
    expect(await state()).toMatchObject({ id: incident, state: 'lifted' });
  });
});

test('an offboarding that is run twice finds nothing to do, and changes nothing', async () => {
  const { run, json, entries } = place();
  const { name } = await north.addUser();
  const first = await json('users', 'offboard', name, '--yes');
  expect(first.plan.deactivate).toHaveLength(1);
  const rows = async () => {
    const [row] = await north.database().query<Record<string, unknown>>(
      `SELECT u.is_active, (SELECT count(*)::int FROM main_oauth2accesstoken t WHERE t.user_id = u.id) AS tokens,
         (SELECT count(*)::int FROM oauth2_provider_refreshtoken r WHERE r.user_id = u.id AND r.revoked IS NULL) AS live
       FROM auth_user u WHERE u.username = $1`,
      [name],
    );
    return row;
  };
  expect(await rows()).toEqual({ is_active: false, tokens: 0, live: 0 });
  const before = entries();
  const second = await json('users', 'offboard', name, '--yes');
  expect(second).toMatchObject({
    plan: { deactivate: [], revocation: { tokenIds: [], refreshTokenIds: [] } },
  });
  expect(await rows()).toEqual({ is_active: false, tokens: 0, live: 0 });
  // What was found is noted; nothing was about to be done.
  expect(entries() - before).toBeLessThanOrEqual(1);
  expect((await run('users', 'offboard', name, '--dry-run')).code).toBe(0);
});
