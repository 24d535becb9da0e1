import { setTimeout as pause } from 'node:timers/promises';
import { Secret } from '@tokenctl/common/secret.ts';
import { startTestService } from '@tokenctl/service/testing/service.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import pg from 'pg';
import { expect, inject, onTestFinished, test } from 'vitest';
import { snapshotFiles } from '../../src/app/snapshot-file.ts';
import { openFileLog } from '../../src/audit-log/file-log.ts';
import { type AccessPath, leftOpen } from '../../src/domain/access.ts';
import { lockDown } from '../../src/operations/incident/lock-down.ts';
import { offboardUsers, planUserOffboarding } from '../../src/operations/incident/offboard-user.ts';
import { planLockdown } from '../../src/operations/incident/plan-lockdown.ts';
import { openDatabaseTarget } from '../../src/targets/database/database-target.ts';
import { NO_MEASURE } from '../support/incident-fixture.ts';
import { fillForLoad, PersistentUser } from '../support/incident-load.ts';

const ROUNDS = inject('endings');
const clock = { now: () => new Date() };

/**
 * A request as a controller runs it, in one transaction: it authenticates, takes its time, and makes a token.
 * @returns Whether the user was active.
 */
async function slowRequest(client: pg.Client, username: string): Promise<boolean> {
  await client.query('BEGIN');
  const { rows } = await client.query<{ id: number }>(
    'SELECT id FROM auth_user WHERE username = $1 AND is_active',
    [username],
  );
  await pause(Math.random() * 100);
  if (rows[0] !== undefined)
    await client.query(
      `INSERT INTO main_oauth2accesstoken (token, expires, scope, user_id)
       VALUES (gen_random_uuid()::text, now() + interval '1000 years', 'write', $1)`,
      [rows[0].id],
    );
  // Often longer than the whole act takes.
  await pause(Math.random() * 3000);
  await client.query('COMMIT');
  return rows[0] !== undefined;
}

async function repeatRequests(url: string, username: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    while (await slowRequest(client, username));
  } finally {
    await client.end();
  }
}

test(`after ${ROUNDS} lockdowns and offboardings under load no credential is accepted that is said to have ended`, async () => {
  const url = await createDatabase(inject('postgresUrl'));
  const service = await startTestService({ database: { url: new Secret(url) } });
  onTestFinished(() => service.close());
  await fillForLoad(service.database, { users: ROUNDS, tokens: ROUNDS });
  await using folder = await temporaryFolder();
  const target = await openDatabaseTarget({ context: 'test', connection: new Secret(url) });
  onTestFinished(() => target.close());
  const log = openFileLog({ path: `${folder.path}/audit.jsonl`, clock });
  const common = { target, description: await target.describe(), log, clock, actor: { user: 'test' } };
  const files = snapshotFiles(folder.path);

  const end = async (username: string, round: number): Promise<readonly AccessPath[]> => {
    if (round % 2 === 0) {
      const plan = await planUserOffboarding({ ...common, users: [username] });
      return (await offboardUsers({ ...common, plan })).accessPaths;
    }
    const scope = { kind: 'users', names: [username] } as const;
    const measures = { ...NO_MEASURE, deactivate: true };
    const plan = await planLockdown({ ...common, scope, measures, lasts: null });
    return (await lockDown({ ...common, plan, files })).accessPaths;
  };

  let [ended, tried] = [0, 0];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const username = `load-${round}`;
    const user = await PersistentUser.start(service.url, username);
    const requests = Promise.all([repeatRequests(url, username), repeatRequests(url, username)]);
    await pause(100 + Math.random() * 200);
    const paths = await end(username, round);
    await requests;
    await user.stop();
    if (leftOpen(paths).length > 0) continue;
    ended += 1;
    tried += user.held;
    expect({ round, accepted: await user.accepted() }).toEqual({ round, accepted: [] });
    const rows = await service.database.query(
      `SELECT t.id FROM main_oauth2accesstoken t JOIN auth_user u ON u.id = t.user_id WHERE u.username = $1`,
      [username],
    );
    expect({ round, rows }).toEqual({ round, rows: [] });
  }
  expect(ended).toBe(ROUNDS);
  expect(tried).toBeGreaterThan(ROUNDS * 3);
});
