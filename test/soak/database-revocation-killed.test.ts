import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '@tokenctl/common/db/database.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { openFileLog } from '../../src/audit-log/file-log.ts';
import { planRevocation } from '../../src/operations/revocation/plan-revocation.ts';
import { revokeTokens } from '../../src/operations/revocation/revoke-tokens.ts';
import { openDatabaseTarget } from '../../src/targets/database/database-target.ts';
import { bundledProgram } from '../support/bundled-program.ts';
import { makeTables } from '../support/controller-tables.ts';
import { stillClock } from '../support/drafts.ts';
import { entriesOf } from '../support/fixture.ts';
import { addTokens, fillEstate } from '../support/token-estate.ts';

const program = bundledProgram(join(import.meta.dirname, 'revoke-database-process.ts'));
const TOKENS = 4000;
const [users, applications] = [50, 5];

const KILLS = 60;

let url: string;
let database: Database;
let lastId = 0;

beforeAll(async () => {
  url = await createDatabase(inject('postgresUrl'));
  database = await openOn(url);
  await makeTables(database);
  await fillEstate(database, { tokens: 0, users, applications });
}, 60_000);

afterAll(() => database.close());

/** Makes tokens with ids that none has had; resolves with the first and the last id. */
async function freshTokens(): Promise<{ first: number; last: number }> {
  // Emptied anew: the server of the tests does not vacuum, and every kill would take longer than the one before.
  await database.execute('TRUNCATE main_oauth2accesstoken, main_activitystream CASCADE');
  const range = { first: lastId + 1, last: lastId + TOKENS };
  lastId = range.last;
  await addTokens(database, { ...range, users, applications });
  return range;
}

/** A process that revokes everything; `started` when it begins, `ended` with its report or undefined. */
function revoking(path: string) {
  const child = spawn(process.execPath, [program.path(), url, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface(child.stdout);
  const said: string[] = [];
  const started = new Promise<void>((resolve) => {
    lines.on('line', (line) => {
      said.push(line);
      resolve();
    });
  });
  return { child, started, ended: once(child, 'close').then(() => said[1]) };
}

/** What contradicts itself in the tables: references to what is gone, refresh tokens that outlived theirs. */
async function contradictions(): Promise<readonly object[]> {
  return await database.query(
    `SELECT 'refresh' AS what, r.id FROM oauth2_provider_refreshtoken r
       WHERE r.access_token_id IS NOT NULL AND NOT EXISTS (SELECT FROM main_oauth2accesstoken t WHERE t.id = r.access_token_id)
     UNION ALL SELECT 'orphan', id FROM oauth2_provider_refreshtoken WHERE revoked IS NULL AND access_token_id IS NULL
     UNION ALL SELECT 'link', l.id FROM main_activitystream_o_auth2_access_token l
       WHERE NOT EXISTS (SELECT FROM main_oauth2accesstoken t WHERE t.id = l.oauth2accesstoken_id)
     LIMIT 10`,
  );
}

/** Ids of this range that are gone. */
async function goneOf({ first, last }: { first: number; last: number }): Promise<number[]> {
  const rows = await database.query<{ id: number }>(
    `SELECT n AS id FROM generate_series($1::int, $2::int) n
     WHERE NOT EXISTS (SELECT FROM main_oauth2accesstoken t WHERE t.id = n)`,
    [first, last],
  );
  return rows.map(({ id }) => id);
}

/** How many deletions of this range the activity stream records. */
async function deletionsTold({ first, last }: { first: number; last: number }): Promise<number> {
  const [row] = await database.query<{ told: number }>(
    `SELECT count(DISTINCT id)::int AS told FROM (
       SELECT (changes::json->>'id')::int AS id FROM main_activitystream WHERE operation = 'delete'
     ) s WHERE id BETWEEN $1 AND $2`,
    [first, last],
  );
  return row?.told ?? 0;
}

/** Every id that an intent names. */
function intended(entries: Awaited<ReturnType<typeof entriesOf>>): Set<number> {
  return new Set(
    entries
      .filter(({ kind, data }) => kind === 'intent' && data['step'] === 'batch')
      .flatMap(({ data }) => data['tokens'] as { ids: number[] }[])
      .flatMap(({ ids }) => ids),
  );
}

/** Finishes what is left, in this process. */
async function finish(path: string) {
  const target = await openDatabaseTarget({ context: 'test', connection: new Secret(url) });
  const clock = { now: () => new Date() };
  const log = openFileLog({ path, clock });
  const plan = await planRevocation({ target, selector: { all: true }, clock });
  const description = await target.describe();
  const report = await revokeTokens({ target, description, plan, log, clock, actor: { user: 'test' } });
  await Promise.all([target.close(), log.close()]);
  return report;
}

describe('a revocation at the database, killed at a random point', () => {
  let whole = 0;

  test('takes some time when it is left alone', async () => {
    await using folder = await temporaryFolder();
    await freshTokens();
    const run = revoking(join(folder.path, 'audit.jsonl'));
    await run.started;
    const started = performance.now();
    expect(JSON.parse((await run.ended) ?? '')).toMatchObject({ revoked: TOKENS, verified: true });
    whole = performance.now() - started;
  }, 120_000);

  test(`${KILLS} times, is finished by the next run, with every token that is gone in an intent`, async () => {
    const caught = { early: 0, halfway: 0, late: 0 };
    for (let kill = 0; kill < KILLS; kill++) {
      await using folder = await temporaryFolder();
      const path = join(folder.path, 'audit.jsonl');
      const range = await freshTokens();
      const run = revoking(path);
      await run.started;
      await pause(Math.random() * whole);
      run.child.kill('SIGKILL');
      await run.ended;
      await allEnded();
      const gone = await goneOf(range);
      const when = gone.length === 0 ? 'early' : gone.length === TOKENS ? 'late' : 'halfway';
      caught[when] += 1;
      // Other work on the machine makes the next run longer or shorter.
      whole *= { early: 1.1, halfway: 1, late: 0.9 }[when];
      expect(await contradictions()).toEqual([]);
      expect(await deletionsTold(range)).toBe(gone.length);
      const log = openFileLog({ path, clock: stillClock });
      expect(await log.verify()).toMatchObject({ break: null });
      const named = intended(await entriesOf(log));
      expect(gone.filter((id) => !named.has(id))).toEqual([]);
      const report = await finish(path);
      expect(report).toMatchObject({
        revoked: TOKENS - gone.length,
        failed: [],
        stillAlive: [],
        verified: true,
      });
      expect((await entriesOf(log)).at(-1)?.open).toEqual([]);
      expect(await contradictions()).toEqual([]);
    }
    expect(caught.halfway).toBeGreaterThan(KILLS / 4);
  }, 3_600_000);
});

/** Waits until the server has noticed that the killed process is gone: what it was doing is done or undone. */
async function allEnded(): Promise<void> {
  for (;;) {
    const [row] = await database.query<{ busy: number }>(
      "SELECT count(*)::int AS busy FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tokenctl'",
    );
    if (row?.busy === 0) return;
    await pause(5);
  }
}
