import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Investigation, InvestigationItem } from '../../../src/domain/investigation/investigation.ts';
import { homeOf } from '../home.ts';
import type { Installation } from '../installation.ts';
import { CONTROLLER, consent, DATABASE, REAL_CONTROLLER } from '../needs.ts';
import { type Account, asUser, makeUser } from '../own-objects.ts';
import { type As, expectStatus } from '../requests.ts';
import type { AcceptanceSuite } from '../scene.ts';

/** A superuser whose write token an intruder has. */
interface Stolen {
  readonly account: Account;
  readonly tokenId: number;
  readonly as: As;
}

async function steal(it: Installation, own: string): Promise<Stolen> {
  const account = await makeUser(it, own, { is_superuser: true });
  const body = { scope: 'write', description: it.name(own) };
  const made = expectStatus(await it.request('tokens/', asUser(account), { method: 'POST', body }), 201).body;
  return { account, tokenId: Number(made['id']), as: { token: it.keep(String(made['token'])) } };
}

async function act(it: Installation, as: As, method: 'POST' | 'PATCH', path: string, body: object) {
  return expectStatus(await it.request(path, as, { method, body }), 200, 201, 204).body;
}

/** Investigates the token, and says what remains in a way that a person reads it. */
async function investigated(it: Installation, { tokenId }: Stolen, current: 'rest' | 'db' = 'rest') {
  const home = homeOf(it, { current });
  const saved = join(home.folder, 'investigation.json');
  const of = ['incident', 'investigate', '--token', String(tokenId), '--since', '1d'];
  const { code, body, stderr } = await home.json<Investigation>(...of, '--out', saved);
  assert.ok(code === 0 || code === 5, `exit ${code}: ${stderr}`);
  const { stdout } = await home.run('incident', 'clean', '--from', saved, '--dry-run');
  return { items: body.items, plan: stdout };
}

function itemOf(items: readonly InvestigationItem[], id: string): InvestigationItem {
  const found = items.find((item) => item.id === id);
  assert.ok(found, `${id} is not among ${items.map((item) => item.id).join(', ')}`);
  return found;
}

/** Deletes the entries of the activity stream about an account's acts, with their links, as an intruder at the database does. */
async function wipe(it: Installation, { account }: Stolen): Promise<void> {
  const links = await it.sql<{ table: string; column: string }>(
    `SELECT c.conrelid::regclass::text AS table, a.attname AS column
     FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
     WHERE c.contype = 'f' AND c.confrelid = 'main_activitystream'::regclass`,
  );
  const entries = 'SELECT id FROM main_activitystream WHERE actor_id = $1';
  for (const { table, column } of links)
    await it.sql(`DELETE FROM ${table} WHERE ${column} IN (${entries})`, [account.id]);
  await it.sql('DELETE FROM main_activitystream WHERE actor_id = $1', [account.id]);
}

async function wipedStream(it: Installation): Promise<string> {
  const stolen = await steal(it, 'wiping');
  const second = `${it.prefix}planted`;
  await act(it, stolen.as, 'POST', 'users/', { username: second, password: it.keep('Pw-planted-9A-xyz') });
  await wipe(it, stolen);
  // The next entry shows that numbers before it are missing.
  await makeUser(it, 'after-the-wipe');
  for (const current of ['rest', 'db'] as const) {
    const { items, plan } = await investigated(it, stolen, current);
    const hole = itemOf(items, 'activity_stream:period');
    assert.deepEqual([hole.risk, hole.state], ['critical', 'unknown']);
    assert.doesNotMatch(plan, /Nothing is known to remain/);
  }
  return 'The entries of one account were deleted, and no answer said that nothing remains.';
}

async function move(it: Installation): Promise<void> {
  const stolen = await steal(it, 'moving');
  const administrator = await makeUser(it, 'foreign-administrator');
  const foreign = await it.create('organizations/', { name: it.name('foreign') });
  await act(it, it.admin, 'POST', `organizations/${foreign.id}/admins/`, { id: administrator.id });
  const { organization } = it;
  const inventory = await it.create('inventories/', { name: it.name('moved'), organization });
  const change = () =>
    it.request(`inventories/${inventory.id}/`, asUser(administrator), {
      method: 'PATCH',
      body: { description: 'taken' },
    });
  expectStatus(await change(), 403);
  await act(it, stolen.as, 'PATCH', `inventories/${inventory.id}/`, { organization: foreign.id });
  const { items, plan } = await investigated(it, stolen);
  expectStatus(await change(), 200);
  const { findings, risk, state } = itemOf(items, `inventory:${inventory.id}`);
  assert.deepEqual([risk === 'high' || risk === 'critical', state], [true, 'there']);
  const moved = findings.find(({ rule }) => rule === 'moved')?.message ?? '';
  assert.ok(moved.includes(administrator.name), `not named: ${moved}`);
  assert.match(plan, new RegExp(`inventory:${inventory.id}`));
}

async function hostsInBulk(it: Installation): Promise<void> {
  const stolen = await steal(it, 'bulk');
  const { organization } = it;
  const inventory = await it.create('inventories/', { name: it.name('bulk'), organization });
  await act(it, stolen.as, 'POST', 'bulk/host_create/', {
    ...{ inventory: inventory.id, hosts: [{ name: 'evil-1' }, { name: 'evil-2' }] },
  });
  const { items } = await investigated(it, stolen);
  const found = items.find(({ findings }) => findings.some(({ rule }) => rule === 'uncounted-hosts'));
  assert.deepEqual([found?.risk, found?.state], ['high', 'unknown']);
}

async function inputSource(it: Installation): Promise<void> {
  const stolen = await steal(it, 'input-source');
  const types = async (filter: string) => {
    const [type] = await it.all(`credential_types/?${filter}&order_by=id`);
    return Number(type?.['id']);
  };
  const { organization } = it;
  const source = await it.create('credentials/', {
    ...{
      name: it.name('vault'),
      organization,
      credential_type: await types('kind=external&namespace=conjur'),
    },
    inputs: {
      url: 'https://vault.invalid',
      account: 'a',
      username: 'u',
      api_key: it.keep('key-of-a-test-1'),
    },
  });
  const target = await it.create('credentials/', {
    ...{ name: it.name('machine'), organization, credential_type: await types('kind=ssh&namespace=ssh') },
  });
  const made = await act(it, stolen.as, 'POST', 'credential_input_sources/', {
    ...{ source_credential: source.id, target_credential: target.id, input_field_name: 'password' },
    metadata: { secret_path: 'x' },
  });
  const { items } = await investigated(it, stolen);
  assert.equal(itemOf(items, `credential_input_source:${made['id']}`).state, 'there');
}

async function decoy(it: Installation): Promise<void> {
  const bob = await makeUser(it, 'bob', { is_superuser: true });
  const renamed = it.name('b0b');
  await act(it, it.admin, 'PATCH', `users/${bob.id}/`, { username: renamed });
  const second = await makeUser(it, 'bob');
  const { code, body } = await homeOf(it).json<{ plan?: { names?: { earlier: { id: number }[] } } }>(
    ...['incident', 'lockdown', '--user', second.name, '--reason', 'acceptance', '--yes'],
  );
  assert.equal(code, 5);
  assert.ok(JSON.stringify(body).includes(renamed), 'who had the name before is not named');
  expectStatus(await it.request('me/', asUser({ ...bob, name: renamed })), 200);
}

/** What an intruder does so that an investigation or a lockdown says what is not so. */
export const evidence: AcceptanceSuite = {
  name: 'Evidence',
  needs: [CONTROLLER],
  scenarios: [
    { name: 'who gains access by a move to another organization is named', run: move },
    { name: 'hosts that were made in bulk are counted', needs: [REAL_CONTROLLER], run: hostsInBulk },
    {
      name: 'a credential input source does not end an investigation',
      needs: [REAL_CONTROLLER],
      run: inputSource,
    },
    { name: 'a decoy of the name does not hide who had it', run: decoy },
    {
      name: 'a stream without the entries of the intruder is no all-clear',
      needs: [DATABASE, consent('activityStream')],
      run: wipedStream,
    },
  ],
};
