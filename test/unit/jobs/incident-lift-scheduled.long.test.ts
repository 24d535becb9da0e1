import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Secret } from '@tokenctl/common/secret.ts';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { VirtualClock } from '@tokenctl/testing/virtual-clock.ts';
import { expect, inject, onTestFinished, test } from 'vitest';
import { cachedAuditLog } from '../../../src/app/cached-log.ts';
import { jobFiles } from '../../../src/app/jobs/job-files.ts';
import { jobKinds } from '../../../src/app/jobs/job-kinds.ts';
import { scheduledJobs } from '../../../src/app/jobs/scheduled-jobs.ts';
import { snapshotFiles } from '../../../src/app/snapshot-file.ts';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { loadConfiguration } from '../../../src/config/configuration.ts';
import { incidentOperations } from '../../../src/domain/incident/incident.ts';
import { lockDown } from '../../../src/operations/incident/lock-down.ts';
import { planLockdown } from '../../../src/operations/incident/plan-lockdown.ts';
import { openLedgerTables } from '../../../src/scheduler/ledger/ledger.ts';
import { openDatabaseTarget } from '../../../src/targets/database/database-target.ts';
import { makeTables } from '../../support/controller-tables.ts';
import { NO_MEASURE } from '../../support/incident-fixture.ts';
import { schedulerOn } from '../../support/scheduled.ts';
import { fillEstate } from '../../support/token-estate.ts';

const MINUTE = 60_000;

const configurationText = (folder: string) => `
currentContext: production
contexts:
  production: { database: { file: ${folder}/database.url } }
jobs:
  preview: { job: incident-lift, timeout: 5m }
  lift: { job: incident-lift, schedule: "30 * * * * *", dryRun: false }
`;

/** The lanes of two jobs, and the housekeeping. */
const WAITING = 3;

test('a lockdown for ten minutes is lifted after ten minutes, and a dry run of the job reports it before', async () => {
  const url = await createDatabase(inject('postgresUrl'));
  const database = await openOn(url);
  onTestFinished(() => database.close());
  await makeTables(database, 'service');
  await fillEstate(database, { tokens: 20, users: 4, applications: 2 });
  await using folder = await temporaryFolder();
  const at = (name: string) => join(folder.path, name);
  await writeFile(at('database.url'), url, { mode: 0o600 });
  await writeFile(at('tokenctl.yaml'), configurationText(folder.path));

  const clock = new VirtualClock('2026-03-01T00:00:00Z');
  const log = openFileLog({ path: at('audit.jsonl'), clock });
  const target = await openDatabaseTarget({ context: 'production', connection: new Secret(url) });
  onTestFinished(() => target.close());
  const before = await target.settings.read();
  const common = { target, description: await target.describe(), log, clock, actor: { user: 'test' } };
  const measures = { ...NO_MEASURE, basicAuthentication: true, lifetimes: true };
  const plan = await planLockdown({ ...common, scope: { kind: 'all' }, measures, lasts: 10 * MINUTE });
  const { incident } = await lockDown({ ...common, plan, files: snapshotFiles(folder.path) });

  const environment = { HOME: folder.path };
  const jobs = scheduledJobs({
    configuration: loadConfiguration({ config: at('tokenctl.yaml') }, environment, jobKinds),
    environment,
    clock,
    log: cachedAuditLog(log, { operations: incidentOperations }),
    files: jobFiles({ environment, version: '0.0.0' }),
    notifiers: new Map(),
  });
  const store = await openLedgerTables(at('ticks.sqlite'));
  const { scheduler } = schedulerOn(store, clock, { poll: MINUTE });
  await scheduler.replace(jobs);
  const messages = async (job: string) =>
    (await store.history({ job: `${job}@production`, limit: 50 })).map(({ summary }) => summary['message']);

  await clock.passUntil('2026-03-01T00:09:59Z', WAITING);
  expect((await target.settings.read()).AUTH_BASIC_ENABLED).toBe(false);
  expect(new Set([...(await messages('lift')), ...(await messages('preview'))])).toEqual(
    new Set(['No incident is due']),
  );
  const { size } = await log.head();
  await clock.passUntil('2026-03-01T00:10:15Z', WAITING);
  expect((await messages('preview'))[0]).toBe(`Would lift ${incident}`);
  expect((await target.settings.read()).AUTH_BASIC_ENABLED).toBe(false);
  expect((await log.head()).size).toBe(size);
  await clock.passUntil('2026-03-01T00:12:15Z', WAITING);
  await scheduler.drain();
  expect(await target.settings.read()).toEqual(before);
  expect((await messages('lift')).slice(0, 2)).toEqual(['No incident is due', `Lifted ${incident}`]);
  expect((await messages('preview'))[0]).toBe('No incident is due');
  await store.close();
});
