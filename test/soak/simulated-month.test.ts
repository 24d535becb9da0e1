import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '@tokenctl/common/db/database.ts';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { VirtualClock } from '@tokenctl/testing/virtual-clock.ts';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { Recipients } from '../../src/app/jobs/job-events.ts';
import { jobFiles } from '../../src/app/jobs/job-files.ts';
import { jobKinds } from '../../src/app/jobs/job-kinds.ts';
import { scheduledJobs } from '../../src/app/jobs/scheduled-jobs.ts';
import { openFileLog } from '../../src/audit-log/file-log.ts';
import { loadConfiguration } from '../../src/config/configuration.ts';
import { openLedgerTables } from '../../src/scheduler/ledger/ledger.ts';
import { makeTables } from '../support/controller-tables.ts';
import { webServer } from '../support/receivers.ts';
import { schedulerOn } from '../support/scheduled.ts';
import { fillEstate } from '../support/token-estate.ts';

const TOKENS = 10_000;
const USERS = 100;
const DAY = 86_400_000;
/** In the month clocks go forward, on the 29th. */
const BEGIN = Date.parse('2026-03-01T00:00:00Z');
const END = '2026-03-31T23:00:00Z';
const LAST_SWEEP = Date.parse('2026-03-31T01:00:00Z');
const LAST_CLEANUP = Date.parse('2026-03-31T04:30:00Z');

/** The lanes of five jobs, and the housekeeping. */
const WAITING = 6;

const configurationText = (folder: string, webhook: string) => `
currentContext: production
contexts:
  production: { database: { file: ${folder}/database.url } }
auditLog: { file: ${folder}/audit.jsonl }
scheduler:
  notify:
    owners: { kind: webhook, url: { file: ${folder}/webhook.url }, at: error }
jobs:
  sweep:
    job: revocation-sweep
    schedule: "0 3 * * *"
    timeZone: Europe/Berlin
    dryRun: false
    parameters:
      rules: [unused-for, lifetime-over, owner-inactive]
      keepIfYounger: 30d
      atMost: ${TOKENS / 25}
      stopAbovePercent: 30
  cleanup: { job: token-cleanup, schedule: "30 4 * * *", dryRun: false }
  notices: { job: expiry-notices, schedule: "0 8 * * *", dryRun: false, parameters: { thresholds: [7, 1] } }
  guard:
    job: settings-guard
    schedule: "0 */6 * * *"
    dryRun: false
    parameters: { enforce: true, settings: { AUTH_BASIC_ENABLED: false, SESSION_COOKIE_AGE: 3600 } }
  leavers:
    job: offboarding
    schedule: "0 5 * * *"
    dryRun: false
# ${webhook}
`;

/** A token as it was at the beginning. */
interface Before {
  readonly id: number;
  readonly user_id: number;
  readonly expires: Date;
  readonly created: Date;
  readonly last_used: Date | null;
}

describe(`a month of jobs on ${TOKENS} tokens`, () => {
  let database: Database;
  let url: string;
  beforeAll(async () => {
    url = await createDatabase(inject('postgresUrl'));
    database = await openOn(url);
    await makeTables(database, 'service');
    await fillEstate(database, { tokens: TOKENS, users: USERS, applications: 10 });
    // One in ten expires in the month, one becomes unused in it, one is valid for too long; the others are fine.
    await database.execute(
      `UPDATE main_oauth2accesstoken SET
         created = to_timestamp($1::float8) - make_interval(days => CASE WHEN id % 10 = 2 THEN (15 + id % 30)::int ELSE 100 END),
         expires = to_timestamp($1::float8) + CASE WHEN id % 10 = 0 THEN make_interval(mins => (id * 7919 % 43000)::int)
           WHEN id % 10 = 2 THEN interval '400 days' ELSE interval '200 days' END,
         last_used = to_timestamp($1::float8) + CASE WHEN id % 10 = 1 THEN make_interval(days => (id % 50)::int - 95)
           ELSE interval '30 days' END`,
      [BEGIN / 1000],
    );
    await database.execute('DELETE FROM oauth2_provider_refreshtoken WHERE access_token_id % 10 = 0');
  }, 120_000);
  afterAll(() => database.close());

  test('leaves exactly what the policy describes', async () => {
    const before = await database.query<Before>(
      'SELECT id, user_id, expires, created, last_used FROM main_oauth2accesstoken ORDER BY id',
    );
    const { port, requests } = await webServer(() => 204);
    const hook = `http://127.0.0.1:${port}/hook`;
    await using folder = await temporaryFolder();
    const at = (name: string) => join(folder.path, name);
    await writeFile(at('database.url'), url, { mode: 0o600 });
    await writeFile(at('webhook.url'), hook, { mode: 0o600 });
    await writeFile(at('tokenctl.yaml'), configurationText(folder.path, hook));

    const clock = new VirtualClock(new Date(BEGIN).toISOString());
    const environment = { HOME: folder.path };
    const configuration = loadConfiguration({ config: at('tokenctl.yaml') }, environment, jobKinds);
    const log = openFileLog({ path: at('audit.jsonl'), clock });
    const recipients = new Recipients(configuration.scheduler, { environment, onResult: () => undefined });
    const jobs = scheduledJobs({
      configuration,
      environment,
      clock,
      log,
      files: jobFiles({ environment, version: '0.0.0' }),
      notifiers: recipients.notifiers,
    });
    const store = await openLedgerTables({ database: await openOn(url) });
    const { scheduler, events } = schedulerOn(store, clock, { poll: DAY });
    await scheduler.replace(jobs);

    await clock.passUntil('2026-03-05T12:00:00Z', WAITING);
    expect(await basicAuth()).toBe(false);
    await setBasicAuth(true);
    await clock.passUntil('2026-03-12T12:00:00Z', WAITING);
    expect(await basicAuth()).toBe(false);
    await database.execute('UPDATE auth_user SET is_active = false WHERE id = 7');
    await clock.passUntil('2026-03-15T12:00:00Z', WAITING);
    await database.execute('UPDATE auth_user SET is_active = false WHERE id = 8');
    await clock.passUntil(END, WAITING);
    await scheduler.drain();
    const history = await store.history({ limit: 5000 });
    await Promise.all([recipients.close(), store.close()]);

    expect(
      events.flatMap((event) => ('error' in event && event.error !== null ? [String(event.error)] : [])),
    ).toEqual([]);
    expect(history.every(({ state }) => state === 'completed')).toBe(true);
    const runsOf = (name: string) => history.filter(({ job }) => job === `${name}@production`).length;
    expect(['sweep', 'cleanup', 'notices', 'leavers'].map(runsOf)).toEqual([31, 31, 31, 31]);
    expect(runsOf('guard')).toBe(31 * 4 - 1);

    const left = await database.query<{ id: number }>('SELECT id FROM main_oauth2accesstoken ORDER BY id');
    expect(left.map(({ id }) => id)).toEqual(before.filter(stays).map(({ id }) => id));
    const [orphans] = await database.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM oauth2_provider_refreshtoken WHERE revoked IS NULL AND access_token_id IS NULL',
    );
    expect(orphans?.count).toBe(0);
    const told = requests.map(({ body }) => {
      const { data } = JSON.parse(body) as { data: { token: { id: number }; threshold: number } };
      return `${data.token.id} ${data.threshold}`;
    });
    expect(told.toSorted()).toEqual(before.flatMap(expectedNotices).toSorted());
    expect(await log.verify()).toMatchObject({ break: null });
  }, 1_800_000);

  async function basicAuth(): Promise<unknown> {
    const [row] = await database.query<{ value: unknown }>(
      "SELECT value FROM conf_setting WHERE key = 'AUTH_BASIC_ENABLED'",
    );
    return typeof row?.value === 'string' ? JSON.parse(row.value) : row?.value;
  }

  async function setBasicAuth(on: boolean): Promise<void> {
    await database.execute("UPDATE conf_setting SET value = $1 WHERE key = 'AUTH_BASIC_ENABLED'", [
      JSON.stringify(on),
    ]);
  }
});

/** What the policy says of a token at the end of the month. Users 7 and 8 were deactivated. */
function stays({ id: _id, user_id, expires, created, last_used }: Before): boolean {
  const used = (last_used ?? created).getTime();
  const young = created.getTime() > LAST_SWEEP - 30 * DAY;
  if (user_id === 7 || user_id === 8) return false;
  if (expires.getTime() <= LAST_CLEANUP) return false;
  if (young) return true;
  return used >= LAST_SWEEP - 90 * DAY && expires.getTime() - created.getTime() <= 366 * DAY;
}

/** The notices about a token that expires: at eight o'clock, a week and a day before. */
function expectedNotices({ id, expires }: Before): string[] {
  if (id % 10 !== 0) return [];
  const thresholds = new Set<number>();
  for (let at = BEGIN + 8 * 3_600_000; at < Date.parse(END); at += DAY) {
    const left = expires.getTime() - at;
    if (left > 0 && left <= 7 * DAY) thresholds.add(left <= DAY ? 1 : 7);
  }
  return [...thresholds].map((days) => `${id} ${days}`);
}
