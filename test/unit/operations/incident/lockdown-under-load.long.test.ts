import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Secret } from '@tokenctl/common/secret.ts';
import { ADMIN, basic, Client, startTestService } from '@tokenctl/service/testing/service.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { expect, inject, onTestFinished, test } from 'vitest';
import { withRequiredSink } from '../../../../src/app/open-audit-log.ts';
import { snapshotFiles } from '../../../../src/app/snapshot-file.ts';
import { openFileLog } from '../../../../src/audit-log/file-log.ts';
import type { Measures } from '../../../../src/domain/incident/incident.ts';
import { liftIncident } from '../../../../src/operations/incident/lift.ts';
import { lockDown } from '../../../../src/operations/incident/lock-down.ts';
import { planLockdown } from '../../../../src/operations/incident/plan-lockdown.ts';
import { numbersIn } from '../../../../src/operations/journal/journal.ts';
import type { Target } from '../../../../src/operations/ports/target.ts';
import { openControllerApi } from '../../../../src/targets/controller-api/controller-api.ts';
import { openDatabaseTarget } from '../../../../src/targets/database/database-target.ts';
import { NO_MEASURE } from '../../../support/incident-fixture.ts';
import { fillForLoad, IncidentLoad, RefreshStorm } from '../../../support/incident-load.ts';

const SIZE = { users: 4, tokens: 400 };
const clock = { now: () => new Date() };

/** A service under load, and what its operator reaches it with. */
async function underLoad() {
  const url = await createDatabase(inject('postgresUrl'));
  const service = await startTestService({ database: { url: new Secret(url) } });
  onTestFinished(() => service.close());
  const admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
  const operator = await admin.post('/api/v2/tokens/', { scope: 'write', description: 'operator' });
  await fillForLoad(service.database, SIZE);
  const load = await IncidentLoad.start(service.url, SIZE);
  onTestFinished(() => load.stop());
  return { url, service, load, operator: operator.json.token };
}

/** A folder that is removed when the test is over. */
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-load-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Locks everything down; what it says, and how many requests had been sent when it had ended. */
async function lockEverything(load: IncidentLoad, target: Target, deactivate: boolean) {
  const folder = temporaryFolder();
  const log = openFileLog({ path: join(folder, 'audit.jsonl'), clock });
  const description = await target.describe();
  const common = { target, description, log, clock, actor: { user: 'test' } };
  const measures: Measures = {
    ...{ basicAuthentication: true, externalTokens: true, lifetimes: true, keepActive: [] },
    deactivate,
  };
  const plan = await planLockdown({ ...common, scope: { kind: 'all' }, measures, lasts: null });
  const report = await lockDown({ ...common, plan, files: snapshotFiles(folder) });
  return {
    report,
    ended: load.sent,
    lift: (acceptSessions = false) => liftIncident({ ...common, incident: report.incident, acceptSessions }),
  };
}

test('in the database no one is accepted after a lockdown, by no way', async () => {
  const { url, service, load } = await underLoad();
  const target = await openDatabaseTarget({ context: 'test', connection: new Secret(url) });
  onTestFinished(() => target.close());
  const before = await target.settings.read();
  const { report, ended, lift } = await lockEverything(load, target, false);
  expect(report.steps.filter(({ result }) => result !== 'done' && result !== 'unchanged')).toEqual([]);
  expect(report).toMatchObject({ result: 'locked' });
  expect(await load.acceptedAfter(ended)).toEqual([]);
  expect(await lift()).toMatchObject({ result: 'lifted' });
  expect(await target.settings.read()).toEqual(before);
  const password = new Client(service.url, basic('load-1', 'secret-of-everyone'));
  expect((await password.get('/api/v2/me/')).status).toBe(200);
});

test('over REST no one but the operator is, with users deactivated', async () => {
  const { service, load, operator } = await underLoad();
  const credential = { kind: 'token', token: new Secret(operator) } as const;
  const target = openControllerApi({ context: 'test', address: service.url, credential, verifyTls: true });
  onTestFinished(() => target.close());
  const { report, ended, lift } = await lockEverything(load, target, true);
  expect(report.steps.filter(({ result }) => result !== 'done' && result !== 'unchanged')).toEqual([]);
  expect(report).toMatchObject({ result: 'locked' });
  expect(report.accessPaths).toContainEqual(
    expect.objectContaining({ path: 'revoked_token', state: 'closed' }),
  );
  expect(await load.acceptedAfter(ended)).toEqual([]);
  expect((await target.describe()).identity.username).toBe('admin');
  // Sessions are not listed over REST: those from before may still be accepted.
  expect(await lift()).toMatchObject({ result: 'partly' });
  expect(await lift(true)).toMatchObject({ result: 'lifted' });
  const inactive = await service.database.query('SELECT FROM auth_user WHERE NOT is_active');
  expect(inactive).toEqual([]);
});

test('clients that refresh without pause are caught, however slow the log', async () => {
  const url = await createDatabase(inject('postgresUrl'));
  const service = await startTestService({ database: { url: new Secret(url) } });
  onTestFinished(() => service.close());
  await fillForLoad(service.database, SIZE);
  const storm = await RefreshStorm.start(service.url, SIZE.users);
  onTestFinished(() => storm.stop());
  const target = await openDatabaseTarget({ context: 'test', connection: new Secret(url) });
  onTestFinished(() => target.close());
  const folder = temporaryFolder();
  const file = openFileLog({ path: join(folder, 'audit.jsonl'), clock });
  // Each refreshes several times in the time that an entry takes.
  const log = withRequiredSink(file, {
    sink: { name: 'slow', send: () => storm.turns(3 * SIZE.users), close: () => Promise.resolve() },
    format: { records: () => [] },
  });
  const common = { target, description: await target.describe(), log, clock, actor: { user: 'test' } };
  const plan = await planLockdown({
    ...common,
    scope: { kind: 'applications', names: ['load'] },
    measures: NO_MEASURE,
    lasts: null,
  });
  const report = await lockDown({ ...common, plan, files: snapshotFiles(folder) });
  expect(report).toMatchObject({ result: 'locked' });
  await storm.refused;
  const revoked: number[] = [];
  for await (const { kind, data } of file.entries()) {
    if (kind === 'outcome' && data['step'] === 'refresh_tokens') revoked.push(...numbersIn(data['revoked']));
  }
  const rows = await service.database.query<{ revoked: Date | null }>(
    'SELECT revoked FROM oauth2_provider_refreshtoken WHERE id = ANY($1)',
    [revoked],
  );
  expect(rows.map((row) => row.revoked)).not.toContain(null);
  expect(rows).toHaveLength(revoked.length);
});
