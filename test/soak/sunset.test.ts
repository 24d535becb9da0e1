import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Database } from '@tokenctl/common/db/database.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { leaseEnd } from '../../jobs/lease-end.ts';
import { ownerNotices } from '../../jobs/owner-notices.ts';
import { openFileLog } from '../../src/audit-log/file-log.ts';
import { isOpen } from '../../src/domain/leases.ts';
import { defaultTemplate } from '../../src/domain/owner-mail.ts';
import { dateOf } from '../../src/domain/sunset.ts';
import { openMailer } from '../../src/notify/email.ts';
import { extendLease, planExtension, readLeases } from '../../src/operations/journal/recorded-leases.ts';
import { writeRowEnds } from '../../src/operations/leases/row-ends.ts';
import { releaseLeases } from '../../src/operations/sunset/sunset.ts';
import { openDatabaseTarget } from '../../src/targets/database/database-target.ts';
import { bundledProgram } from '../support/bundled-program.ts';
import { makeTables } from '../support/controller-tables.ts';
import { mailServer } from '../support/mail-server.ts';
import { fillEstate } from '../support/token-estate.ts';
import { unusedFiles, unusedServices } from '../support/unused-files.ts';

const [TOKENS, OWNERS, PER_DAY] = [20_000, 800, 700];
/** The tokens of the first owner: more than may end on one day. */
const MANY = 1200;
const START = Date.parse('2026-01-05T09:00:00Z');
const [DAY_MS, HOUR_MS] = [86_400_000, 3_600_000];
/** After how many owners the process is killed, each time. */
const KILLED_AFTER = [1, 40, 200, 7, 90];

const program = bundledProgram(join(import.meta.dirname, 'sunset-process.ts'));
let url: string;
let database: Database;

beforeAll(async () => {
  url = await createDatabase(inject('postgresUrl'));
  database = await openOn(url);
  await makeTables(database);
  await fillEstate(database, { tokens: 0, users: OWNERS });
  await database.execute("UPDATE auth_user SET email = username || '@example.org'");
  await database.execute(
    `INSERT INTO main_oauth2accesstoken (id, token, expires, scope, created, updated, description, last_used,
       application_id, user_id, modified)
     SELECT n, encode(sha256(n::text::bytea), 'hex'), timestamptz '3026-01-01', 'write', timestamptz '2025-01-01', now(), '',
       CASE WHEN n % 3 = 0 THEN timestamptz '2026-01-04' - make_interval(hours => n % 2000) END, NULL,
       CASE WHEN n <= $2::int THEN 1 ELSE 1 + n % $3::int END, now() FROM generate_series(1, $1::int) n`,
    [TOKENS, MANY, OWNERS],
  );
});

afterAll(() => database.close());

/** Records ends in a process of its own, until so many owners have one; whether it was killed then. */
async function record(path: string, owners: number): Promise<boolean> {
  const args = [program.path(), url, path, new Date(START).toISOString(), String(PER_DAY), String(owners)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'close');
  return code === null;
}

test('20,000 tokens of 800 owners get ends in spite of kills, their owners mails, and the job ends them', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'audit.jsonl');
  let at = new Date(START);
  const clock = { now: () => at };
  const log = openFileLog({ path, clock });
  const target = await openDatabaseTarget({ context: 'test', connection: new Secret(url) });
  const description = await target.describe();
  const common = { target, description, log, clock, actor: { user: 'root' } };
  const leases = () => readLeases(log, description);

  for (const owners of KILLED_AFTER) expect(await record(path, owners)).toBe(true);
  expect(await record(path, OWNERS)).toBe(false);
  const made = await leases();
  expect([made.length, new Set(made.map(({ token }) => token?.id)).size]).toEqual([TOKENS, TOKENS]);

  const owned = Map.groupBy(made, ({ owner }) => owner.username);
  expect(owned.size).toBe(OWNERS);
  for (const [owner, of] of owned) expect(new Set(of.map(({ until }) => until)).size, owner).toBe(1);
  const days = Map.groupBy(made, ({ until }) => dateOf(new Date(until)));
  for (const [day, of] of days) {
    const alone = new Set(of.map(({ owner }) => owner.username)).size === 1;
    expect(alone || of.length <= PER_DAY, `${day}: ${of.length}`).toBe(true);
    expect([0, 6], day).not.toContain(new Date(`${day}T12:00:00Z`).getUTCDay());
    const from = Math.floor((Date.parse(day) - START) / DAY_MS) + 1;
    expect(from > 7 && from <= 60, day).toBe(true);
  }

  const undone = new Set(['user-700', 'user-701', 'user-702']);
  await releaseLeases(
    common,
    made.filter(({ owner }) => undone.has(owner.username)),
  );
  const kept = made.filter(({ owner }) => undone.has(owner.username)).length;
  // Its owner had the mail of 30 days before the end is moved, and gets all three about the new one.
  const late = made.find(({ until }) => Date.parse(until) - START > 40 * DAY_MS) ?? made[0];
  await using server = await mailServer();
  const services = {
    ...unusedServices,
    mailer: () => openMailer({ server: new Secret(server.url), from: 'a@example.org', allowPlain: true }),
    ownerNotices: () => ({
      ...{ thresholds: [30, 7, 1], revoked: false, revokedWithin: 0, optOut: [], domains: [], atMost: 500 },
      ...{ template: defaultTemplate, organizations: {} },
    }),
  };
  const context = {
    ...{ ...common, files: unusedFiles, services, dryRun: false },
    signal: new AbortController().signal,
  };
  for (let day = 0; day <= 100; day += 1) {
    at = new Date(START + day * DAY_MS);
    if (day === 35 && late !== undefined) {
      const wish = { lease: late.id, seconds: 60 * 86_400, now: at };
      await extendLease(common, await planExtension(log, description, wish));
      await writeRowEnds(common);
    }
    await ownerNotices.run({ ...context, due: at }, {});
    at = new Date(at.getTime() + 6 * HOUR_MS);
    await leaseEnd.run({ ...context, due: at }, {});
    if (day === 60) expect((await leases()).filter(isOpen).map(({ id }) => id)).toEqual([late?.id]);
  }
  const mails = new Map([...Map.groupBy(server.mails, ({ to }) => to)].map(([to, of]) => [to, of.length]));
  const expected = [...owned.keys()]
    .filter((owner) => !undone.has(owner))
    .map((owner) => [`${owner}@example.org`, owner === late?.owner.username ? 6 : 3] as const);
  expect(Object.fromEntries(mails)).toEqual(Object.fromEntries(expected));
  const [left] = await database.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM main_oauth2accesstoken',
  );
  expect(left?.count).toBe(kept);
  await target.close();
});
