import { Secret } from '@tokenctl/common/secret.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Cleaner } from '../../../../src/operations/ports/evidence.ts';
import { openDatabaseCleaner } from '../../../../src/targets/database/evidence/cleaner.ts';
import { loadRealTables, REAL_PEERS, type RealTables } from '../../../support/real-tables.ts';

type Act = Parameters<Cleaner['apply']>[0];

const peer = 'awx-24.6.1';

describe.skipIf(!REAL_PEERS.includes(peer))(`the cleaner of ${peer}`, () => {
  let real: RealTables;
  let cleaner: Awaited<ReturnType<typeof openDatabaseCleaner>>;
  beforeAll(async () => {
    real = await loadRealTables(peer);
    cleaner = await openDatabaseCleaner({ connection: new Secret(real.url) });
  });
  afterAll(async () => {
    await cleaner.close();
    await real.close();
  });

  const values = { write: {}, expected: {}, category: null, recorded: {}, entry: null };
  const switching = (act: 'disable' | 'enable', kind: string, id: number) =>
    cleaner.apply({ act, object: { kind, id }, field: 'enabled' } as Act, values);
  const lastEntry = async () =>
    (
      await real.database.query(
        'SELECT operation, object1, changes, actor_id FROM main_activitystream ORDER BY id DESC LIMIT 1',
      )
    )[0];

  it('turns a host off and on once, and records it', async () => {
    const [host] = await real.database.query<{ id: number }>(
      `INSERT INTO main_host (created, modified, description, name, enabled, instance_id, variables, inventory_id, ansible_facts)
       VALUES (now(), now(), '', 'extra', true, '', '', 1, '{}') RETURNING id`,
    );
    const id = host?.id ?? 0;
    expect(await switching('disable', 'host', id)).toBe('done');
    const entry = { operation: 'update', object1: 'host', actor_id: null };
    expect(await lastEntry()).toEqual({ ...entry, changes: '{"enabled": [true, false]}' });
    expect(await switching('disable', 'host', id)).toBe('unchanged');
    expect(await switching('enable', 'host', id)).toBe('done');
    expect(await lastEntry()).toEqual({ ...entry, changes: '{"enabled": [false, true]}' });
  });

  it('turns a schedule off once', async () => {
    const [schedule] = await real.database.query<{ id: number }>(
      "UPDATE main_schedule SET enabled = true, next_run = now() + interval '1 hour' RETURNING id",
    );
    const id = schedule?.id ?? 0;
    expect(await switching('disable', 'schedule', id)).toBe('done');
    expect(await switching('disable', 'schedule', id)).toBe('unchanged');
    expect(
      await real.database.query('SELECT enabled, next_run FROM main_schedule WHERE id = $1', [id]),
    ).toEqual([{ enabled: false, next_run: null }]);
  });

  it('gives a setting its value back unless it was changed since', async () => {
    await real.database.execute(
      `INSERT INTO conf_setting (created, modified, key, value) VALUES (now(), now(), 'LOG_AGGREGATOR_HOST', '"evil"')`,
    );
    const act = {
      act: 'restore',
      object: { kind: 'setting', id: null },
      fields: [{ field: 'LOG_AGGREGATOR_HOST' }],
    };
    const restore = (isDefault: boolean, before: unknown) =>
      cleaner.apply({ ...act, isDefault } as unknown as Act, {
        ...values,
        write: { LOG_AGGREGATOR_HOST: 'good' },
        expected: { LOG_AGGREGATOR_HOST: before },
      });
    await expect(restore(false, 'other')).rejects.toMatchObject({ code: 'unsupported' });
    expect(await restore(false, 'evil')).toBe('done');
    await expect(restore(true, 'evil')).rejects.toMatchObject({ code: 'unsupported' });
    expect(await restore(true, 'good')).toBe('done');
    expect(
      await real.database.query("SELECT FROM conf_setting WHERE key = 'LOG_AGGREGATOR_HOST'"),
    ).toHaveLength(0);
  });
});
