import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import type { Database } from '../../../src/db/database.ts';
import { Secret } from '../../../src/domain/secret.ts';
import { incidentStatus } from '../../../src/operations/incident/incident-status.ts';
import type { AuthenticationSettings } from '../../../src/operations/ports/target.ts';
import type { RunningService } from '../../../src/service/server.ts';
import { openDatabaseTarget } from '../../../src/targets/database/database-target.ts';
import { openOn } from '../../support/databases.ts';
import { KILL_POINTS } from '../../support/dying.ts';
import { createDatabase } from '../../support/embedded-postgres.ts';
import { startTestService } from '../../support/service.ts';
import { workOn } from './incident-work.ts';

const PROGRAM = join(import.meta.dirname, 'incident-process.ts');
const clock = { now: () => new Date() };

let url: string;
let service: RunningService;
let database: Database;

beforeAll(async () => {
  url = await createDatabase(inject('postgresUrl'));
  service = await startTestService('PostgreSQL', { database: { url: new Secret(url) } });
  database = await openOn(url);
  await database.execute(
    `INSERT INTO auth_user (username, password) SELECT 'user ' || n, '!' FROM generate_series(1, 4) n`,
  );
  await database.execute(
    `INSERT INTO main_oauth2application (client_id, client_type, authorization_grant_type, client_secret, name)
     VALUES ('chat', 'confidential', 'password', 'x', 'chatops')`,
  );
}, 60_000);

afterAll(async () => {
  await database.close();
  await service.close();
});

/** Puts back what there was: tokens, refresh tokens with and without one, sessions, a user who is deactivated. */
async function reset(): Promise<void> {
  await database.execute("UPDATE auth_user SET is_active = username <> 'user 4'");
  await database.execute('DELETE FROM conf_setting');
  await database.execute('DELETE FROM oauth2_provider_refreshtoken');
  await database.execute('DELETE FROM main_activitystream_o_auth2_access_token');
  await database.execute('DELETE FROM main_oauth2accesstoken');
  await database.execute(
    `WITH access AS (
       INSERT INTO main_oauth2accesstoken (token, expires, scope, user_id, application_id)
       SELECT encode(sha256(('access ' || u.id || n)::bytea), 'hex'), now() + interval '1 day', 'write', u.id, a.id
       FROM auth_user u, main_oauth2application a, generate_series(1, 3) n RETURNING id, user_id, application_id, token)
     INSERT INTO oauth2_provider_refreshtoken (token, user_id, application_id, access_token_id)
     SELECT encode(sha256(('refresh ' || token)::bytea), 'hex'), user_id, application_id,
       CASE WHEN id % 3 > 0 THEN id END FROM access`,
  );
  await database.execute('DELETE FROM main_usersessionmembership');
  await database.execute('DELETE FROM django_session');
  await database.execute(
    `WITH session AS (
       INSERT INTO django_session (session_key, session_data, expire_date)
       SELECT 'session ' || id, '{}', now() + interval '1 hour' FROM auth_user RETURNING session_key)
     INSERT INTO main_usersessionmembership (session_id, user_id, created)
     SELECT s.session_key, u.id, now() FROM session s JOIN auth_user u ON s.session_key = 'session ' || u.id`,
  );
}

beforeEach(reset);

/** A log of this test's own. */
function logPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-incident-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'audit.jsonl');
}

/** Runs a process to its end; resolves with what it printed, empty where it died. */
async function run(path: string, ...args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [PROGRAM, url, path, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  await once(child, 'close');
  return said;
}

/** Everything that a lockdown is about. */
interface State {
  readonly settings: AuthenticationSettings;
  readonly active: readonly string[];
  readonly tokens: number;
  readonly refresh: number;
  readonly sessions: number;
}

async function stateOf(
  path: string,
): Promise<{ state: State; open: Awaited<ReturnType<typeof incidentStatus>>['incidents'] }> {
  await allEnded();
  const target = await openDatabaseTarget({ context: 'test', connection: new Secret(url) });
  const log = openFileLog({ path, clock });
  const description = await target.describe();
  const { incidents: open } = await incidentStatus({ target, description, log, clock, all: false });
  const settings = await target.settings.read();
  await Promise.all([target.close(), log.close()]);
  const [counts] = await database.query<{ tokens: number; refresh: number; sessions: number }>(
    `SELECT (SELECT count(*)::int FROM main_oauth2accesstoken) AS tokens,
       (SELECT count(*)::int FROM oauth2_provider_refreshtoken WHERE revoked IS NULL) AS refresh,
       (SELECT count(*)::int FROM django_session) AS sessions`,
  );
  const active = await database.query<{ username: string }>(
    'SELECT username FROM auth_user WHERE is_active ORDER BY username',
  );
  const { tokens = 0, refresh = 0, sessions = 0 } = counts ?? {};
  return {
    state: { settings, active: active.map(({ username }) => username), tokens, refresh, sessions },
    open,
  };
}

/** Waits until the server has noticed that a killed process is gone. */
async function allEnded(): Promise<void> {
  for (;;) {
    const [row] = await database.query<{ busy: number }>(
      "SELECT count(*)::int AS busy FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tokenctl'",
    );
    if (row?.busy === 0) return;
    await pause(5);
  }
}

/** What differs between two states, by the names that incidents use. */
function differences(one: State, other: State): string[] {
  const settings = (['AUTH_BASIC_ENABLED', 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS'] as const).filter(
    (name) => one.settings[name] !== other.settings[name],
  );
  const lifetimes = Object.entries(one.settings.OAUTH2_PROVIDER ?? {}).filter(
    ([name, value]) =>
      value !== Object.entries(other.settings.OAUTH2_PROVIDER ?? {}).find(([each]) => each === name)?.[1],
  );
  const users = one.active.filter((name) => !other.active.includes(name));
  return [...settings, ...lifetimes.map(([name]) => `OAUTH2_PROVIDER.${name}`), ...users];
}

/** The same work in this process, left alone. */
async function finish(path: string, incident?: string): Promise<void> {
  const target = await openDatabaseTarget({ context: 'test', connection: new Secret(url) });
  const log = openFileLog({ path, clock });
  await workOn({ target, log, path }, incident);
  await Promise.all([target.close(), log.close()]);
}

const LOCKED = { tokens: 0, refresh: 0, sessions: 0, active: ['admin'] };
const CLEARED = { tokens: 0, refresh: 0, sessions: 0 };

test('a lockdown left alone locks everything, and its lift brings it back', async () => {
  const path = logPath();
  const before = await stateOf(path);
  await finish(path);
  const whole = await stateOf(path);
  expect(whole.state).toMatchObject(LOCKED);
  expect(whole.open).toMatchObject([{ state: 'locked', holds: true }]);
  await finish(path, whole.open[0]?.id ?? '');
  expect((await stateOf(path)).state).toEqual({ ...before.state, ...CLEARED });
});

describe.each(KILL_POINTS)('killed at every point %s', (kind) => {
  test('a lockdown is remembered whole, and the next run ends as one that was left alone', {
    timeout: 300_000,
  }, async () => {
    const before = await stateOf(logPath());
    let deaths = 0;
    for (let point = 1; ; point += 1) {
      const path = logPath();
      await reset();
      if ((await run(path, kind, String(point))) === 'ended') break;
      deaths += 1;
      const killed = await stateOf(path);
      const held = killed.open.flatMap(({ values }) => values.map(({ name }) => name));
      expect(differences(before.state, killed.state).filter((name) => !held.includes(name))).toEqual([]);
      await finish(path);
      const whole = await stateOf(path);
      expect(whole.state).toMatchObject(LOCKED);
      expect(whole.open).toMatchObject([{ state: 'locked', holds: true }]);
      await finish(path, whole.open[0]?.id ?? '');
      const lifted = await stateOf(path);
      expect(lifted.state).toEqual({ ...before.state, ...CLEARED });
      expect(lifted.open).toEqual([]);
    }
    expect(deaths).toBeGreaterThan(10);
  });

  test('a lift is finished by the next run', { timeout: 300_000 }, async () => {
    const before = await stateOf(logPath());
    let deaths = 0;
    for (let point = 1; ; point += 1) {
      const path = logPath();
      await reset();
      await finish(path);
      const [incident] = (await stateOf(path)).open;
      const id = incident?.id ?? '';
      if ((await run(path, kind, String(point), id)) === 'ended') break;
      deaths += 1;
      await finish(path, id);
      const lifted = await stateOf(path);
      expect(lifted.state).toEqual({ ...before.state, ...CLEARED });
      expect(lifted.open).toEqual([]);
    }
    expect(deaths).toBeGreaterThan(2);
  });
});
