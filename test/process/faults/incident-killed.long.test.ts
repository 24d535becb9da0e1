import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Secret } from '@tokenctl/common/secret.ts';
import { copyServiceTemplate } from '@tokenctl/service/testing/service-template.ts';
import { openOn } from '@tokenctl/testing/databases.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { until } from '@tokenctl/testing/until.ts';
import { describe, inject, test } from 'vitest';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { incidentStatus } from '../../../src/operations/incident/incident-status.ts';
import type { AuthenticationSettings } from '../../../src/operations/ports/target-parts.ts';
import { openDatabaseTarget } from '../../../src/targets/database/database-target.ts';
import { bundledProgram } from '../../support/bundled-program.ts';
import { KILL_POINTS } from '../../support/dying.ts';
import { roleWith } from '../../support/test-database.ts';
import { ITEM, type WORKS, workOn } from './incident-work.ts';

const program = bundledProgram(join(import.meta.dirname, 'incident-process.ts'));
const clock = { now: () => new Date() };

/** Everything that a lockdown is about. */
interface State {
  readonly settings: AuthenticationSettings;
  readonly active: readonly string[];
  readonly tokens: number;
  readonly refresh: number;
  readonly sessions: number;
}

/** The database of a service, of one test. */
interface Estate extends AsyncDisposable {
  /** Restores tokens, refresh tokens with and without one, sessions, and the user who is deactivated. */
  reset(): Promise<void>;
  /** Runs a process to its end; resolves with what it printed, empty where it died. */
  run(path: string, ...args: readonly string[]): Promise<string>;
  /** Does the same work in this process, uninterrupted. */
  finish(path: string, incident?: string, work?: (typeof WORKS)[number]): Promise<void>;
  /** Reads the state, once the server has noticed that a killed process is gone. */
  state(
    path: string,
  ): Promise<{
    readonly state: State;
    readonly open: Awaited<ReturnType<typeof incidentStatus>>['incidents'];
  }>;
}

async function createEstate(): Promise<Estate> {
  const url = await copyServiceTemplate(inject('postgresUrl'), inject('serviceTemplate'));
  const database = await openOn(url);
  const target = await openDatabaseTarget({ context: 'test', connection: new Secret(url) });
  // The process that is killed has a role of its own: that is how the server names its connections.
  const place = await roleWith({ database, url }, (role) => [`ALTER ROLE ${role} SUPERUSER`]);
  const role = new URL(place).username;
  await database.execute(
    `INSERT INTO auth_user (username, password) SELECT 'user ' || n, '!' FROM generate_series(1, 4) n`,
  );
  await database.execute(
    `INSERT INTO main_oauth2application (client_id, client_type, authorization_grant_type, client_secret, name)
     VALUES ('chat', 'confidential', 'password', 'x', 'chatops')`,
  );
  return {
    async reset() {
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
    },
    async run(path, ...args) {
      const child = spawn(process.execPath, [program.path(), place, path, ...args], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [printed] = await Promise.all([text(child.stdout), once(child, 'close')]);
      return printed;
    },
    async finish(path, incident, work) {
      const log = openFileLog({ path, clock });
      await workOn({ target, log, path }, incident, work);
      await log.close();
    },
    async state(path) {
      const busy = () => database.query('SELECT FROM pg_stat_activity WHERE usename = $1', [role]);
      await until(busy, ({ length }) => length === 0);
      const log = openFileLog({ path, clock });
      const description = await target.describe();
      const { incidents: open } = await incidentStatus({ target, description, log, clock, all: false });
      const settings = await target.settings.read();
      await log.close();
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
    },
    async [Symbol.asyncDispose]() {
      await target.close();
      await database.close();
    },
  };
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

const LOCKED = { tokens: 0, refresh: 0, sessions: 0, active: ['admin'] };
const CLEARED = { tokens: 0, refresh: 0, sessions: 0 };

test('an uninterrupted lockdown locks everything, and its lift restores it', async ({ expect }) => {
  await using at = await createEstate();
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'audit.jsonl');
  await at.reset();
  const before = await at.state(path);
  await at.finish(path);
  const whole = await at.state(path);
  expect(whole.state).toMatchObject(LOCKED);
  expect(whole.open).toMatchObject([{ state: 'locked', holds: true }]);
  await at.finish(path, whole.open[0]?.id ?? 'no incident');
  expect((await at.state(path)).state).toEqual({ ...before.state, ...CLEARED });
});

// Tests of a group run at the same time, each on a database of its own.
describe('a lockdown', () => {
  test.concurrent.for(KILL_POINTS)(
    'killed at every point %s is recorded whole, and the next run ends as an uninterrupted one',
    async (kind, { expect }) => {
      await using at = await createEstate();
      let before: State | undefined;
      let deaths = 0;
      for (let point = 1; ; point += 1) {
        await using folder = await temporaryFolder();
        const path = join(folder.path, 'audit.jsonl');
        await at.reset();
        before ??= (await at.state(path)).state;
        if ((await at.run(path, kind, String(point))) === 'ended') break;
        deaths += 1;
        const killed = await at.state(path);
        const held = killed.open.flatMap(({ values }) => values.map(({ name }) => name));
        expect(differences(before, killed.state).filter((name) => !held.includes(name))).toEqual([]);
        await at.finish(path);
        const whole = await at.state(path);
        expect(whole.state).toMatchObject(LOCKED);
        expect(whole.open).toMatchObject([{ state: 'locked', holds: true }]);
        await at.finish(path, whole.open[0]?.id ?? 'no incident');
        const lifted = await at.state(path);
        expect(lifted.state).toEqual({ ...before, ...CLEARED });
        expect(lifted.open).toEqual([]);
      }
      expect(deaths).toBeGreaterThan(10);
    },
  );
});

describe('a lift', () => {
  test.concurrent.for(KILL_POINTS)(
    'killed at every point %s is finished by the next run',
    async (kind, { expect }) => {
      await using at = await createEstate();
      let before: State | undefined;
      let deaths = 0;
      for (let point = 1; ; point += 1) {
        await using folder = await temporaryFolder();
        const path = join(folder.path, 'audit.jsonl');
        await at.reset();
        before ??= (await at.state(path)).state;
        await at.finish(path);
        const [incident] = (await at.state(path)).open;
        const id = incident?.id ?? 'no incident';
        if ((await at.run(path, kind, String(point), id)) === 'ended') break;
        deaths += 1;
        await at.finish(path, id);
        const lifted = await at.state(path);
        expect(lifted.state).toEqual({ ...before, ...CLEARED });
        expect(lifted.open).toEqual([]);
      }
      expect(deaths).toBeGreaterThan(2);
    },
  );
});

describe('a lift that leaves users deactivated, or restores what such a lift left', () => {
  const cases = KILL_POINTS.flatMap((kind) =>
    (['keep deactivated', 'restore'] as const).map((work) => [kind, work] as const),
  );
  test.concurrent.for(cases)(
    'killed at every point %s is finished by the next run, with its choice: %s',
    async ([kind, work], { expect }) => {
      await using at = await createEstate();
      await at.reset();
      let deaths = 0;
      for (let point = 1; ; point += 1) {
        await using folder = await temporaryFolder();
        const path = join(folder.path, 'audit.jsonl');
        await at.reset();
        const before = { ...(await at.state(path)).state, ...CLEARED };
        await at.finish(path);
        const id = (await at.state(path)).open[0]?.id ?? 'no incident';
        if (work === 'restore') await at.finish(path, id, 'keep deactivated');
        if ((await at.run(path, kind, String(point), id, work)) === 'ended') break;
        deaths += 1;
        await at.state(path);
        // Before its first entry nothing is known of the choice: then it is made again.
        await at.finish(path, id, kind === 'before an entry' && point === 1 ? work : 'lift');
        const active = work === 'restore' ? before.active : LOCKED.active;
        expect(await at.state(path)).toEqual({ state: { ...before, active }, open: [] });
        await at.finish(path, id, 'restore');
        expect((await at.state(path)).state).toEqual(before);
        expect(await openFileLog({ path, clock }).verify()).toMatchObject({ break: null, tornBytes: 0 });
      }
      expect(deaths).toBeGreaterThan(1);
    },
  );
});

describe('a mark that an item was resolved manually', () => {
  test.for(['before an entry', 'after an entry'] as const)(
    'of a process that is killed %s is there or not, and there after the next run',
    async (kind, { expect }) => {
      await using at = await createEstate();
      await using folder = await temporaryFolder();
      const path = join(folder.path, 'audit.jsonl');
      await at.reset();
      await at.finish(path);
      const { state, open } = await at.state(path);
      const id = open[0]?.id ?? 'no incident';
      const marked = async () => {
        const log = openFileLog({ path, clock });
        const entries = await Array.fromAsync(log.entries());
        await log.close();
        return entries.flatMap(({ operation, data }) =>
          operation === 'incident.by-hand' ? [data['items']] : [],
        );
      };
      expect(await at.run(path, kind, '1', id, 'mark by hand')).toBe('');
      expect(await marked()).toEqual(kind === 'before an entry' ? [] : [[ITEM]]);
      await at.finish(path, id, 'mark by hand');
      expect(new Set((await marked()).flat())).toEqual(new Set([ITEM]));
      // Nothing but the record.
      expect(await at.state(path)).toEqual({ state, open });
    },
  );
});
