import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { kinds } from '@tokenctl/testing/runs.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { MIGRATE } from '../../../src/domain/leases.ts';
import { OperationRun } from '../../../src/operations/journal/operation-run.ts';
import { LeaseReader, readLeases } from '../../../src/operations/journal/recorded-leases.ts';
import { migrateTokens } from '../../../src/operations/migration/migrate-tokens.ts';
import { planFinish } from '../../../src/operations/migration/plan-finish.ts';
import { planMigration } from '../../../src/operations/migration/plan-migration.ts';
import { readMigrations } from '../../../src/operations/migration/recorded-migrations.ts';
import type { AuditLog } from '../../../src/operations/ports/audit-log.ts';
import { machineClock } from '../../../src/operations/ports/clock.ts';
import type { SecretStore } from '../../../src/operations/ports/secret-store.ts';
import { fileStore } from '../../../src/stores/file-store.ts';
import { failingFrom } from '../../support/fixture.ts';
import {
  describeEach,
  loadRealTables,
  type Peer,
  REAL_PEERS,
  type RealTables,
} from '../../support/real-tables.ts';

const GATEWAYS: readonly Peer[] = ['gateway', 'gateway-plain', 'gateway-newest'];
const DAY_MS = 86_400_000;

interface Row {
  readonly id: number;
  readonly username: string;
  readonly scope: string;
  readonly description: string;
  readonly token: string;
}

describeEach(
  kinds(GATEWAYS.filter((peer) => REAL_PEERS.includes(peer) && REAL_PEERS.includes('awx-24.6.1'))),
)('a migration from controller 24.6.1 to %s', (peer) => {
  let old: RealTables;
  let fresh: RealTables;
  let at: Awaited<ReturnType<typeof sides>>;

  beforeEach(async () => {
    old = await loadRealTables('awx-24.6.1');
    fresh = await loadRealTables(peer);
    // alice has another name on the gateway, and someone else has hers. Her tokens and eve's are in use;
    // robot has on the controller the name that she has on the gateway.
    await fresh.database.script(`
        UPDATE aap_gateway_api_user SET username = 'alicia' WHERE username = 'alice';
        UPDATE aap_gateway_api_user SET username = 'alice' WHERE username = 'erin';`);
    await fresh.database.execute(
      `UPDATE dab_resource_registry_resource SET ansible_id = $1
         WHERE object_id = (SELECT id::text FROM aap_gateway_api_user WHERE username = 'alicia')
           AND content_type_id = (SELECT content_type_id FROM dab_resource_registry_resourcetype WHERE name = 'shared.user')`,
      [
        (
          await old.database.query<{ id: string }>(
            `SELECT ansible_id AS id FROM dab_resource_registry_resource WHERE name = 'alice'`,
          )
        )[0]?.id,
      ],
    );
    await old.database.script(`
        UPDATE auth_user SET username = 'alicia' WHERE username = 'robot';
        UPDATE main_oauth2accesstoken SET last_used = NULL;
        UPDATE main_oauth2accesstoken t SET last_used = now() - interval '1 day' FROM auth_user u
          WHERE u.id = t.user_id AND u.username IN ('alice', 'eve', 'gone');
        UPDATE main_oauth2accesstoken SET last_used = now() - interval '1 day' WHERE id IN
          (SELECT t.id FROM main_oauth2accesstoken t JOIN auth_user u ON u.id = t.user_id
           WHERE u.username = 'auditor' AND t.application_id IS NULL ORDER BY t.id LIMIT 2);
        UPDATE main_oauth2accesstoken t SET last_used = now() - interval '120 days' FROM auth_user u
          WHERE u.id = t.user_id AND u.username = 'bob';
        UPDATE main_oauth2application SET organization_id = 1 WHERE name = 'AppPwConf';`);
    at = await sides();
  });
  afterEach(async () => {
    await at.folder[Symbol.asyncDispose]();
    await Promise.all([old.close(), fresh.close()]);
  });

  async function sides() {
    const folder = await temporaryFolder();
    const log = openFileLog({ path: join(folder.path, 'audit.jsonl'), clock: machineClock });
    const side = async (tables: RealTables) => {
      const target = await tables.open();
      return { target, description: await target.describe(), clock: machineClock };
    };
    return { folder, log, from: await side(old), to: await side(fresh) };
  }

  const records = () => readMigrations(at.log, { from: at.from.description, to: at.to.description });
  const plan = async () =>
    await planMigration({
      ...{ from: at.from, to: at.to, migrated: await records() },
      usedSince: new Date(machineClock.now().getTime() - 90 * DAY_MS),
    });
  const place = (consumer: string) => join(at.folder.path, consumer);
  const nameOf = (id: number | undefined) => `migrated-${at.from.description.installUuid?.slice(0, 8)}-${id}`;
  const inFiles = (consumer: string): SecretStore => fileStore(place(consumer), 'The store files');
  const migrate = async (openStore = inFiles, log: AuditLog = at.log) =>
    await migrateTokens({
      ...at.to,
      ...{ log, actor: { user: 'root' }, leases: new LeaseReader(log), from: at.from.description },
      tokens: (await plan()).tokens.filter(({ next }) => next === 'new_token'),
      openStore: async (consumer) => openStore(consumer),
    });
  const rows = async () =>
    await fresh.database.query<Row>(
      `SELECT t.id, u.username, t.scope, t.description, t.token FROM dab_oauth2_provider_oauth2accesstoken t
         JOIN aap_gateway_api_user u ON u.id = t.user_id ORDER BY t.id`,
    );
  /** Stops as a killed process does: what it throws is no error that anything handles. */
  const dying = (when: 'before' | 'after') => (consumer: string) => {
    const store = inFiles(consumer);
    return {
      ...store,
      async write(...written: Parameters<SecretStore['write']>) {
        if (when === 'after') await store.write(...written);
        throw new Error('killed');
      },
    };
  };

  it('tells what becomes of each token, and by what accounts and applications were found', async () => {
    const { tokens, counts, applications, withoutAccount, unknown } = await plan();
    const of = (name: string) =>
      new Set(
        tokens
          .filter(({ user, application }) => user?.username === name && application === null)
          .map(({ account, matchedBy, next }) => `${account?.username ?? '-'} ${matchedBy ?? '-'} ${next}`),
      );
    expect(of('alice')).toEqual(new Set(['alicia resource_id new_token']));
    expect(of('auditor')).toEqual(new Set(['auditor name new_token', 'auditor name unused']));
    expect(of('bob')).toEqual(new Set(['bob name unused']));
    expect(of('eve')).toEqual(new Set(['- - no_account']));
    expect(of('gone')).toEqual(new Set(['gone name inactive']));
    // Expired ones have stopped already.
    expect(of('carol')).toEqual(new Set());
    expect(withoutAccount).toEqual(expect.arrayContaining(['alicia', 'eve']));
    expect(applications.map(({ name, twin, by }) => [name, twin?.name ?? null, by])).toEqual(
      expect.arrayContaining([
        ['AppPwConf', 'AppPwConf', 'name_and_organization'],
        // Of another organization there.
        ['AppPwPub', null, null],
      ]),
    );
    expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(tokens.length);
    expect(counts).toMatchObject({ new_token: 4, no_account: 2, migrated: 0 });
    expect(unknown).toEqual([]);
  });

  it('matches by name where the ids are not there, and refuses what sees only part', async () => {
    await fresh.database.script('DROP TABLE dab_resource_registry_resource CASCADE');
    const { tokens, unknown } = await plan();
    const alice = tokens.find(({ user }) => user?.username === 'alice');
    expect([alice?.account?.username, alice?.matchedBy, unknown.length]).toEqual(['alice', 'name', 1]);
    const visibility = {
      kind: 'part',
      tokens: 'their own tokens',
      users: '',
      applications: '',
      organizations: [],
    } as const;
    at.to.description = { ...at.to.description, visibility };
    await expect(plan()).rejects.toMatchObject({ code: 'permission_refused' });
    [at.from, at.to] = [at.to, at.from];
    await expect(plan()).rejects.toMatchObject({ code: 'usage' });
  });

  it('makes a token for each in use, which the gateway knows, and nothing the second time', async () => {
    const before = await rows();
    const report = await migrate();
    expect(report.results.map(({ why }) => why)).toEqual([null, null, null, null]);
    const made = (await rows()).slice(before.length);
    expect(made.map(({ username, scope }) => `${username} ${scope}`).sort()).toEqual([
      'alicia read',
      'alicia write',
      'auditor read',
      'auditor write',
    ]);
    expect((await rows()).slice(0, before.length)).toEqual(before);
    for (const { old: id, token } of report.results) {
      const value = readFileSync(place(nameOf(id)), 'utf8').trim();
      expect(statSync(place(nameOf(id))).mode & 0o777).toBe(0o600);
      const [found] = await Array.fromAsync(at.to.target.identify([new Secret(value)]));
      expect([found?.live, found?.ids]).toEqual([true, [token]]);
      const row = made.find((each) => each.id === token);
      expect(row?.description).toMatch(new RegExp(`\\(${nameOf(id)}\\) \\(lease-[0-9a-f]{12}\\)$`));
      expect(row?.token === value).toBe(peer === 'gateway-plain');
    }
    // No lease ends what was delivered.
    expect((await readLeases(at.log, at.to.description)).map(({ state }) => state)).toEqual(
      Array(4).fill('released'),
    );
    expect((await plan()).counts).toMatchObject({ new_token: 0, migrated: 4 });
    const [first] = report.results;
    // Another token with the number of a new one, as after a restored database, is none.
    const moved = (by: string) =>
      fresh.database.execute(
        `UPDATE dab_oauth2_provider_oauth2accesstoken SET created = created ${by} interval '1 day' WHERE id = $1`,
        [first?.token],
      );
    await moved('-');
    expect((await plan()).counts).toMatchObject({ new_token: 1, migrated: 3 });
    await moved('+');
    // A new token that is gone is made again.
    await fresh.database.execute('DELETE FROM dab_oauth2_provider_oauth2accesstoken WHERE id = $1', [
      first?.token,
    ]);
    expect((await migrate()).results).toMatchObject([{ old: first?.old, why: null }]);
    expect((await rows()).length).toBe(before.length + 4);
  });

  it('does nothing while another process is at it, and goes on once that is gone', async () => {
    const before = await rows();
    const other = new OperationRun({ ...at.to, log: at.log, actor: { user: 'root' } }, MIGRATE);
    await other.open({ selection: 'some' });
    await expect(migrate()).rejects.toMatchObject({ code: 'busy' });
    expect(await rows()).toEqual(before);
    other[Symbol.dispose]();
    expect((await migrate()).results.length).toBe(4);
  });

  it('revokes a token whose value was lost in a kill, and makes another', async () => {
    const before = await rows();
    await expect(migrate(dying('before'))).rejects.toThrow('killed');
    expect((await rows()).length).toBe(before.length + 1);
    const { leftovers, results } = await migrate();
    expect(leftovers).toMatchObject([{ how: 'revoked' }]);
    expect(results.filter(({ why }) => why === null).length).toBe(4);
    expect((await rows()).length).toBe(before.length + 4);
  });

  it('keeps a token that was stored before the kill', async () => {
    const before = await rows();
    await expect(migrate(dying('after'))).rejects.toThrow('killed');
    const [made] = (await rows()).slice(before.length);
    // Not while its place cannot be read: the value may be there.
    const unreadable = (consumer: string) => ({
      ...inFiles(consumer),
      read: () => Promise.reject(new TokenctlError('configuration', 'cannot be read')),
    });
    expect((await migrate(unreadable)).results.map(({ token }) => token)).toEqual(Array(4).fill(null));
    expect((await rows()).slice(before.length)).toEqual([made]);
    const { leftovers, results } = await migrate();
    expect([leftovers, results[0]]).toMatchObject([[], { token: made?.id, why: null }]);
    expect((await rows()).length).toBe(before.length + 4);
  });

  it('leaves a value of others, and does the rest', async () => {
    const before = await rows();
    const [first] = (await plan()).tokens.filter(({ next }) => next === 'new_token');
    writeFileSync(place(nameOf(first?.id)), 'of others\n');
    const { results } = await migrate();
    expect(results.map(({ token }) => token === null)).toEqual([true, false, false, false]);
    expect(readFileSync(place(nameOf(first?.id)), 'utf8')).toBe('of others\n');
    expect((await rows()).length).toBe(before.length + 3);
  });

  it('makes nothing without an audit log', async () => {
    const before = await rows();
    await expect(migrate(inFiles, failingFrom(at.log, 1))).rejects.toMatchObject({
      code: 'audit_unavailable',
    });
    expect(await rows()).toEqual(before);
  });

  it('names what can be revoked: the new one is used, and the old one is not', async () => {
    const { results } = await migrate();
    const finish = async () =>
      (
        await planFinish(at, {
          migrated: await records(),
          quietSince: new Date(machineClock.now().getTime() - 14 * DAY_MS),
        })
      ).map(({ waitsFor }) => waitsFor);
    expect(await finish()).toEqual(Array(4).fill('new_unused'));
    await fresh.database.execute(
      'UPDATE dab_oauth2_provider_oauth2accesstoken SET last_used = now() WHERE id = ANY($1)',
      [results.map(({ token }) => token)],
    );
    expect(await finish()).toEqual(Array(4).fill('old_used'));
    await old.database.script(`UPDATE main_oauth2accesstoken SET last_used = now() - interval '15 days'`);
    expect(await finish()).toEqual(Array(4).fill(null));
    await fresh.database.execute('DELETE FROM dab_oauth2_provider_oauth2accesstoken WHERE id = $1', [
      results[0]?.token,
    ]);
    expect((await finish()).sort()).toEqual(['new_gone', null, null, null]);
  });
});
