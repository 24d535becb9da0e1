import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NO_ANSWER_MS } from '@tokenctl/testing/limits.ts';
import { kinds } from '@tokenctl/testing/runs.ts';
import { until } from '@tokenctl/testing/until.ts';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { snapshotFiles } from '../../../../src/app/snapshot-file.ts';
import { openFileLog } from '../../../../src/audit-log/file-log.ts';
import type { AccessPath } from '../../../../src/domain/access.ts';
import { incidentStatus } from '../../../../src/operations/incident/incident-status.ts';
import { lockDown } from '../../../../src/operations/incident/lock-down.ts';
import { offboardUsers, planUserOffboarding } from '../../../../src/operations/incident/offboard-user.ts';
import { planLockdown } from '../../../../src/operations/incident/plan-lockdown.ts';
import { incidentFixture, NO_MEASURE } from '../../../support/incident-fixture.ts';
import { loadRealTables, type Peer, REAL_PEERS } from '../../../support/real-tables.ts';

const PEERS = REAL_PEERS.filter((peer) => peer === 'awx-24.6.1' || peer === 'gateway');
const clock = { now: () => new Date() };
/** The question that the target asks again and again while a request is open. */
const WAITS = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND query LIKE '%FROM pg_locks l JOIN pg_stat_activity%'`;

test.runIf(PEERS.length === 0)('skipped: the tables of real controllers are absent', ({ skip }) => skip());

/** The real tables of a peer, and a request that has made a token for a user and has not committed it. */
async function withRequest(peer: Peer, { transactionTimeoutMs }: { transactionTimeoutMs: number }) {
  const real = await loadRealTables(peer);
  onTestFinished(() => real.close());
  const target = await real.open({ transactionTimeoutMs });
  const table = peer.startsWith('awx-') ? 'main_oauth2accesstoken' : 'dab_oauth2_provider_oauth2accesstoken';
  const user = peer.startsWith('awx-') ? 'auth_user' : 'aap_gateway_api_user';
  const request = new pg.Client({ connectionString: real.url, application_name: 'uwsgi' });
  await request.connect();
  // The database is dropped with the server, and a test may have ended the request.
  onTestFinished(() => request.end().catch(() => undefined));
  await request.query('BEGIN');
  const columns = await request.query<{ name: string }>(
    `SELECT attname AS name FROM pg_attribute
     WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped
       AND attname NOT IN ('id', 'token', 'token_checksum', 'source_refresh_token_id', 'id_token_id')`,
    [table],
  );
  const names = columns.rows.map(({ name }) => name).join(', ');
  const mint = () =>
    request.query(
      `INSERT INTO ${table} (token, ${names}) SELECT gen_random_uuid()::text, ${names} FROM ${table}
       WHERE user_id = (SELECT id FROM ${user} WHERE username = 'alice') AND application_id IS NULL LIMIT 1`,
    );
  await mint();
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-open-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const log = openFileLog({ path: join(folder, 'audit.jsonl'), clock });
  const description = await target.describe();
  const common = { target, description, log, clock, actor: { user: 'test' } };
  return {
    url: real.url,
    target,
    request,
    /** Resolves once the target waits for the request: it has listed the tokens then. */
    isAwaited: () => until(async () => (await real.database.query(WAITS)).length > 0),
    tokens: async () =>
      (
        await real.database.query<{ id: number }>(
          `SELECT id FROM ${table} WHERE user_id = (SELECT id FROM ${user} WHERE username = 'alice')`,
        )
      ).length,
    offboard: async () =>
      offboardUsers({ ...common, plan: await planUserOffboarding({ ...common, users: ['alice'] }) }),
    lockDown: async () => {
      const measures = { ...NO_MEASURE, deactivate: true };
      const scope = { kind: 'users', names: ['alice'] } as const;
      const plan = await planLockdown({ ...common, scope, measures, lasts: null });
      return lockDown({ ...common, plan, files: snapshotFiles(folder) });
    },
    status: async () => (await incidentStatus({ ...common, all: false })).incidents,
  };
}

function requestsOf(paths: readonly AccessPath[] | undefined): AccessPath | undefined {
  return paths?.find(({ path }) => path === 'requests');
}

test.each(kinds(PEERS))(
  '%s: a token that is committed after the first listing is revoked by an offboarding',
  async (peer) => {
    const { request, isAwaited, offboard, tokens } = await withRequest(peer, {
      transactionTimeoutMs: 600_000,
    });
    const committed = isAwaited().then(() => request.query('COMMIT'));
    const report = await offboard();
    await committed;
    expect(await tokens()).toBe(0);
    expect(requestsOf(report.accessPaths)).toMatchObject({
      state: 'closed',
      basis: 'checked',
      covered: true,
    });
  },
);

test.each(kinds(PEERS))(
  '%s: a token that is committed after the first listing is revoked by a lockdown',
  async (peer) => {
    const {
      request,
      isAwaited,
      lockDown: lock,
      tokens,
    } = await withRequest(peer, { transactionTimeoutMs: 600_000 });
    const committed = isAwaited().then(() => request.query('COMMIT'));
    const report = await lock();
    await committed;
    expect(await tokens()).toBe(0);
    expect(report.result).toBe('locked');
    expect(requestsOf(report.accessPaths)).toMatchObject({ state: 'closed', basis: 'checked' });
  },
);

test.runIf(PEERS.includes('awx-24.6.1'))(
  'what is still open when the time is over is not checked, and a second run ends what it made',
  async () => {
    const at = await withRequest('awx-24.6.1', { transactionTimeoutMs: NO_ANSWER_MS });
    const first = await at.offboard();
    expect(first.result).toBe('partly');
    expect(requestsOf(first.accessPaths)).toMatchObject({
      state: 'not_checked',
      basis: 'not_checked',
      count: 1,
    });
    expect(requestsOf(first.accessPaths)?.how).toMatch(/uwsgi/);
    await at.request.query('COMMIT');
    expect(await at.tokens()).toBe(1);
    const second = await at.offboard();
    expect(requestsOf(second.accessPaths)?.state).toBe('closed');
    expect(await at.tokens()).toBe(0);
  },
);

test.runIf(PEERS.includes('awx-24.6.1'))(
  'a transaction from before that has written nothing yet is waited for as well',
  { tags: ['long'] },
  async () => {
    const at = await withRequest('awx-24.6.1', { transactionTimeoutMs: NO_ANSWER_MS });
    await at.request.query('ROLLBACK');
    await at.request.query('BEGIN');
    await at.request.query("SELECT is_active FROM auth_user WHERE username = 'alice'");
    expect(requestsOf((await at.offboard()).accessPaths)?.state).toBe('not_checked');
  },
);

test.runIf(PEERS.includes('awx-24.6.1'))(
  'a transaction of a role that may write nothing is not waited for, unless it can become one that may',
  { tags: ['long'] },
  async () => {
    const at = await withRequest('awx-24.6.1', { transactionTimeoutMs: NO_ANSWER_MS });
    await at.request.query('ROLLBACK');
    const role = `backup_${randomBytes(4).toString('hex')}`;
    await at.request.query(`CREATE ROLE ${role} LOGIN PASSWORD 'backup' IN ROLE pg_read_all_data`);
    await at.request.query(`CREATE ROLE ${role}_writer NOLOGIN`);
    await at.request.query(`GRANT INSERT ON main_oauth2accesstoken TO ${role}_writer`);
    const url = new URL(at.url);
    [url.username, url.password] = [role, 'backup'];
    const backup = new pg.Client({ connectionString: url.href, application_name: 'pg_dump' });
    await backup.connect();
    onTestFinished(() => backup.end().catch(() => undefined));
    await backup.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    await backup.query('SELECT count(*) FROM main_oauth2accesstoken');
    expect(requestsOf((await at.offboard()).accessPaths)?.state).toBe('closed');
    await at.request.query(`GRANT ${role}_writer TO ${role}`);
    expect(requestsOf((await at.offboard()).accessPaths)).toMatchObject({ state: 'not_checked', count: 1 });
    await at.request.query(`REVOKE ${role}_writer FROM ${role}`);
    expect(requestsOf((await at.offboard()).accessPaths)?.state).toBe('closed');
    await at.request.query(
      'CREATE FUNCTION mint() RETURNS void LANGUAGE sql SECURITY DEFINER AS $$ DELETE FROM django_session $$',
    );
    expect(requestsOf((await at.offboard()).accessPaths)?.state).toBe('not_checked');
  },
);

test.runIf(PEERS.includes('awx-24.6.1'))(
  'the status of a lockdown is not in effect for certain while a transaction from before is open',
  async () => {
    const at = await withRequest('awx-24.6.1', { transactionTimeoutMs: NO_ANSWER_MS });
    const report = await at.lockDown();
    expect(requestsOf(report.accessPaths)?.state).toBe('not_checked');
    const [open] = await at.status();
    expect(requestsOf(open?.accessPaths)).toMatchObject({ state: 'not_checked', count: 1 });
    await at.request.query('COMMIT');
    const [after] = await at.status();
    expect(requestsOf(after?.accessPaths)?.state).toBe('closed');
    expect(after).toMatchObject({ holds: false, aliveCount: 1 });
    await at.lockDown();
    expect((await at.status())[0]).toMatchObject({ holds: true, aliveCount: 0 });
  },
);

test('over REST a request of before can make a token until a time that the incident keeps', async () => {
  await using at = await incidentFixture('rest');
  const { accessPaths } = await at.lockDown();
  const requests = requestsOf(accessPaths);
  const until = requests?.until ?? '';
  expect(requests).toMatchObject({ state: 'not_checked', covered: true });
  expect(Date.parse(until) - at.common.clock.now().getTime()).toBe(120_000);
  const lookedAt = async (now: Date, wait?: (until: Date) => Promise<void>) => {
    const time = { now };
    const status = await incidentStatus({
      ...at.common,
      ...{ clock: { now: () => time.now }, all: false },
      wait:
        wait &&
        (async (end) => {
          await wait(end);
          time.now = end;
        }),
    });
    return requestsOf(status.incidents[0]?.accessPaths);
  };
  expect(await lookedAt(at.common.clock.now())).toMatchObject({ state: 'not_checked', until });
  expect(await lookedAt(new Date(Date.parse(until) - 1))).toMatchObject({ state: 'not_checked', until });
  expect(await lookedAt(new Date(until))).toMatchObject({ state: 'closed' });
  const waited: string[] = [];
  const wait = (end: Date) => Promise.resolve(void waited.push(end.toISOString()));
  expect(await lookedAt(at.common.clock.now(), wait)).toMatchObject({ state: 'closed' });
  expect(waited).toEqual([until]);
});
