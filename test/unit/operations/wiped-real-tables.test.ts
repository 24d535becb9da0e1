import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { kinds } from '@tokenctl/testing/runs.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { incidentsOf } from '../../../src/console/case/read-incidents.ts';
import type { Investigation } from '../../../src/domain/investigation/investigation.ts';
import { incidentStatus } from '../../../src/operations/incident/incident-status.ts';
import { readStream } from '../../../src/operations/investigation/stream-hole.ts';
import { openApiEvidence } from '../../../src/targets/controller-api/evidence.ts';
import { openDatabaseEvidence } from '../../../src/targets/database/evidence/evidence.ts';
import { incidentFixture } from '../../support/incident-fixture.ts';
import { loadRealCase, type RealCase } from '../../support/real-stream.ts';
import { describeEach, type Peer, REAL_PEERS } from '../../support/real-tables.ts';
import { RecordedController } from '../../support/recorded-controller.ts';
import { hasRecordings } from '../../support/recordings.ts';

const PEERS: readonly Peer[] = ['awx-24.6.1', 'awx-23.5.1', 'awx-21.14.0'];
const STREAM = 'activity_stream:period';

describeEach(kinds(PEERS.filter((peer) => REAL_PEERS.includes(peer))))('a wiped stream of %s', (peer) => {
  let real: RealCase;
  beforeEach(async () => {
    real = await loadRealCase(peer);
  });
  afterEach(async () => await real.close());

  /** Deletes entries with their links, as the management job and SQL do. */
  async function wipe(where: string): Promise<void> {
    const links = await real.database.query<{ name: string }>(
      "SELECT relname::text AS name FROM pg_class WHERE relname ~ '^main_activitystream_' AND relkind = 'r'",
    );
    for (const { name } of links)
      await real.database.execute(
        `DELETE FROM ${name} WHERE activitystream_id IN (SELECT id FROM main_activitystream WHERE ${where})`,
      );
    await real.database.execute(`DELETE FROM main_activitystream WHERE ${where}`);
  }

  /** Makes all that there is two hours older. */
  async function age(): Promise<void> {
    const columns = await real.database.query<{ table: string; column: string }>(
      `SELECT table_name::text AS table, column_name::text AS column FROM information_schema.columns
       WHERE table_schema = 'public' AND (table_name ~ '^main_' OR table_name = 'auth_user')
         AND column_name IN ('created', 'modified', 'timestamp', 'date_joined')`,
    );
    for (const { table, column } of columns)
      await real.database.execute(`UPDATE ${table} SET ${column} = ${column} - interval '2 hours'`);
  }

  /** bob sends a project elsewhere and makes a superuser; the entries are written. */
  async function theft(): Promise<number> {
    const bob = real.id['bob'] ?? 0;
    await real.database.execute(
      "UPDATE main_project SET scm_url = 'https://evil.example/x.git', scm_type = 'git'",
    );
    await real.database.execute(
      `UPDATE main_unifiedjobtemplate SET modified = now(), modified_by_id = $1
       WHERE id = (SELECT min(unifiedjobtemplate_ptr_id) FROM main_project)`,
      [bob],
    );
    const [project] = await real.database.query<{ id: number }>(
      'SELECT min(unifiedjobtemplate_ptr_id) AS id FROM main_project',
    );
    await real.write({
      ...{ actor: bob, operation: 'update', object1: 'project' },
      ...{ changes: { scm_url: ['', 'https://evil.example/x.git'] }, links: { project: project?.id ?? 0 } },
    });
    const [mole] = await real.database.query<{ id: number }>(
      `INSERT INTO auth_user (password, is_superuser, username, first_name, last_name, email, is_staff, is_active, date_joined)
       VALUES ('x', true, 'mole', '', '', '', true, true, now()) RETURNING id`,
    );
    await real.write({
      ...{ actor: bob, operation: 'create', object1: 'user' },
      ...{ changes: { id: mole?.id, username: 'mole', is_superuser: true }, links: { user: mole?.id ?? 0 } },
    });
    return project?.id ?? 0;
  }

  function expectNotRead({ items, stream }: Investigation, project: number): void {
    expect(stream.hole).toMatch(/^The activity stream /);
    expect(items.find(({ id }) => id === STREAM)).toMatchObject({ state: 'unknown', risk: 'critical' });
    expect(items.find(({ id }) => id === `project:${project}`)).toMatchObject({
      ...{ act: 'changed', state: 'there', group: 'code_later', by: [{ username: 'bob' }] },
      findings: expect.arrayContaining([expect.objectContaining({ rule: 'unrecorded-change' })]),
    });
    expect(items.find(({ object }) => object.name === 'mole')).toMatchObject({
      ...{ state: 'there', risk: 'critical', group: 'ways_in' },
    });
  }

  it('is not read where nothing is left of it', async () => {
    const project = await theft();
    expect((await real.investigate('bob')).stream.hole).toBeNull();
    await wipe('true');
    expectNotRead(await real.investigate('bob'), project);
  });

  it('is not read where its numbers begin anew', { tags: ['long'] }, async () => {
    await age();
    const project = await theft();
    await wipe('true');
    await real.database.query("SELECT setval(pg_get_serial_sequence('main_activitystream', 'id'), 1, false)");
    expectNotRead(await real.investigate('bob'), project);
    await real.write({ ...{ actor: 1, operation: 'update', object1: 'user' }, changes: {} });
    expectNotRead(await real.investigate('bob'), project);
  });

  it('is not read where only a user without an entry shows it', async () => {
    await real.database.execute(
      `INSERT INTO auth_user (password, is_superuser, username, first_name, last_name, email, is_staff, is_active, date_joined)
       VALUES ('x', true, 'mole', '', '', '', true, true, now())`,
    );
    await real.write({
      ...{ actor: real.id['bob'] ?? 0, operation: 'create', object1: 'user' },
      changes: {},
    });
    await wipe(`actor_id = ${real.id['bob']}`);
    await real.write({ ...{ actor: 1, operation: 'update', object1: 'user' }, changes: {} });
    const { items } = await real.investigate('bob');
    expect(items.find(({ id }) => id === STREAM)).toMatchObject({ state: 'unknown', risk: 'critical' });
    expect(items.find(({ object }) => object.name === 'mole')).toMatchObject({ state: 'there' });
  });

  it('is not read where what one user did is missing', { tags: ['long'] }, async () => {
    const project = await theft();
    await wipe(`actor_id = ${real.id['bob']}`);
    expectNotRead(await real.investigate('bob'), project);
  });

  it('is not read where a range is missing', { tags: ['long'] }, async () => {
    const other = { actor: 1, operation: 'update', object1: 'user', changes: {} } as const;
    const before = await real.write(other);
    const project = await theft();
    const after = await real.write(other);
    expect((await real.investigate('bob')).stream.hole).toBeNull();
    await wipe(`id > ${before} AND id < ${after}`);
    expectNotRead(await real.investigate('bob'), project);
  });

  it('finds a change that another entry about the object hides', { tags: ['long'] }, async () => {
    const project = await theft();
    const entry = await real.write({
      ...{ actor: real.id['bob'] ?? 0, operation: 'update', object1: 'project' },
      ...{ changes: { description: ['', 'new'] }, links: { project } },
    });
    await wipe(`actor_id = ${real.id['bob']} AND id <> ${entry}`);
    await real.database.execute('UPDATE main_unifiedjobtemplate SET modified = now() WHERE id = $1', [
      project,
    ]);
    expectNotRead(await real.investigate('bob'), project);
  });

  it('says of numbers that are missing alone that not all was read', { tags: ['long'] }, async () => {
    await wipe('id IN (40, 41)');
    const { stream, items } = await real.investigate('bob');
    expect(stream.hole).toMatch(/^The activity stream is incomplete: 2 of the \d+ IDs/);
    expect(items.filter(({ id }) => id === STREAM)).toEqual([]);
  });

  it('is not read where the newest entries are missing and their numbers are given out again', async () => {
    const bob = real.id['bob'] ?? 0;
    const [last] = await real.database.query<{ id: number }>('SELECT max(id) AS id FROM main_activitystream');
    await age();
    const project = await theft();
    expect((await real.investigate('bob')).stream.hole).toBeNull();
    await wipe(`id > ${last?.id}`);
    await real.database.query("SELECT setval(pg_get_serial_sequence('main_activitystream', 'id'), $1)", [
      last?.id,
    ]);
    const found = await real.investigate('bob');
    expectNotRead(found, project);
    expect(found.stream.hole).toMatch(/ends at .*, but the user mole \(\d+\) was created at /);
    await real.write({ ...{ actor: bob, operation: 'update', object1: 'user' }, changes: {} });
    expect((await real.investigate('bob')).items.map(({ object }) => object.name)).toContain('mole');
  });

  it('is said by the status of an incident, and by the pages of the console', async () => {
    await using at = await incidentFixture('rest');
    await at.lockDown();
    await wipe('true');
    const evidence = () => openDatabaseEvidence({ connection: new Secret(real.url) });
    const { stream } = await incidentStatus({ ...at.common, all: false, evidence });
    const text = /^Not everything can be investigated.* The activity stream is empty/;
    expect(stream).toMatch(text);
    const { common } = at;
    const runtime = {
      ...{ description: async () => common.description, targetClock: async () => common.clock },
      ...{ target: async () => common.target, auditLog: async () => common.log },
    };
    expect((await incidentsOf(runtime, evidence)).stream).toMatch(text);
    const refused = () => Promise.reject(new TokenctlError('permission_refused', 'It may not be read'));
    expect((await incidentsOf(runtime, refused)).stream).toMatch(/^Not checked: .* It may not be read\.$/);
  });

  it.runIf(hasRecordings(peer))(
    'is not read over REST where the newest entries are missing',
    { tags: ['long'] },
    async () => {
      await age();
      await using server = await RecordedController.start(peer, real);
      const evidence = openApiEvidence({
        address: server.address,
        credential: { kind: 'token', token: new Secret(real.filling.admintoken) },
        verifyTls: true,
      });
      const window = { since: new Date(Date.now() - 86_400_000), until: new Date(Date.now() + 60_000) };
      const description = {
        visibility: { kind: 'all' },
        dialect: 'controller',
        credential: 'token',
      } as const;
      const hole = async () =>
        (await readStream(evidence, { missing: Promise.resolve(null), window, description })).hole;
      const before = await hole();
      await real.database.execute(
        `INSERT INTO main_team (created, modified, name, description, organization_id, created_by_id)
       VALUES (now(), now(), 'late', '', (SELECT min(id) FROM main_organization), $1)`,
        [real.id['bob']],
      );
      expect([before, await hole()]).toMatchObject([
        null,
        { text: expect.stringMatching(/but the team late \(\d+\) was created/), isEmptied: true },
      ]);
      await evidence.close();
    },
  );
});
