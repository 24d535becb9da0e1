import { TokenctlError } from '@tokenctl/common/errors.ts';
import { expect, test } from 'vitest';
import { investigationDocument } from '../../../src/cli/investigation/investigation-text.ts';
import { notNamed } from '../../../src/domain/investigation/earlier-items.ts';
import { remains } from '../../../src/domain/investigation/investigation.ts';
import { investigate } from '../../../src/operations/investigation/investigate.ts';
import { streamHole } from '../../../src/operations/investigation/stream-hole.ts';
import type { RoleAssignment } from '../../../src/operations/ports/evidence.ts';
import type { TargetDescription } from '../../../src/operations/ports/target.ts';
import { documentText } from '../../../src/reports/document.ts';
import { fixture } from '../../support/fixture.ts';
import { MemoryEvidence } from '../../support/memory-evidence.ts';
import { user } from '../../support/memory-target.ts';
import { token } from '../../support/tokens.ts';

const NOW = new Date('2026-11-21T00:00:00Z');
const IVY = 'ivy:11';
const BOB = 'bob:3';

/** An intruder (ivy), who made eve; bob works beside them. */
async function estate(present: readonly string[] = ['ivy', 'bob', 'eve']) {
  const at = await fixture(0);
  const ids: Readonly<Record<string, number>> = { ivy: 11, bob: 3, eve: 12, amy: 14 };
  for (const name of present) at.target.people.push(user(ids[name] ?? 99, name));
  const evidence = new MemoryEvidence();
  for (const { id, username } of at.target.people) evidence.users.set(id, username);
  for (const name of ['ivy', 'eve', 'amy']) if (!present.includes(name)) evidence.deletedUsers.add(name);
  const run = (asked: Partial<Parameters<typeof investigate>[0]> = {}) =>
    investigate({
      target: at.target,
      description: at.common.description,
      evidence,
      clock: { now: () => NOW },
      user: 'ivy',
      since: new Date('2026-11-20T00:00:00Z'),
      ...asked,
    });
  return { ...at, evidence, run };
}

test('what was planted is found with what became of it, and nothing of others', async () => {
  const { evidence, run } = await estate();
  const template = { playbook: 'evil.yml', limit: 'db', description: 'by ivy' };
  evidence.now.set('job_template:7', { ...template, limit: 'web' });
  evidence.now.set('schedule:6', { enabled: true });
  evidence.now.set('user:12', {});
  evidence.now.set('organization:1', {});
  evidence.write(BOB, 'update', 'job_template:7', { job_tags: ['', 'bob'] });
  evidence.write(IVY, 'update', 'job_template:7', {
    playbook: ['site.yml', 'evil.yml'],
    limit: ['all', 'db'],
  });
  evidence.write(IVY, 'create', 'schedule:6', { id: 6, name: 'nightly' });
  evidence.write(IVY, 'create', 'schedule:8', { id: 8, name: 'gone' });
  evidence.write(IVY, 'create', 'user:12', { id: 12, username: 'eve', password: 'hidden' });
  const grant = { object1_pk: 12, object2_pk: 9, relationship: 'awx.main.models.rbac.Role_members' };
  evidence.write(IVY, 'associate', 'user:12', grant, {
    object2: 'organization',
    relationship: 'awx.main.models.organization.Organization.admin_role',
    links: new Map([
      ['user', [{ id: 12, name: 'eve' }]],
      ['organization', [{ id: 1, name: 'Default' }]],
    ]),
  });
  evidence.ties.add('role:9:user:12');
  evidence.write('eve:12', 'create', 'o_auth2_access_token:50', {
    id: 50,
    description: 't',
    token: '************',
  });
  evidence.now.set('o_auth2_access_token:50', {});
  evidence.write(BOB, 'create', 'schedule:9', { id: 9, name: 'of bob' });
  evidence.write(BOB, 'update', 'job_template:7', { limit: ['db', 'web'] });
  const { items, chain } = await run();

  expect(chain.map(({ user: who, how, by }) => [who.username, how, by?.username])).toEqual([
    ['ivy', 'subject', undefined],
    ['eve', 'made', 'ivy'],
  ]);
  expect(items.map(({ id, act, state, risk }) => [id, act, state, risk])).toEqual([
    ['role:9:user:12', 'granted', 'there', 'critical'],
    ['user:12', 'made', 'there', 'high'],
    ['o_auth2_access_token:50', 'made', 'there', 'high'],
    ['job_template:7', 'changed', 'there', 'high'],
    ['schedule:6', 'made', 'there', 'high'],
    ['schedule:8', 'made', 'gone', 'high'],
  ]);
  const changed = items.find(({ id }) => id === 'job_template:7');
  expect(changed?.changes).toMatchObject([
    { field: 'playbook', before: 'site.yml', after: 'evil.yml', now: 'evil.yml', state: 'as_left' },
    { field: 'limit', before: 'all', after: 'db', now: 'web', state: 'changed' },
  ]);
  expect(changed?.changedSince).toMatchObject([{ by: { username: 'bob' }, fields: ['limit'] }]);
  expect(changed?.remedy).toEqual({
    kind: 'call',
    text: 'PATCH /api/v2/job_templates/7/ {"playbook":"site.yml"}',
  });
  expect(items.find(({ id }) => id === 'role:9:user:12')?.summary).toBe(
    'granted admin_role on organization Default (1) to user eve (12)',
  );
});

test('a made user is rated by what it may do now, also where no entry made it a superuser', async () => {
  const { evidence, run } = await estate();
  evidence.write(IVY, 'create', 'user:12', { id: 12, username: 'eve', is_superuser: false });
  evidence.write(IVY, 'update', 'user:14', { email: ['', 'x@example.com'] });
  evidence.now.set('user:14', { is_superuser: true });
  const riskOf = async (id: string) => (await run()).items.find((item) => item.id === id);
  evidence.now.set('user:12', { is_superuser: false });
  expect(await riskOf('user:12')).toMatchObject({ risk: 'high' });
  evidence.now.set('user:12', { is_superuser: true });
  expect(await riskOf('user:12')).toMatchObject({
    risk: 'critical',
    findings: [
      {
        rule: 'superuser-now',
        message: expect.stringMatching(/now a superuser, according to the controller/),
      },
      {},
    ],
  });
  // A superuser of before, of whom the actor changed something else, is no one whom the actor made.
  expect((await riskOf('user:14'))?.findings.map(({ rule }) => rule)).not.toContain('superuser-now');
});

test('what is left of the values that an actor put in remains, whoever edited the field since', async () => {
  const { evidence, run } = await estate();
  const hostile = 'a: 1\nansible_connection: local';
  evidence.write(IVY, 'update', 'inventory:4', { variables: ['a: 1', hostile] });
  evidence.write(BOB, 'update', 'inventory:4', { variables: [hostile, `${hostile}\nb: 2`] });
  evidence.now.set('inventory:4', { variables: `${hostile}\nb: 2` });
  evidence.write(IVY, 'update', 'host:5', { variables: ['a: 1', hostile] });
  evidence.write(BOB, 'update', 'host:5', { variables: [hostile, 'a: 2'] });
  evidence.now.set('host:5', { variables: 'a: 2' });
  evidence.write(IVY, 'update', 'credential:6', { inputs: ['hidden', 'hidden'] });
  evidence.write(BOB, 'update', 'credential:6', { inputs: ['hidden', 'hidden'] });
  evidence.now.set('credential:6', { inputs: { password: '$encrypted$' } });
  const { items } = await run();
  const of = (id: string) => items.find((item) => item.id === id);
  expect(of('inventory:4')).toMatchObject({
    ...{ state: 'there', changes: [{ field: 'variables', state: 'left_in_part' }] },
    remedy: { kind: 'manual', text: expect.stringContaining('Others have changed variables since') },
  });
  expect(of('host:5')).toMatchObject({ state: 'changed', changes: [{ state: 'changed' }] });
  expect(of('credential:6')).toMatchObject({
    ...{ state: 'unknown', changes: [{ state: 'not_reviewed' }] },
    stateReason: 'Not checked: inputs changed since by bob, not reviewed.',
  });
  expect(items.filter(remains).map(({ id }) => id)).toEqual(
    expect.arrayContaining(['inventory:4', 'credential:6']),
  );
});

test('every changed field is compared, however many there are', async () => {
  const { evidence, run } = await estate();
  const names = Array.from({ length: 60 }, (_, index) => `field_${index}`);
  evidence.write(IVY, 'update', 'job_template:7', {
    ...Object.fromEntries(names.map((name) => [name, ['old', 'new']])),
    playbook: ['site.yml', 'evil.yml'],
  });
  evidence.now.set('job_template:7', {
    ...Object.fromEntries(names.map((name) => [name, 'old'])),
    playbook: 'evil.yml',
  });
  const [item] = (await run()).items;
  expect(item).toMatchObject({ id: 'job_template:7', state: 'there' });
  expect(item?.changes.filter(({ state }) => state === 'as_left').map(({ field }) => field)).toEqual([
    'playbook',
  ]);
});

test('a user who swapped names with another one is followed, and the swap is said', async () => {
  const { evidence, run, target } = await estate(['ivy', 'bob']);
  evidence.write(IVY, 'create', 'schedule:6', { id: 6, name: 'nightly' });
  evidence.now.set('schedule:6', { enabled: true });
  const named = (id: number, from: string, to: string) =>
    evidence.write(IVY, 'update', `user:${id}`, { username: [from, to] });
  named(11, 'ivy', 'tmp');
  named(3, 'bob', 'ivy');
  named(11, 'tmp', 'bob');
  evidence.users.set(11, 'bob').set(3, 'ivy');
  target.people.splice(0, target.people.length, user(11, 'bob'), user(3, 'ivy'));
  for (const entry of evidence.entriesList) Object.assign(entry, { actor: { id: 11, username: 'bob' } });
  const { items, chain, limits } = await run({ user: 'ivy' });
  expect(chain).toMatchObject([{ how: 'subject', user: { id: 11, username: 'bob' } }]);
  expect(items.filter(remains).map(({ id }) => id)).toContain('schedule:6');
  expect(limits.find(({ limit }) => limit === 'renamed')?.text).toBe(
    'The name ivy did not always belong to the same user: user 11 gave it up at 2026-11-20T08:02:00.000Z and became tmp; ' +
      'user 3 (formerly bob) got it at 2026-11-20T08:03:00.000Z. This investigation follows user 11. ' +
      'Not included: the actions of user 3 under this name.',
  );
  // By its new name, the same user is found.
  expect((await run({ user: 'tmp' })).chain).toMatchObject([{ user: { id: 11 } }]);
});

test('a chain with a cycle ends, and each user counts from the earliest time', async () => {
  const { evidence, run } = await estate(['ivy', 'eve', 'amy', 'bob']);
  evidence.write('amy:14', 'create', 'schedule:1', { id: 1, name: 'before' });
  evidence.write(IVY, 'create', 'user:12', { id: 12, username: 'eve' });
  evidence.write(
    'eve:12',
    'update',
    'user:14',
    { password: ['hidden', 'hidden'] },
    { links: new Map([['user', [{ id: 14, name: 'amy' }]]]) },
  );
  evidence.write(
    'amy:14',
    'update',
    'user:11',
    { password: ['hidden', 'hidden'] },
    { links: new Map([['user', [{ id: 11, name: 'ivy' }]]]) },
  );
  evidence.write(
    'amy:14',
    'update',
    'user:12',
    { password: ['hidden', 'hidden'] },
    { links: new Map([['user', [{ id: 12, name: 'eve' }]]]) },
  );
  evidence.write('amy:14', 'create', 'schedule:2', { id: 2, name: 'after' });
  const { chain, items, limits } = await run();
  expect(chain.map(({ user: { username }, depth, through }) => [username, depth, through])).toEqual([
    ['ivy', 0, null],
    ['eve', 1, 'user:12'],
    ['amy', 2, 'user:14'],
  ]);
  expect(items.map(({ id }) => id)).toContain('schedule:2');
  expect(items.map(({ id }) => id)).not.toContain('schedule:1');
  expect(limits.find(({ text }) => text.includes('The password of'))?.text).toContain('amy');
});

test('what a user did who was deleted since counts as well', async () => {
  const { evidence, run } = await estate(['ivy', 'bob']);
  evidence.write(IVY, 'create', 'user', { id: 12, username: 'eve' });
  evidence.write('eve', 'create', 'schedule:2', { id: 2, name: 'left' });
  evidence.now.set('schedule:2', { enabled: true });
  const { chain, items } = await run();
  expect(chain.map(({ user: { username }, exists }) => [username, exists])).toEqual([
    ['ivy', true],
    ['eve', false],
  ]);
  expect(items.filter(remains).map(({ id }) => id)).toEqual(['schedule:2']);
  expect((await run({ user: 'eve' })).items.map(({ id }) => id)).toEqual(['schedule:2']);
});

test('jobs by the actor, by a schedule of the actor and of changed templates are what ran', async () => {
  const { evidence, run } = await estate();
  const job = {
    ...{
      kind: 'job',
      name: 'Demo',
      launchType: 'manual',
      started: null,
      finished: null,
      credentials: ['Demo Credential'],
    },
    ...{ created: new Date('2026-11-20T12:00:00Z'), createdBy: null, scheduleId: null, hosts: 3 },
  };
  evidence.write(IVY, 'update', 'job_template:7', { playbook: ['site.yml', 'evil.yml'] });
  evidence.write(IVY, 'update', 'job_template:8', { description: ['', 'harmless'] });
  evidence.write(IVY, 'create', 'schedule:6', { id: 6, name: 'nightly' });
  const bob = { id: 3, username: 'bob' };
  evidence.ran.push(
    { ...job, id: 1, status: 'successful', template: { id: 7, name: 'Demo' }, createdBy: bob },
    { ...job, id: 2, status: 'running', template: { id: 9, name: 'x' }, scheduleId: 6 },
    {
      ...job,
      id: 3,
      status: 'pending',
      template: { id: 9, name: 'x' },
      createdBy: { id: 11, username: 'ivy' },
    },
    { ...job, id: 4, status: 'pending', template: { id: 8, name: 'x' }, createdBy: bob },
    {
      ...job,
      id: 5,
      status: 'successful',
      template: { id: 7, name: 'x' },
      createdBy: bob,
      created: new Date('2026-11-20T08:00:30Z'),
    },
  );
  const { items, mayHaveRead } = await run();
  expect(
    items
      .filter(({ group }) => group === 'ran')
      .map(({ id, state, job: facts }) => [id, state, facts?.because]),
  ).toEqual([
    ['job:1', 'finished', 'changed'],
    ['job:2', 'running', 'made'],
    ['job:3', 'running', 'launched'],
  ]);
  expect(mayHaveRead.join(' ')).toContain('Demo Credential');
});

test('what is not known is said: pruned entries, entries without an actor, what the account does not see', async () => {
  const { evidence, run, common } = await estate();
  evidence.write(null, 'update', 'user:3', { is_system_auditor: [false, true] });
  const visibility = {
    kind: 'part',
    ...{ tokens: 'its own', users: 'itself', applications: 'none', organizations: [] },
  } as const;
  evidence.ran.push({
    ...{ kind: 'workflow_job', id: 4, name: 'flow', status: 'successful', launchType: 'manual' },
    ...{
      created: new Date('2026-11-20T09:00:00Z'),
      started: null,
      finished: null,
      credentials: [],
      hosts: null,
    },
    ...{ createdBy: { id: 11, username: 'ivy' }, template: null, scheduleId: null },
  });
  const { limits, unattributed } = await run({ description: { ...common.description, visibility } });
  expect(limits.map(({ limit }) => limit)).toEqual([
    ...[
      'stream_off',
      'stream_pruned',
      'no_actor',
      'clock',
      'visibility',
      'not_recorded',
      'not_recorded',
      'token_unknown',
      'not_listed',
      'not_listed',
    ],
  ]);
  expect(limits[0]?.text).toContain('Not checked');
  expect(unattributed).toMatchObject([{ object: { kind: 'user', id: 3 }, fields: ['is_system_auditor'] }]);
});

test('a stream that was switched is said, also if it is on now', async () => {
  const { evidence, run } = await estate();
  evidence.switched = new Date('2026-11-20T12:00:00Z');
  const { stream, limits } = await run();
  expect(stream.enabled).toBe(true);
  expect(limits.find(({ limit }) => limit === 'stream_off')?.text).toContain('2026-11-20T12:00:00.000Z');
});

test('a list that could not be read is a limit, and nothing else is said of it', async () => {
  const { evidence, run } = await estate();
  const of = async (name: string) =>
    (await run()).limits.flatMap(({ limit, text }) => (limit === name ? [text] : []));
  expect((await of('not_recorded')).join()).toContain(
    'from other lists instead: hosts that were created in bulk',
  );
  expect(await of('entries_missing')).toEqual([]);
  expect(await of('jobs_missing')).toEqual([]);
  evidence.unread = ['host', 'credential_type'];
  evidence.assigned = null;
  evidence.joined = null;
  evidence.lost = { entries: null, jobs: null };
  const unread = await of('not_listed');
  expect(unread[0]).toMatch(
    /^Not checked: hosts that were created in bulk, .*, role assignments and role definitions\./,
  );
  expect(unread[0]).toContain('Recorded actions are included, also for hosts, credential types,');
  expect(unread.join()).toContain('users who were created without an entry');
  expect((await of('not_recorded')).join()).not.toContain('created in bulk');
  expect(await of('entries_missing')).toEqual([expect.stringContaining('Not checked')]);
  expect(await of('jobs_missing')).toEqual([expect.stringContaining('Not checked')]);
  // A controller without such lists has no such roles: that is no limit.
  evidence.assigned = 'absent';
  expect((await of('not_listed')).join()).not.toContain('role assignments');
  expect((await of('not_recorded')).join()).not.toContain('role assignments');
});

test('users without an entry are listed, also where the stream begins after them', async () => {
  const { evidence, run } = await estate();
  const at = (day: string) => new Date(`2026-11-${day}T07:00:00Z`);
  const superuser = { isSuperuser: true, isRecorded: false };
  evidence.joined = [
    { id: 70, username: 'early', at: at('20'), ...superuser },
    { id: 71, username: 'late', at: at('21'), ...superuser },
    { id: 72, username: 'legitimate', at: at('21'), ...superuser, isRecorded: true },
  ];
  const { items, limits } = await run();
  expect(items.filter(({ id }) => /^user:7/.test(id))).toMatchObject([
    { id: 'user:70', by: [], risk: 'critical' },
    { id: 'user:71', by: [], risk: 'critical' },
  ]);
  expect(limits.find(({ limit }) => limit === 'stream_pruned')?.text).toContain('early (superuser)');
});

test('a relation that the controller refuses is not read, and ends nothing', async () => {
  const { evidence, run } = await estate();
  const ivy = { id: 11, username: 'ivy' };
  const at = new Date('2026-11-20T12:00:00Z');
  evidence.listed = [
    {
      ...{ kind: 'credential_input_source', id: 4, name: 'password', created: at, modified: at },
      ...{ createdBy: ivy, modifiedBy: ivy },
    },
  ];
  evidence.now.set('credential_input_source:4', {});
  evidence.write(IVY, 'create', 'schedule:6', { id: 6, name: 'nightly' });
  evidence.now.set('schedule:6', { enabled: true });
  const refused = async function* () {
    yield await Promise.reject(new TokenctlError('unsupported', 'rejected the parameters'));
  };
  const entriesAbout = evidence.entriesAbout.bind(evidence);
  evidence.entriesAbout = (selector) =>
    selector.kind === 'credential_input_source' ? refused() : entriesAbout(selector);
  const { items, limits } = await run();
  expect(items.map(({ id, state }) => [id, state])).toEqual([
    ['schedule:6', 'there'],
    ['credential_input_source:4', 'there'],
  ]);
  expect(limits.map(({ text }) => text)).toContain(
    'Not checked: whether anyone else has changed the credential input sources since then. The target refused to list the entries about them.',
  );
});

test('secrets of entries reach no result', async () => {
  const { evidence, run } = await estate();
  evidence.write(IVY, 'update', 'job_template:7', {
    host_config_key: ['', 'hunter2hunter2'],
    extra_vars: ['', '{"password": "hunter2hunter2"}'],
  });
  evidence.write(IVY, 'create', 'setting:SOCIAL_AUTH_X_SECRET', { id: 4, value: 'hunter2hunter2' });
  evidence.now.set('job_template:7', {
    host_config_key: 'hunter2hunter2',
    extra_vars: '{"password": "hunter2hunter2"}',
  });
  evidence.values.set('SOCIAL_AUTH_X_SECRET', 'hunter2hunter2');
  expect(JSON.stringify(await run())).not.toContain('hunter2');
});

test('what the owner of a stolen token did before it was made is listed apart, and every sentence says so', async () => {
  const { evidence, target, run } = await estate();
  target.alive.set(
    181,
    token({ id: 181, user: { id: 11, username: 'ivy' }, created: new Date('2026-11-20T08:03:30Z') }),
  );
  evidence.now.set('organization:5', { description: 'by the thief' });
  evidence.write(IVY, 'create', 'user:14', { id: 14, username: 'amy' });
  evidence.write(IVY, 'update', 'organization:5', { description: ['first', 'by ivy'] });
  evidence.write('amy:14', 'create', 'team:4', { id: 4, name: 'of amy' });
  evidence.write(IVY, 'update', 'organization:5', { description: ['by ivy', 'by the thief'] });
  evidence.write(IVY, 'create', 'schedule:6', { id: 6, name: 'nightly' });
  const asked = { user: undefined, token: 181 };
  const found = await run(asked);
  expect(found.beforeToken).toMatchObject({ madeAt: '2026-11-20T08:03:30.000Z', isWhole: true });
  expect(found.beforeToken?.items.map(({ id, state }) => [id, state])).toEqual([
    ['user:14', 'unknown'],
    ['organization:5', 'unknown'],
  ]);
  // The owner's colleague is no one through whom the thief acted, and the owner's value is the one to go back to.
  expect(found.chain.map(({ user: { username } }) => username)).toEqual(['ivy']);
  expect(found.items.map(({ id }) => id)).not.toContain('user:14');
  const changed = found.items.find(({ id }) => id === 'organization:5');
  expect(changed?.changes).toMatchObject([{ field: 'description', before: 'by ivy', after: 'by the thief' }]);
  const said = found.limits.find(({ limit }) => limit === 'token_unknown')?.text;
  expect(said).toContain(
    'All actions of ivy since 2026-11-20T08:03:30.000Z, when the token was created, are included',
  );
  expect(said).toContain("considered the owner's own work, and listed separately: 2 items.");
  expect(documentText(investigationDocument(found, { all: false }))).toMatch(
    /From before the stolen token was created, 2026-11-20T08:03:30Z, and considered the owner's own work: 2 items\./,
  );
  // Where the period begins later, nothing is left out, and nothing is said of it.
  const later = await run({ ...asked, since: new Date('2026-11-20T08:03:45Z') });
  expect(later.beforeToken).toBeUndefined();
  expect(later.limits.find(({ limit }) => limit === 'token_unknown')?.text).toContain(
    'All actions of ivy in the period are included',
  );
});

test('of a token that nothing tells of, the user of its incident is investigated, and that is said', async () => {
  const { evidence, run } = await estate();
  evidence.write(IVY, 'create', 'schedule:6', { id: 6, name: 'nightly' });
  const { subject, items, limits } = await run({ user: undefined, token: 4, owner: 'ivy' });
  expect(subject).toEqual({ kind: 'user', name: 'ivy' });
  expect(items.map(({ id }) => id)).toContain('schedule:6');
  expect(limits[0]?.text).toMatch(
    /^Access token 4 does not exist, .* According to the incident, which was not checked, it belonged to ivy\./,
  );
});

test.each([{ user: 'nobody' }, { user: undefined, token: 4 }, { user: undefined }])(
  'an unknown subject is refused: %j',
  async (asked) => {
    const { run } = await estate();
    await expect(run(asked)).rejects.toMatchObject({ name: 'TokenctlError' });
  },
);

test('a user who was renamed is followed by its number, and shown with the name that it has now', async () => {
  const { evidence, run } = await estate(['ivy', 'bob']);
  evidence.users.set(12, 'svc-backup');
  evidence.write(IVY, 'create', 'user:12', { id: 12, username: 'eve' });
  evidence.write('svc-backup:12', 'create', 'schedule:6', { id: 6, name: 'nightly' });
  evidence.now.set('schedule:6', { enabled: true });
  const { chain, items } = await run();
  expect(chain.map(({ user, exists }) => [user.username, exists])).toEqual([
    ['ivy', true],
    ['svc-backup', true],
  ]);
  expect(items.map(({ id, state }) => [id, state])).toContainEqual(['schedule:6', 'there']);
});

test('what a deleted user did counts, also where another user has its name now', async () => {
  const { evidence, run } = await estate(['ivy', 'bob']);
  evidence.users.set(13, 'eve');
  evidence.write(IVY, 'create', 'user:12', { id: 12, username: 'eve' });
  // Over REST, a deleted actor has no id.
  const entry = evidence.write('eve', 'create', 'schedule:6', { id: 6, name: 'nightly' });
  evidence.deletedActors.add(entry.id);
  evidence.write(IVY, 'create', 'user:13', { id: 13, username: 'eve' });
  evidence.write('eve:13', 'create', 'schedule:7', { id: 7, name: 'later' });
  evidence.now.set('schedule:6', { enabled: true }).set('schedule:7', { enabled: true });
  const { items, stream } = await run();
  expect(items.filter(remains).map(({ id }) => id)).toEqual(['user:13', 'schedule:6', 'schedule:7']);
  expect(stream.read).toBe(4);
});

test('a deleted user with the name of the subject is investigated as well', async () => {
  const { evidence, run } = await estate();
  const entry = evidence.write('ivy', 'create', 'schedule:6', { id: 6, name: 'nightly' });
  evidence.deletedActors.add(entry.id);
  evidence.now.set('schedule:6', { enabled: true });
  const { chain, items } = await run();
  expect(items.map(({ id, state }) => [id, state])).toEqual([['schedule:6', 'there']]);
  expect(chain.map(({ user: { username }, exists }) => [username, exists])).toEqual([
    ['ivy', true],
    ['ivy', false],
  ]);
});

test('the image that an organization runs jobs in is code, its description is not', async () => {
  const { evidence, run } = await estate();
  evidence.now.set('organization:1', { default_environment: 3 }).set('organization:2', { description: 'x' });
  evidence.write(IVY, 'update', 'organization:1', { default_environment: [null, 'evil-3'] });
  evidence.write(IVY, 'update', 'organization:2', { description: ['', 'x'] });
  const { items } = await run();
  expect(items.map(({ id, group, risk }) => [id, group, risk])).toEqual([
    ['organization:1', 'code_later', 'high'],
    ['organization:2', 'other', null],
  ]);
});

test('roles that the stream does not record are found once, and those that others gave are not', async () => {
  const { evidence, run } = await estate();
  const at = new Date('2026-11-20T12:00:00Z');
  const ivy = { id: 11, username: 'ivy' };
  const given = (id: number, name: string, more: Partial<RoleAssignment> = {}): RoleAssignment => ({
    ...{ kind: 'role_user_assignment', id, at, by: ivy },
    definition: { id: 29, name, managed: !name.startsWith('of ivy') },
    holder: { kind: 'user', id: 3, name: 'bob' },
    about: { kind: 'organization', id: 1, name: 'Default' },
    ...more,
  });
  const grant = { object1_pk: 3, object2_pk: 9, relationship: 'awx.main.models.rbac.Role_members' };
  evidence.write(IVY, 'associate', 'user:3', grant, {
    object2: 'organization',
    relationship: 'awx.main.models.organization.Organization.member_role',
    links: new Map([
      ['user', [{ id: 3, name: 'bob' }]],
      ['organization', [{ id: 1, name: 'Default' }]],
    ]),
  });
  evidence.ties.add('role:9:user:3');
  evidence.now.set('organization:1', {});
  evidence.assigned = {
    assignments: [
      given(1, 'Organization Member'),
      given(2, 'Organization Admin'),
      given(3, 'of ivy'),
      given(4, 'Organization Admin', { at: new Date('2026-11-19T12:00:00Z') }),
    ],
    definitions: [{ id: 32, name: 'of ivy', created: at, createdBy: ivy, modified: at, modifiedBy: ivy }],
    unattributed: 2,
  };
  const { items, limits } = await run();
  expect(items.map(({ id, risk, remedy }) => [id, risk, remedy?.text])).toEqual([
    ['role:9:user:3', 'critical', 'POST /api/v2/roles/9/users/ {"id":3,"disassociate":true}'],
    ['role_user_assignment:2', 'critical', 'DELETE /api/v2/role_user_assignments/2/'],
    ['role_user_assignment:3', 'critical', 'DELETE /api/v2/role_user_assignments/3/'],
    [
      'role_definition:32',
      'high',
      'Others may use it. When that is clear, delete it manually with DELETE /api/v2/role_definitions/32/ (not tested on a controller).',
    ],
  ]);
  expect(limits.map(({ text }) => text)).toContainEqual(
    expect.stringContaining('2 role assignments in this period have no creator'),
  );
  evidence.assigned = null;
  expect((await run()).limits.map(({ text }) => text)).toContainEqual(
    expect.stringContaining('Not checked: role assignments'),
  );
});

test('a role that is no longer listed was removed, unless its maker was deleted', async () => {
  const { evidence, run } = await estate();
  evidence.assigned = {
    assignments: [
      {
        ...{ kind: 'role_user_assignment', id: 1, at: new Date('2026-11-20T12:00:00Z') },
        by: { id: 11, username: 'ivy' },
        definition: { id: 29, name: 'Organization Admin', managed: true },
        holder: { kind: 'user', id: 3, name: 'bob' },
        about: { kind: 'organization', id: 1, name: 'Default' },
      },
    ],
    definitions: [],
    unattributed: 0,
  };
  const { items } = await run();
  evidence.assigned = { assignments: [], definitions: [], unattributed: 1 };
  const after = await run();
  const stateIn = (last: typeof after) => notNamed(items, last).map(({ id, state }) => [id, state]);
  expect(stateIn(after)).toEqual([['role_user_assignment:1', 'gone']]);
  const chain = after.chain.map((member) => ({ ...member, exists: false }));
  expect(stateIn({ ...after, chain })).toEqual([['role_user_assignment:1', 'unknown']]);
  expect(stateIn({ ...after, since: '2026-11-20T13:00:00.000Z' })).toEqual([
    ['role_user_assignment:1', 'unknown'],
  ]);
});

test('who claims over REST to be the service is asked for its first accounts, as a controller is', () => {
  const at = (time: string) => new Date(`2026-11-20T${time}:00Z`);
  const extent = { oldest: at('09:00'), newest: at('10:00'), oldestUser: at('07:00') };
  const found = {
    extent: { ...extent, enabled: true, switched: null },
    ...{ missing: null, users: [], window: { since: at('08:00'), until: at('11:00') } },
  };
  const hole = (description: Pick<TargetDescription, 'dialect' | 'credential'>) =>
    streamHole({ ...found, description })?.isEmptied ?? false;
  expect(hole({ dialect: 'controller', credential: 'token' })).toBe(true);
  expect(hole({ dialect: 'service', credential: 'token' })).toBe(true);
  // Its tables show that it is the service, which has no entries of its first accounts.
  expect(hole({ dialect: 'service', credential: 'database_role' })).toBe(false);
  expect(hole({ dialect: 'gateway', credential: 'token' })).toBe(false);
});
