import { Secret } from '@tokenctl/common/secret.ts';
import { kinds } from '@tokenctl/testing/runs.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EvidenceLimit, Investigation } from '../../../src/domain/investigation/investigation.ts';
import { openApiEvidence } from '../../../src/targets/controller-api/evidence.ts';
import { loadRealCase, type RealCase } from '../../support/real-stream.ts';
import { describeEach, type Peer, REAL_PEERS } from '../../support/real-tables.ts';
import { RecordedController } from '../../support/recorded-controller.ts';
import { hasRecordings } from '../../support/recordings.ts';

const PEERS: readonly Peer[] = ['awx-24.6.1', 'awx-23.5.1', 'awx-21.14.0'];

function textsOf({ limits }: Investigation, name: EvidenceLimit['limit']): string[] {
  return limits.flatMap(({ limit, text }) => (limit === name ? [text] : []));
}

describeEach(kinds(PEERS.filter((peer) => REAL_PEERS.includes(peer))))('what %s does not record', (peer) => {
  let real: RealCase;
  beforeAll(async () => {
    real = await loadRealCase(peer);
  });
  afterAll(async () => await real.close());

  it('finds nothing in tables that no one touched', async () => {
    const found = await real.investigate('bob');
    expect(found.items.filter(({ entryCount, group }) => entryCount === 0 && group !== 'ways_in')).toEqual(
      [],
    );
    expect(found.items.filter(({ object }) => object.kind === 'user')).toEqual([]);
    expect(textsOf(found, 'entries_missing')).toEqual([]);
    expect(textsOf(found, 'jobs_missing')).toEqual([]);
    // What is not recorded and was read elsewhere is named as such.
    const [unknown, shown] = textsOf(found, 'not_recorded');
    expect(unknown).toContain('logins, ');
    expect(unknown).toContain(', removed credential input sources');
    expect(unknown).not.toContain(', credential input sources');
    expect(shown).toContain('credential input sources');
    const hasAssignments = peer === 'awx-24.6.1';
    expect(shown?.includes('role assignments')).toBe(hasAssignments);
    expect(textsOf(found, 'not_listed').filter((text) => text.includes('role assignments'))).toEqual([]);
  });

  it('finds a credential input source, which no entry is about', async () => {
    await real.database.execute(
      `INSERT INTO main_credentialinputsource (created, modified, description, input_field_name, metadata, created_by_id,
         modified_by_id, source_credential_id, target_credential_id)
       VALUES (now(), now(), '', 'password', '{}', $1, $1, 2, 1)`,
      [real.id['bob']],
    );
    const { items } = await real.investigate('bob');
    expect(items.find(({ object }) => object.kind === 'credential_input_source')).toMatchObject({
      ...{ id: 'credential_input_source:1', act: 'made', state: 'there', group: 'code_later', risk: 'high' },
      by: [{ id: real.id['bob'], username: 'bob' }],
      summary: 'created the credential input source password (1) (not in the activity stream)',
      remedy: { kind: 'call', text: 'DELETE /api/v2/credential_input_sources/1/', isUntried: true },
    });
    const of = (await real.investigate('alice')).items;
    expect(of.filter(({ object }) => object.kind === 'credential_input_source')).toEqual([]);
  });

  it.runIf(hasRecordings(peer))('goes on over REST where a list of entries is refused', async () => {
    await using server = await RecordedController.start(peer, real);
    const token = new Secret(real.filling.admintoken);
    const evidence = openApiEvidence({
      ...{ address: server.address, credential: { kind: 'token', token } as const, verifyTls: true },
    });
    const found = await real.investigate('bob', { evidence });
    expect(server.requests.join(' ')).toContain('credential_input_source__id=1');
    expect(found.items.find(({ object }) => object.kind === 'credential_input_source')).toMatchObject({
      ...{ id: 'credential_input_source:1', state: 'there' },
    });
    expect(found.limits.map(({ text }) => text).join(' ')).toMatch(
      /whether anyone else has changed the .*credential input sources/,
    );
    await evidence.close();
  });

  it('finds a credential type whose injectors were changed', async () => {
    const [type] = await real.database.query<{ id: number }>(
      `INSERT INTO main_credentialtype (created, modified, description, name, kind, managed, inputs, injectors, created_by_id, modified_by_id)
       VALUES (now() - interval '90 days', now() - interval '90 days', '', 'Own', 'cloud', false, '{}', '{}', 1, 1) RETURNING id`,
    );
    await real.database.execute(
      `UPDATE main_credentialtype SET injectors = '{"env": {"LD_PRELOAD": "/x"}}', modified = now(), modified_by_id = $1 WHERE id = $2`,
      [real.id['bob'], type?.id],
    );
    const found = async () =>
      (await real.investigate('bob')).items.find(({ object }) => object.kind === 'credential_type');
    const changed = {
      act: 'changed',
      state: 'there',
      risk: 'high',
      changes: [{ field: 'injectors', hidden: true }],
    };
    expect(await found()).toMatchObject({ ...changed, remedy: { kind: 'manual' } });
    // An entry about another field does not hide it.
    await real.write({
      ...{ actor: real.id['bob'] ?? 0, operation: 'update', object1: 'credential_type' },
      ...{ changes: { description: ['', 'new'] }, links: { credential_type: type?.id ?? 0 } },
    });
    expect(await found()).toMatchObject({
      state: 'there',
      changes: [{ field: 'description' }, { field: 'injectors' }],
    });
  });

  it('finds what was made while the stream was off', async () => {
    await real.database.execute(
      `INSERT INTO main_inventory (created, modified, description, name, variables, has_active_failures, total_hosts,
         hosts_with_active_failures, total_groups, has_inventory_sources, total_inventory_sources, inventory_sources_with_failures,
         created_by_id, modified_by_id, organization_id, kind, pending_deletion, prevent_instance_group_fallback)
       VALUES (now(), now(), '', 'planted', '', false, 0, 0, 0, false, 0, 0, $1, $1, 1, '', false, false)`,
      [real.id['bob']],
    );
    const { items } = await real.investigate('bob');
    expect(items.find(({ object }) => object.kind === 'inventory')).toMatchObject({
      ...{ act: 'made', state: 'there', object: { name: 'planted' }, entryCount: 0 },
    });
  });

  it('names a superuser whose creation is not recorded', async () => {
    const [user] = await real.database.query<{ id: number }>(
      `INSERT INTO auth_user (password, is_superuser, username, first_name, last_name, email, is_staff, is_active, date_joined)
       VALUES ('x', true, 'mallory', '', '', '', true, true, now()) RETURNING id`,
    );
    const { items } = await real.investigate('bob');
    expect(items.find(({ object }) => object.kind === 'user')).toMatchObject({
      ...{ id: `user:${user?.id}`, group: 'ways_in', state: 'there', risk: 'critical', by: [] },
      summary: `superuser mallory (${user?.id}) was created (not in the activity stream)`,
    });
    await real.database.execute('UPDATE auth_user SET is_active = false WHERE id = $1', [user?.id]);
    const later = (await real.investigate('bob')).items;
    expect(later.find(({ object }) => object.kind === 'user')).toMatchObject({ state: 'undone' });
  });

  it('rates a made user by the rights that SQL gave it since', async () => {
    const [eve] = await real.database.query<{ id: number }>(
      `INSERT INTO auth_user (password, is_superuser, username, first_name, last_name, email, is_staff, is_active, date_joined)
       VALUES ('x', false, 'latecomer', '', '', '', false, true, now()) RETURNING id`,
    );
    const id = eve?.id ?? 0;
    await real.write({
      ...{ actor: real.id['bob'] ?? 0, operation: 'create', object1: 'user' },
      ...{ changes: { id, username: 'latecomer', is_superuser: false }, links: { user: id } },
    });
    const found = async () => (await real.investigate('bob')).items.find((item) => item.id === `user:${id}`);
    expect(await found()).toMatchObject({ act: 'made', risk: 'high' });
    await real.database.execute('UPDATE auth_user SET is_superuser = true WHERE id = $1', [id]);
    expect(await found()).toMatchObject({ risk: 'critical', findings: [{ rule: 'superuser-now' }, {}] });
  });

  it('names entries that were deleted, in the middle and at the end', async () => {
    const remove = async (...ids: number[]) => {
      const links = await real.database.query<{ name: string }>(
        "SELECT relname::text AS name FROM pg_class WHERE relname ~ '^main_activitystream_' AND relkind = 'r'",
      );
      for (const { name } of links)
        await real.database.execute(`DELETE FROM ${name} WHERE activitystream_id = ANY($1)`, [ids]);
      await real.database.execute('DELETE FROM main_activitystream WHERE id = ANY($1)', [ids]);
    };
    await remove(40, 41);
    expect(textsOf(await real.investigate('bob'), 'entries_missing')).toEqual([
      expect.stringContaining('2 of the 85 IDs from 1 to 85 have no entry'),
    ]);
    await remove(85);
    expect(textsOf(await real.investigate('bob'), 'entries_missing')).toEqual([
      expect.stringContaining('3 of the 85 IDs from 1 to 85 have no entry'),
    ]);
  });

  it('finds hosts that were made in bulk by the count of their inventory', async () => {
    const bob = real.id['bob'] ?? 0;
    const [inventory] = await real.database.query<{ id: number }>('SELECT min(id) AS id FROM main_inventory');
    const id = inventory?.id ?? 0;
    const found = async () =>
      (await real.investigate('bob')).items.find(({ findings }) =>
        findings.some(({ rule }) => rule === 'uncounted-hosts'),
      );
    await real.write({
      ...{ actor: bob, operation: 'create', object1: 'host', links: {} },
      changes: { id: 9001, name: 'recorded', inventory: `Demo Inventory-${id}` },
    });
    await real.write({
      ...{ actor: bob, operation: 'update', object1: 'inventory', links: { inventory: id } },
      changes: { total_hosts: [0, 1] },
    });
    expect(await found()).toBeUndefined();
    await real.write({
      ...{ actor: bob, operation: 'update', object1: 'inventory', links: { inventory: id } },
      changes: { total_hosts: [1, 3] },
    });
    expect(await found()).toMatchObject({
      ...{ group: 'code_later', state: 'unknown', risk: 'high', by: [{ username: 'bob' }] },
      summary: expect.stringMatching(/^2 more hosts in the inventory .* than the entries explain$/),
    });
    // A host that is deleted makes the number smaller, and explains nothing.
    await real.write({
      ...{ actor: bob, operation: 'delete', object1: 'host', links: {} },
      changes: { id: 9002, name: 'of others', inventory: `Demo Inventory-${id}` },
    });
    await real.write({
      ...{ actor: bob, operation: 'update', object1: 'inventory', links: { inventory: id } },
      changes: { total_hosts: [3, 2], total_groups: [0, 1] },
    });
    const all = (await real.investigate('bob')).items.map(({ summary }) => summary);
    expect(all).toContainEqual(expect.stringMatching(/^2 more hosts in the inventory/));
    expect(all).toContainEqual(expect.stringMatching(/^1 more group in the inventory/));
  });

  it('names jobs whose records were deleted', async () => {
    await real.database.query(
      "SELECT nextval(pg_get_serial_sequence('main_unifiedjob', 'id')) FROM generate_series(1, 3)",
    );
    const [text, ...others] = textsOf(await real.investigate('bob'), 'jobs_missing');
    expect(text).toContain('3 of the 3 job IDs from 1 to 3 have no record');
    expect(text).toContain('management jobs');
    expect(others).toEqual([]);
  });

  it('finds an approval that is there, and asks for no change of it', async () => {
    const id = 900_000;
    await real.database.execute(
      `INSERT INTO main_unifiedjob SELECT * FROM jsonb_populate_record(null::main_unifiedjob, (
         SELECT jsonb_object_agg(column_name, CASE data_type WHEN 'integer' THEN '0'::jsonb WHEN 'numeric' THEN '0'
           WHEN 'boolean' THEN 'false' WHEN 'jsonb' THEN '{}' WHEN 'timestamp with time zone' THEN to_jsonb(now()) ELSE '""' END)
         FROM information_schema.columns WHERE table_name = 'main_unifiedjob' AND is_nullable = 'NO')
         || jsonb_build_object('id', ${id}, 'status', 'successful'))`,
    );
    await real.database.execute(
      'INSERT INTO main_workflowapproval (unifiedjob_ptr_id, timeout, timed_out, approved_or_denied_by_id) VALUES ($1, 0, false, $2)',
      [id, real.id['bob']],
    );
    await real.write({
      ...{ actor: real.id['bob'] ?? 0, operation: 'update', object1: 'workflow_approval' },
      ...{ changes: { status: ['pending', 'successful'] }, links: { workflow_approval: id } },
    });
    const { items } = await real.investigate('bob');
    expect(items.find(({ object }) => object.kind === 'workflow_approval')).toMatchObject({
      ...{ state: 'there', group: 'code_later', risk: 'high' },
      remedy: { kind: 'manual', text: expect.stringContaining('Cancel the workflow job') },
    });
  });
});
