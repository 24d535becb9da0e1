import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Investigation } from '../../../src/domain/investigation/investigation.ts';
import { loadRealCase, type RealCase } from '../../support/real-stream.ts';
import { type Peer, REAL_PEERS } from '../../support/real-tables.ts';
import { kinds } from '../../support/runs.ts';

const PEERS: readonly Peer[] = ['awx-24.6.1', 'awx-23.5.1', 'awx-21.14.0'];
const STREAM = 'activity_stream:period';

describe.each(kinds(PEERS.filter((peer) => REAL_PEERS.includes(peer))))('a wiped stream of %s', (peer) => {
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

  it('is not read where its numbers begin anew', async () => {
    const project = await theft();
    await wipe('true');
    await real.database.query("SELECT setval(pg_get_serial_sequence('main_activitystream', 'id'), 1, false)");
    expectNotRead(await real.investigate('bob'), project);
    await real.write({ ...{ actor: 1, operation: 'update', object1: 'user' }, changes: {} });
    expectNotRead(await real.investigate('bob'), project);
  });

  it('is not read where a range, or what one user did, is missing', async () => {
    const project = await theft();
    await wipe(`actor_id = ${real.id['bob']}`);
    expectNotRead(await real.investigate('bob'), project);
    await wipe('id BETWEEN 30 AND 40');
    expectNotRead(await real.investigate('bob'), project);
  });

  it('finds a change that another entry about the object hides', async () => {
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

  it('says of numbers that are missing alone that not all was read', async () => {
    await wipe('id IN (40, 41)');
    const { stream, items } = await real.investigate('bob');
    expect(stream.hole).toMatch(/^The activity stream is not whole: 2 of the \d+ numbers/);
    expect(items.filter(({ id }) => id === STREAM)).toEqual([]);
  });
});
