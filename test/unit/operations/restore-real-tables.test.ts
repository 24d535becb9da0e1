import { kinds } from '@tokenctl/testing/runs.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { withoutOtherIntruders } from '../../../src/operations/investigation/other-intruders.ts';
import { loadRealCase, type RealCase } from '../../support/real-stream.ts';
import { describeEach, type Peer, REAL_PEERS } from '../../support/real-tables.ts';

const PEERS: readonly Peer[] = ['awx-24.6.1', 'awx-23.5.1'];

describeEach(kinds(PEERS.filter((peer) => REAL_PEERS.includes(peer))))('a cleaning of %s', (peer) => {
  let real: RealCase;
  beforeAll(async () => {
    real = await loadRealCase(peer);
    await real.database.execute(
      `INSERT INTO main_host (created, modified, description, name, enabled, instance_id, variables, inventory_id, ansible_facts)
       VALUES (now(), now(), '', 'prod', true, '', '', 1, '{}'), (now(), now(), '', 'test', true, '', '', 1, '{}')`,
    );
  });
  afterAll(async () => await real.close());

  const user = (name: string) => real.id[name] ?? 1;
  const update = (name: string, kind: string, id: number, changes: Record<string, unknown>) =>
    real.write({
      ...{ actor: user(name), operation: 'update', object1: kind },
      ...{ changes, links: { [kind]: id } },
    });
  const names = async (table: string) =>
    (await real.database.query<{ name: string }>(`SELECT name FROM ${table} ORDER BY id`)).map(
      ({ name }) => name,
    );

  it('leaves alone what the controller computes', async () => {
    await update('bob', 'inventory', 1, {
      inventory_sources_with_failures: [0, 1],
      hosts_with_active_failures: [0, 1],
    });
    await real.database.execute('UPDATE main_inventory SET inventory_sources_with_failures = 1 WHERE id = 1');
    const isInventory = ({ object }: { object: { kind: string } }) => object.kind === 'inventory';
    expect((await real.investigate('bob')).items.filter(isInventory)).toEqual([]);
    await update('bob', 'inventory', 1, {
      inventory_sources_with_failures: [1, 2],
      variables: ['', 'evil: 1'],
    });
    await real.database.execute(
      "UPDATE main_inventory SET inventory_sources_with_failures = 2, variables = 'evil: 1' WHERE id = 1",
    );
    const items = (await real.investigate('bob')).items.filter(isInventory);
    expect(items).toMatchObject([{ state: 'there', changes: [{ field: 'variables' }] }]);
    await real.clean('bob', { items: ['inventory:1'] });
    expect((await real.investigate('bob')).items.filter(isInventory)).toMatchObject([{ state: 'undone' }]);
  });

  it('restores names that were swapped, of templates and of hosts', { tags: ['long'] }, async () => {
    const before = await names('main_host');
    const [, prod = 0, test = 0] = (
      await real.database.query<{ id: number }>('SELECT id FROM main_host ORDER BY id')
    ).map(({ id }) => id);
    const rename = async (id: number, from: string, to: string) => {
      await real.database.execute('UPDATE main_host SET name = $1 WHERE id = $2', [to, id]);
      await update('carol', 'host', id, { name: [from, to] });
    };
    await rename(prod, 'prod', 'tmp');
    await rename(test, 'test', 'prod');
    await rename(prod, 'tmp', 'test');
    const plan = await real.plan('carol', { items: [`host:${prod}`, `host:${test}`] });
    expect(plan.clean.map(({ act }) => [act.act, act.object.id])).toEqual([
      ['rename', prod],
      ['restore', test],
      ['restore', prod],
    ]);
    const report = await real.clean('carol', { items: [`host:${prod}`, `host:${test}`] });
    expect(report).toMatchObject({ result: 'done', left: [] });
    expect(await names('main_host')).toEqual(before);
    // Undone, they are swapped again.
    expect(await real.undo(report.run)).toMatchObject({ result: 'done' });
    expect(await names('main_host')).toEqual([before[0], 'test', 'prod']);
    expect(await real.clean('carol', { items: [`host:${prod}`, `host:${test}`] })).toMatchObject({
      result: 'done',
    });
    expect(await names('main_host')).toEqual(before);
  });

  it('revokes the refresh tokens of access tokens, although their application stays', async () => {
    await real.write({
      ...{ actor: user('bob'), operation: 'create', object1: 'o_auth2_application' },
      ...{ changes: { name: 'AppPwConf', id: 1 }, links: { o_auth2_application: 1 } },
    });
    const live = () =>
      real.database.query(
        'SELECT id FROM oauth2_provider_refreshtoken WHERE application_id = 1 AND revoked IS NULL',
      );
    expect(await live()).not.toEqual([]);
    const { items } = await real.investigate('bob');
    const tokens = items.flatMap(({ id, summary }) =>
      id.startsWith('o_auth2_access_token:') && summary.includes('through AppPwConf') ? [id] : [],
    );
    expect(await real.clean('bob', { items: tokens })).toMatchObject({ result: 'done', left: [] });
    expect(await live()).toEqual([]);
  });

  it('finishes a name that an interrupted cleaning left', async () => {
    const [, prod = 0] = (
      await real.database.query<{ id: number }>('SELECT id FROM main_host ORDER BY id')
    ).map(({ id }) => id);
    await real.database.execute('UPDATE main_host SET name = $1 WHERE id = $2', ['evil', prod]);
    await update('eve', 'host', prod, { name: ['prod', 'evil'] });
    await real.database.execute('UPDATE main_host SET name = $1 WHERE id = $2', [
      `tokenctl-restores-host-${prod}`,
      prod,
    ]);
    await real.write({
      ...{ actor: null, operation: 'update', object1: 'host', links: { host: prod } },
      changes: { name: ['evil', `tokenctl-restores-host-${prod}`] },
    });
    expect(await real.clean('eve', { items: [`host:${prod}`] })).toMatchObject({ result: 'done' });
    expect((await names('main_host'))[1]).toBe('prod');
  });

  it('says that a name is taken', async () => {
    const [, prod = 0] = (
      await real.database.query<{ id: number }>('SELECT id FROM main_host ORDER BY id')
    ).map(({ id }) => id);
    await real.database.execute('UPDATE main_host SET name = $1 WHERE id = $2', ['moved', prod]);
    await update('robot', 'host', prod, { name: ['prod', 'moved'] });
    await real.database.execute(
      `INSERT INTO main_host (created, modified, description, name, enabled, instance_id, variables, inventory_id, ansible_facts)
       VALUES (now(), now(), '', 'prod', true, '', '', 1, '{}')`,
    );
    const report = await real.clean('robot', { items: [`host:${prod}`] });
    expect(report).toMatchObject({ result: 'partly' });
    expect(report.steps).toMatchObject([
      { result: 'failed', message: expect.stringContaining('another object already has the name') },
    ]);
  });

  it('resets settings that the actor set first', async () => {
    const set = async (key: string, value: unknown) => {
      const [row] = await real.database.query<{ id: number }>(
        `INSERT INTO conf_setting (created, modified, key, value, user_id) VALUES (now(), now(), $1, $2, NULL) RETURNING id`,
        [key, JSON.stringify(value)],
      );
      const shown = typeof value === 'object' ? JSON.stringify(value) : value;
      await real.write({
        ...{ actor: user('offb'), operation: 'create', object1: 'setting', setting: key },
        changes: { value: shown, id: row?.id },
      });
    };
    await set('AUTH_BASIC_ENABLED', false);
    await set('OAUTH2_PROVIDER', { ACCESS_TOKEN_EXPIRE_SECONDS: 9, REFRESH_TOKEN_EXPIRE_SECONDS: 2628000 });
    const items = (await real.investigate('offb')).items.filter(({ object }) => object.kind === 'setting');
    expect(items).toMatchObject([
      {
        state: 'there',
        remedy: { kind: 'manual', text: expect.stringContaining('its previous value was the default') },
      },
      { state: 'there' },
    ]);
    const some = { items: items.map(({ id }) => id) };
    const report = await real.clean('offb', some);
    expect(report).toMatchObject({ result: 'done', left: [] });
    expect(report.steps[0]?.message).toMatch(/^Reset setting AUTH_BASIC_ENABLED/);
    const rows = () => real.database.query('SELECT key FROM conf_setting WHERE key <> $1', ['INSTALL_UUID']);
    expect(await rows()).toEqual([]);
    // As the controller writes it.
    const [entry] = await real.database.query<{ operation: string; changes: string; setting: unknown }>(
      "SELECT operation, changes, setting FROM main_activitystream WHERE object1 = 'setting' AND operation = 'delete' ORDER BY id",
    );
    expect(JSON.parse(entry?.changes ?? '')).toEqual({ value: false, id: expect.any(Number) });
    expect((await real.plan('offb', some)).clean).toEqual([]);
    const undo = await real.planUndo(report.run);
    expect(undo.keep.map(({ why }) => why)).toEqual([
      expect.stringContaining('it has no row'),
      expect.stringContaining('it has no row'),
    ]);
  });

  it('restores to the value that another user set between two changes of the actor', async () => {
    const limit = async (name: string, from: string, to: string) => {
      await real.database.execute(
        'UPDATE main_jobtemplate SET "limit" = $1 WHERE unifiedjobtemplate_ptr_id = 7',
        [to],
      );
      await update(name, 'job_template', 7, { limit: [from, to] });
    };
    await limit('alice', '', 'evil1');
    await limit('admin', 'evil1', 'legitimate');
    await limit('alice', 'legitimate', 'evil2');
    await limit('alice', 'evil2', 'evil3');
    const item = async () =>
      (await real.investigate('alice')).items.find(({ id }) => id === 'job_template:7');
    expect((await item())?.changes).toMatchObject([
      { field: 'limit', before: 'legitimate', after: 'evil3', state: 'as_left' },
    ]);
    expect(await real.clean('alice', { items: ['job_template:7'] })).toMatchObject({ result: 'done' });
    const [row] = await real.database.query(
      'SELECT "limit" FROM main_jobtemplate WHERE unifiedjobtemplate_ptr_id = 7',
    );
    expect(row).toEqual({ limit: 'legitimate' });
  });

  it('leaves a value to a person that holds something of the actor and of others', async () => {
    const write = async (name: string, from: string, to: string) => {
      await real.database.execute(
        'UPDATE main_jobtemplate SET extra_vars = $1 WHERE unifiedjobtemplate_ptr_id = 7',
        [to],
      );
      await update(name, 'job_template', 7, { extra_vars: [from, to] });
    };
    await write('socialite', '', 'evil: 1');
    await write('admin', 'evil: 1', 'evil: 1\nhonest: 1');
    await write('socialite', 'evil: 1\nhonest: 1', 'evil: 2\nhonest: 1');
    const plan = await real.plan('socialite', { items: ['job_template:7'] });
    expect(plan.clean).toEqual([]);
    expect(plan.keep).toMatchObject([
      { reason: 'by_hand', why: expect.stringContaining('Others changed extra_vars between') },
    ]);
  });

  it('does not bring back what the subject of another incident set', async () => {
    const limit = async (name: string, from: string, to: string) => {
      await real.database.execute(
        'UPDATE main_jobtemplate SET job_tags = $1 WHERE unifiedjobtemplate_ptr_id = 7',
        [to],
      );
      await update(name, 'job_template', 7, { job_tags: [from, to] });
    };
    await limit('robot', '', 'robots');
    await limit('auditor', 'robots', 'auditors');
    const plan = await real.plan('auditor', { items: ['job_template:7'] });
    expect(plan.clean).toMatchObject([{ act: { act: 'restore', fields: [{ field: 'job_tags' }] } }]);
    const suspect = (name: string, since: Date) => ({ id: user(name), incident: 'inc-1', since });
    const without = async (...suspects: ReturnType<typeof suspect>[]) =>
      await withoutOtherIntruders(plan, { evidence: real.evidence, suspects });
    const { clean, keep } = await without(suspect('robot', new Date(0)));
    expect(clean).toEqual([]);
    expect(keep).toMatchObject([
      {
        reason: 'by_hand',
        why: 'The previous value of job_tags was set by robot, the subject of inc-1. Restore it manually.',
      },
    ]);
    // Their own incident, one of others, and what was done before the theft are no reason.
    const harmless = [
      suspect('auditor', new Date(0)),
      suspect('bob', new Date(0)),
      suspect('robot', new Date(Date.now() + 60_000)),
    ];
    for (const each of harmless) expect((await without(each)).clean).toEqual(plan.clean);
  });
});
