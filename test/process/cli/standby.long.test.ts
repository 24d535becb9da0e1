import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ReplicatedPostgres, startReplicatedPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import { until } from '@tokenctl/testing/until.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LAYOUTS } from '../../support/controller-tables.ts';
import { configure } from '../../support/drafts.ts';
import { mailServer } from '../../support/mail-server.ts';
import { loadRealTables, REAL_PEERS } from '../../support/real-tables.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { temporaryFolder, tokenctl } from './program.ts';

let servers: ReplicatedPostgres;
let place: TestDatabase;

beforeAll(async () => {
  servers = await startReplicatedPostgres();
  place = await createTestDatabase(LAYOUTS[0] ?? 'service', servers.primary);
  // By this, the log's incidents of the primary are those of the standby.
  await place.database.execute(
    `INSERT INTO conf_setting (created, modified, key, value)
     VALUES (now(), now(), 'INSTALL_UUID', '"00000000-0000-4000-8000-000000000001"')`,
  );
});
afterAll(async () => {
  await servers.stop();
});

/** A home with a context of the primary, and one of the standby, and with a mail server where one is given. */
function home(mail?: string, url = place.url) {
  const folder = temporaryFolder();
  const onStandby = new URL(servers.standby);
  onStandby.pathname = new URL(url).pathname;
  for (const [name, text] of [
    ['mail', mail ?? ''],
    ['primary', url],
    ['standby', onStandby.href],
  ] as const) {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
  }
  configure(
    folder,
    `currentContext: standby
contexts:
  primary: { database: { file: "${join(folder, 'primary')}" } }
  standby: { database: { file: "${join(folder, 'standby')}" } }
${mail === undefined ? '' : mailSettings(folder)}`,
  );
  return (...args: readonly string[]) => tokenctl(args, { env: { HOME: folder } });
}

function mailSettings(folder: string): string {
  return `ownerNotices: { server: { file: "${join(folder, 'mail')}" }, from: tokenctl@example.com, allowPlain: true, thresholds: [36500] }
jobs: { mail: { job: owner-notices, dryRun: false } }
`;
}

const IS_STANDBY =
  /is a standby: it shows the primary's changes that it has replayed \(last change of 20\S+Z, \d+ s ago\), which may not be the current state\./;

describe('a standby of the database', () => {
  it('is named in every answer', async () => {
    const run = home();
    await place.tokens(2);
    await servers.caughtUp();
    const checked = await run('context', 'check');
    expect(checked.stdout).toMatch(/^Context "standby" works for reading only because it is a standby\.$/m);
    expect(checked.stdout).toMatch(IS_STANDBY);
    expect(checked.stdout).toMatch(/^ {2}Cannot: {3}revoke access tokens, create tokens, change settings/m);
    const { standby, capabilities } = JSON.parse((await run('context', 'check', '--json')).stdout);
    expect(standby).toEqual({
      replayedUntil: expect.stringMatching(/Z$/),
      lagSeconds: expect.any(Number),
      isReceiving: true,
    });
    expect(capabilities).toMatchObject({ changes: false, deactivateUsers: false, createTokens: false });
    for (const command of [
      ['tokens', 'list'],
      ['tokens', 'list', '--json'],
      ['tokens', 'audit'],
      ['incident', 'status'],
      ['settings', 'show'],
      ['sessions', 'list'],
      ['refresh-tokens', 'list'],
      ['users', 'list'],
      ['users', 'show', 'alice'],
      ['applications', 'list'],
    ]) {
      expect((await run(...command)).stderr, command.join(' ')).toMatch(IS_STANDBY);
    }
    const audited = JSON.parse((await run('tokens', 'audit', '--json')).stdout);
    expect(audited.visibility).toMatchObject({
      kind: 'part',
      tokens: expect.stringContaining('that this standby has replayed'),
    });
  });

  it('takes no changes, and records none', async () => {
    const run = home();
    await place.tokens(1);
    await servers.caughtUp();
    const plan = await run('tokens', 'revoke', '--user', 'alice', '--dry-run');
    expect(plan.code).toBe(4);
    expect(plan.stdout).toMatch(IS_STANDBY);
    expect(plan.stderr).toMatch(
      /Without --dry-run, this would be refused: A change requires the primary database/,
    );
    for (const command of [
      ['tokens', 'revoke', '--user', 'alice', '--yes'],
      ['tokens', 'revoke', '--user', 'alice', '--plan-out', 'nowhere.json'],
      ['tokens', 'revoke', '--user', 'leaver', '--yes'],
      ['tokens', 'cleanup', '--yes'],
      ['tokens', 'create', '--user', 'alice', '--scope', 'read', '--output', 'nowhere', '--yes'],
      ['users', 'offboard', 'alice', '--yes'],
      ['incident', 'lockdown', '--user', 'alice', '--yes'],
      ['sessions', 'expire', '--user', 'alice', '--yes'],
      ['settings', 'basic-auth', 'on', '--yes'],
      ['settings', 'basic-auth', 'off', '--yes'],
    ]) {
      const { code, stderr, stdout } = await run(...command);
      expect([command.join(' '), code, stderr]).toEqual([
        command.join(' '),
        4,
        expect.stringMatching(
          /(requires the primary database|No selected token is visible).*Use the primary server's context\./s,
        ),
      ]);
      expect(stdout).not.toMatch(/Verified|already|Nothing/);
    }
    expect(JSON.parse((await run('log', 'list', '--json')).stdout)).toEqual([]);
  });

  it('is not asked whether a lockdown is in effect, while the primary says that it is not', async () => {
    const run = home();
    const locked = await run('incident', 'lockdown', '--user', 'alice', '--yes', '--context', 'primary');
    expect(locked.stdout).toMatch(/Locked down/);
    await servers.caughtUp();
    await servers.pause(true);
    try {
      await place.tokens(1);
      const there = await run('incident', 'status', '--check', '--context', 'primary');
      expect(there.stdout).toMatch(/NOT IN EFFECT/);
      const id = /inc-[0-9a-f]{8}/.exec(locked.stdout)?.[0] ?? '';
      const here = await run('incident', 'status', '--check');
      expect(here.stdout).toContain(id);
      expect(here.stdout).toMatch(/NOT CHECKED: postgres can see only tokens that this standby has replayed/);
      expect(here.stdout).not.toMatch(/in effect|Verified/i);
      expect(here.code).toBe(3);
      const { incidents } = JSON.parse((await run('incident', 'status', '--json')).stdout);
      expect(incidents).toMatchObject([{ id, holds: null, accessPaths: [] }]);
      const lift = await run('incident', 'lift', id, '--yes');
      expect(lift).toMatchObject({
        code: 4,
        stderr: expect.stringContaining('requires the primary database'),
      });
    } finally {
      await servers.pause(false);
    }
  });

  it('sends no mail to owners, who cannot be told that it was out of date', async () => {
    await using mail = await mailServer();
    const run = home(mail.url);
    await place.tokens(1);
    await place.database.execute("UPDATE auth_user SET email = username || '@example.com'");
    await servers.caughtUp();
    const planned = await run('tokens', 'notify-owners', '--dry-run');
    expect(planned).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('requires the primary database'),
    });
    expect(planned.stderr).toMatch(IS_STANDBY);
    const sent = await run('tokens', 'notify-owners', '--yes');
    expect(sent).toMatchObject({ code: 4, stderr: expect.stringContaining('requires the primary database') });
    const job = await run('jobs', 'run', 'mail');
    expect(job.code).toBe(4);
    expect(job.stderr).toContain('Emailing owners requires the primary database');
    expect(mail.mails).toEqual([]);
  });

  it.runIf(REAL_PEERS.includes('awx-24.6.1'))(
    'is investigated as of the last change that it has replayed',
    async () => {
      const real = await loadRealTables('awx-24.6.1', servers.primary);
      try {
        const run = home(undefined, real.url);
        const changed = async (field: 'limit' | 'job_tags') => {
          const [template] = await real.database.query<{ id: number }>(
            `UPDATE main_jobtemplate SET "${field}" = 'evil' WHERE unifiedjobtemplate_ptr_id =
             (SELECT min(unifiedjobtemplate_ptr_id) FROM main_jobtemplate) RETURNING unifiedjobtemplate_ptr_id AS id`,
          );
          await real.database.execute(
            `WITH made AS (
             INSERT INTO main_activitystream (operation, timestamp, changes, object1, object2, object_relationship_type,
               actor_id, action_node, setting)
             VALUES ('update', now(), $1, 'job_template', '', '', (SELECT id FROM auth_user WHERE username = 'bob'),
               'test', '{}') RETURNING id)
           INSERT INTO main_activitystream_job_template (activitystream_id, jobtemplate_id) SELECT made.id, $2 FROM made`,
            [JSON.stringify({ [field]: ['', 'evil'] }), template?.id],
          );
        };
        await changed('limit');
        await servers.caughtUp();
        await servers.pause(true);
        await changed('job_tags');
        const investigate = ['incident', 'investigate', '--user', 'bob', '--since', '1h'];
        const there = await run(...investigate, '--context', 'primary');
        expect(there.stdout).toContain('job_tags');
        const here = await run(...investigate);
        expect(here.stderr).toMatch(IS_STANDBY);
        expect(here.stdout).toContain('limit');
        expect(here.stdout).not.toContain('job_tags');
        expect(here.stdout).toContain(
          'Items shown as remaining may no longer exist on the primary, and later actions are not listed.',
        );
        expect(here.stdout).not.toMatch(/Nothing is known to remain/);
      } finally {
        await servers.pause(false);
        await real.close();
      }
    },
  );

  it('says that it receives nothing once its primary is gone', async () => {
    const run = home();
    await place.close();
    await servers.stopPrimary();
    const ended = async () => {
      const { stderr } = await run('tokens', 'list');
      return /it is not receiving any at present/.test(stderr);
    };
    await until(ended);
  });
});
