import { TokenctlError } from '@tokenctl/common/errors.ts';
import { expect, test } from 'vitest';
import { countsOf } from '../../../src/cli/investigation/cleaning-text.ts';
import type { CleaningAct } from '../../../src/domain/investigation/cleaning.ts';
import { type CleaningReport, clean, undoCleaning } from '../../../src/operations/investigation/clean.ts';
import { investigate } from '../../../src/operations/investigation/investigate.ts';
import {
  type CleaningWay,
  isIrreversible,
  planCleaning,
  reversible,
} from '../../../src/operations/investigation/plan-cleaning.ts';
import { planUndo } from '../../../src/operations/investigation/plan-undo.ts';
import type { Cleaner } from '../../../src/operations/ports/evidence.ts';
import { failingFrom, fixture } from '../../support/fixture.ts';
import { MemoryEvidence } from '../../support/memory-evidence.ts';
import { user } from '../../support/memory-target.ts';
import { token } from '../../support/tokens.ts';

const IVY = 'ivy:11';

/** What ivy left behind: a token, a schedule, a changed template, a role; and a schedule that bob changed since. */
async function estate() {
  const at = await fixture(0);
  at.target.people.push(user(11, 'ivy'), user(12, 'eve'));
  const evidence = new MemoryEvidence();
  for (const { id, username } of at.target.people) evidence.users.set(id, username);
  at.target.alive.set(50, token({ id: 50, user: { id: 11, username: 'ivy' } }));
  evidence.write(IVY, 'create', 'o_auth2_access_token:50', { id: 50, description: 'backup' });
  evidence.write(IVY, 'create', 'schedule:6', { id: 6, name: 'nightly' });
  evidence.write(IVY, 'create', 'schedule:7', { id: 7, name: 'changed' });
  evidence.write(IVY, 'update', 'job_template:7', {
    extra_vars: ['{"password": "hunter2hunter2"}', ''],
    limit: ['all', 'db'],
    webhook_service: ['', 'github'],
  });
  const grant = { object1_pk: 12, object2_pk: 9, relationship: 'awx.main.models.rbac.Role_members' };
  evidence.write(IVY, 'associate', 'user:12', grant, {
    object2: 'organization',
    relationship: 'x.admin_role',
  });
  evidence.ties.add('role:9:user:12');
  evidence.write(IVY, 'update', 'credential:3', { inputs: ['hidden', 'hidden'] });
  evidence.write('bob:3', 'update', 'schedule:7', { name: ['changed', 'of bob'] });
  evidence.write('bob:3', 'update', 'job_template:7', { limit: ['db', 'web'] });
  evidence.now.set('o_auth2_access_token:50', {});
  evidence.now.set('schedule:6', { enabled: true }).set('schedule:7', { enabled: true }).set('user:12', {});
  evidence.now
    .set('credential:3', {})
    .set('job_template:7', { extra_vars: '', limit: 'web', webhook_service: 'github' });

  const done: { act: CleaningAct; values: Readonly<Record<string, unknown>> }[] = [];
  const cleaner: Cleaner = {
    refusal: () => null,
    apply: async (act, { write: values }) => {
      done.push({ act, values });
      if (act.path === '/api/v2/schedules/6/') evidence.now.delete('schedule:6');
      if (act.act === 'disassociate') evidence.ties.delete('role:9:user:12');
      if (act.act === 'associate') evidence.ties.add('role:9:user:12');
      if (act.act === 'disable' || act.act === 'enable')
        evidence.now.set(`${act.object.kind}:${act.object.id}`, { [act.field]: act.act === 'enable' });
      if (act.act === 'restore')
        evidence.now.set('job_template:7', { ...evidence.now.get('job_template:7'), ...values });
      return 'done';
    },
  };
  const { description } = at.common;
  const clock = { now: () => new Date('2026-11-21T00:00:00Z') };
  const look = () =>
    investigate({
      target: at.target,
      description,
      evidence,
      clock,
      user: 'ivy',
      since: new Date('2026-11-20T00:00:00Z'),
    });
  const own: CleaningWay = { via: 'rest', context: 'east', description, isTarget: true, cleaner };
  const plan = async (
    selection = {},
    ways = [own],
    marks: Pick<Parameters<typeof planCleaning>[1], 'handedOver'> = {},
  ) => {
    // A revoked token is gone.
    if (!at.target.alive.has(50)) evidence.now.delete('o_auth2_access_token:50');
    return planCleaning(await look(), { selection, ways, ownTokens: [], ...marks });
  };
  const run = async (more = {}, ways = [own]) => {
    const planned = await plan({}, ways);
    return await clean({ ...at.common, clock, plan: planned, evidence, ...more });
  };
  const database: CleaningWay = { ...own, via: 'database', context: 'db' };
  const rest: CleaningWay = { ...own, isTarget: false };
  const planToUndo = (run: string, ways = [database, rest], items?: string[]) =>
    planUndo({ log: at.log, description, evidence, run, ways, restProblem: null, items });
  const undo = async (run: string, more = {}) =>
    await undoCleaning({ ...at.common, clock, plan: await planToUndo(run), evidence, ...more });
  return { ...at, evidence, cleaner, own, database, done, plan, run, planToUndo, undo };
}

test('what has the name that another object gets back is deleted first', async () => {
  const { evidence, plan } = await estate();
  evidence.write(IVY, 'update', 'job_template:8', { name: ['prod', 'old'], limit: ['', 'all'] });
  evidence.write(IVY, 'create', 'job_template:9', { id: 9, name: 'prod' });
  evidence.write(IVY, 'create', 'job_template:10', { id: 10, name: 'other' });
  evidence.now
    .set('job_template:8', { name: 'old', limit: 'all' })
    .set('job_template:9', {})
    .set('job_template:10', {});
  const { clean: planned } = await plan();
  const order = planned.map(({ item }) => item.id).filter((id) => /^job_template:(8|9|10)$/.test(id));
  expect(order).toEqual(['job_template:9', 'job_template:8', 'job_template:10']);
});

test('a new description is left as it is, and restored where it is named', async () => {
  const at = await estate();
  at.evidence.write(IVY, 'update', 'organization:1', { description: ['', 'looked after by nobody'] });
  at.evidence.now.set('organization:1', { description: 'looked after by nobody' });
  const all = await at.plan();
  expect([...all.clean, ...all.keep].map(({ item }) => item.id)).not.toContain('organization:1');
  const named = await at.plan({ items: ['organization:1'] });
  expect(named).toMatchObject({
    clean: [{ item: { id: 'organization:1' }, act: { act: 'restore' } }],
    keep: [],
  });
  // A cleaning that changed nothing of it finds it again.
  const report = await clean({ ...at.common, plan: named, evidence: at.evidence });
  expect([report.result, report.left?.map(({ id }) => id)]).toEqual(['partly', ['organization:1']]);
});

test('a plan ends ways in first, and keeps what others changed since and what cannot be restored', async () => {
  const { plan } = await estate();
  const { clean: planned, keep } = await plan();
  expect(planned.map(({ item, act }) => [item.id, act.act])).toEqual([
    ['o_auth2_access_token:50', 'delete'],
    ['role:9:user:12', 'disassociate'],
    ['schedule:6', 'delete'],
    ['job_template:7', 'restore'],
  ]);
  const restored = planned[3]?.act;
  expect(restored?.act === 'restore' && restored.fields.map(({ field }) => field)).toEqual([
    'extra_vars',
    'webhook_service',
  ]);
  expect(keep.map(({ item, reason }) => [item.id, reason])).toEqual([
    ['credential:3', 'by_hand'],
    ['schedule:7', 'changed_since'],
  ]);
});

test('what was reassigned is left to others, unless it is named', async () => {
  const { plan, own } = await estate();
  const mark = { to: 'carol', by: 'root', at: '2026-11-20T12:00:00.000Z' };
  const handedOver = new Map(['schedule:6', 'credential:3'].map((id) => [id, mark]));
  const { clean: planned, keep } = await plan({}, [own], { handedOver });
  expect(planned.map(({ item }) => item.id)).not.toContain('schedule:6');
  const why = 'Reassigned to carol by root, 2026-11-20T12:00:00.000Z.';
  expect(keep.filter(({ reason }) => reason === 'handed_over')).toMatchObject([
    { item: { id: 'credential:3' }, why },
    { item: { id: 'schedule:6' }, why: `${why} To remove it anyway, select it with --item.` },
  ]);
  const named = await plan({ items: ['schedule:6'] }, [own], { handedOver });
  expect(named).toMatchObject({ clean: [{ item: { id: 'schedule:6' } }], keep: [] });
});

test('a cleaning ends what is planned, records it without secrets, and finds nothing left', async () => {
  const { run, done, log, target, plan } = await estate();
  // The token is gone from the lists once it is revoked.
  const report = await run();
  expect(report.steps.map(({ step, result }) => [step, result])).toEqual([
    ['o_auth2_access_token:50', 'done'],
    ['role:9:user:12', 'done'],
    ['schedule:6', 'done'],
    ['job_template:7', 'done'],
  ]);
  expect(target.alive.has(50)).toBe(false);
  const restored = done.find(({ act }) => act.act === 'restore');
  expect(restored?.values).toEqual({ extra_vars: '{"password": "hunter2hunter2"}', webhook_service: '' });
  const entries = await Array.fromAsync(log.entries(1));
  expect(JSON.stringify(entries)).not.toContain('hunter2');
  expect(entries.filter(({ operation }) => operation === 'incident.clean')).toHaveLength(10);
  expect((await plan()).clean).toEqual([]);
});

test('what is restored in part is left for manual action, and remains', async () => {
  const { evidence, cleaner, own, plan, run } = await estate();
  evidence.write(IVY, 'update', 'credential:3', { description: ['', 'mine'] });
  evidence.now.set('credential:3', { description: 'mine' });
  const apply: Cleaner['apply'] = async (act, values) => {
    if (act.object.kind !== 'credential') return await cleaner.apply(act, values);
    evidence.now.set('credential:3', values.write);
    return 'done';
  };
  const ways = [{ ...own, cleaner: { ...cleaner, apply } }];
  const planned = await plan({}, ways);
  const restored = planned.clean.find(({ item }) => item.id === 'credential:3');
  expect(restored?.item.remedy?.text).toMatch(/^The previous values are secret.* Then send PATCH /);
  const byHand = planned.keep.find(({ item }) => item.id === 'credential:3');
  expect(byHand).toMatchObject({ reason: 'by_hand', why: expect.stringContaining('Not restored: inputs.') });
  const { result, steps, left } = await run({}, ways);
  expect(steps.every((step) => step.result === 'done')).toBe(true);
  expect(result).toBe('partly');
  expect(left?.map(({ id }) => id)).toContain('credential:3');
});

test('what comes between the plan and the end is told, and the cleaning is not whole', async () => {
  const { evidence, cleaner, own, plan, run } = await estate();
  const apply: Cleaner['apply'] = async (act, values) => {
    if (act.act === 'disassociate') {
      evidence.now.delete('o_auth2_access_token:50');
      evidence.write(IVY, 'create', 'schedule:60', { id: 60, name: 'again' });
      evidence.now.set('schedule:60', { enabled: true });
    }
    return await cleaner.apply(act, values);
  };
  const report = await run({}, [{ ...own, cleaner: { ...cleaner, apply } }]);
  expect(report).toMatchObject({ result: 'partly', left: [], later: [{ id: 'schedule:60' }] });
  expect((await plan()).clean.map(({ item }) => item.id)).toContain('schedule:60');
});

test('a user who is deactivated can make no token while the tokens are ended', async () => {
  const { evidence, plan, database } = await estate();
  evidence.write(IVY, 'create', 'user:60', { id: 60, username: 'mole' });
  evidence.now.set('user:60', { is_active: true });
  const acts = (await plan({}, [database])).clean.map(({ act }) => [act.act, act.object.kind]);
  expect(acts.slice(0, 2)).toEqual([
    ['disable', 'user'],
    ['delete', 'o_auth2_access_token'],
  ]);
});

test('nothing is ended without the intent in the log', async () => {
  const { run, done, log } = await estate();
  await expect(run({ log: failingFrom(log, 1) })).rejects.toMatchObject({ code: 'audit_unavailable' });
  expect(done).toEqual([]);
});

test('an interrupted cleaning is finished by the next one', async () => {
  const { run, done, plan, own, cleaner } = await estate();
  const stop = new AbortController();
  const stopping: Cleaner = {
    refusal: () => null,
    apply: (...args: Parameters<typeof cleaner.apply>) => {
      stop.abort();
      return cleaner.apply(...args);
    },
  };
  const first = await run({ signal: stop.signal }, [{ ...own, cleaner: stopping }]);
  expect(first).toMatchObject({ result: 'partly', interrupted: true, left: null });
  expect(first.steps.map(({ result }) => result)).toEqual([
    'done',
    'done',
    'not_tried',
    'not_tried',
    'not_tried',
  ]);
  expect((await plan()).clean.map(({ item }) => item.id)).toEqual(['schedule:6', 'job_template:7']);
  await run();
  expect(done.map(({ act }) => act.act)).toEqual(['disassociate', 'delete', 'restore']);
  expect((await plan()).clean).toEqual([]);
});

test('each planned item is counted once, and what cannot be undone is told from the rest', async () => {
  const { plan } = await estate();
  const whole = await plan();
  expect(whole.clean.filter(isIrreversible).map(({ item }) => item.id)).toEqual([
    'o_auth2_access_token:50',
    'schedule:6',
    // It gives the template a new key.
    'job_template:7',
  ]);
  const rest = reversible(whole);
  expect(rest.clean.map(({ item }) => item.id)).toEqual(['role:9:user:12']);
  expect(rest.keep.map(({ item, reason }) => [item.id, reason])).toEqual([
    ['o_auth2_access_token:50', 'irreversible'],
    ['schedule:6', 'irreversible'],
    ['job_template:7', 'irreversible'],
    ['credential:3', 'by_hand'],
    ['schedule:7', 'changed_since'],
  ]);
  const step = (name: string, result: CleaningReport['steps'][number]['result']) => ({
    step: name,
    title: name,
    result,
    message: '',
  });
  const item = (id: string) => whole.clean.find((each) => each.item.id === id)?.item;
  const left = [item('schedule:6'), item('job_template:7')].filter((each) => each !== undefined);
  const done = {
    ...{ result: 'partly', interrupted: false, stopped: null, run: 'x', left },
    steps: [
      step('o_auth2_access_token:50', 'done'),
      step('role:9:user:12', 'failed'),
      // A name that was swapped takes two steps.
      ...[step('job_template:7', 'done'), step('job_template:7', 'done'), step('schedule:6', 'done')],
      step('verify', 'done'),
    ],
  } as unknown as CleaningReport;
  const restored = whole.clean.find((each) => each.item.id === 'job_template:7');
  const keep = [
    ...whole.keep,
    { item: restored?.item, reason: 'by_hand', why: '' } as (typeof whole.keep)[number],
  ];
  expect(countsOf({ ...whole, keep }, done)).toEqual({
    planned: 4,
    ended: 1,
    inPart: 1,
    remaining: 2,
    byHand: 3,
  });
});

test('items can be chosen by id and by rule; unknown ones, and the caller itself, are refused', async () => {
  const { plan, common, target, own: way } = await estate();
  expect((await plan({ items: ['schedule:6'] })).clean.map(({ item }) => item.id)).toEqual(['schedule:6']);
  expect((await plan({ rules: ['webhook'] })).clean.map(({ item }) => item.id)).toEqual(['job_template:7']);
  await expect(plan({ items: ['schedule:99'] })).rejects.toMatchObject({ code: 'not_found' });
  await expect(plan({ rules: ['nothing'] })).rejects.toMatchObject({ code: 'not_found' });
  const { investigation } = await plan();
  const description = {
    ...common.description,
    identity: { ...common.description.identity, id: 11, username: 'ivy' },
  };
  expect(() =>
    planCleaning(investigation, { selection: {}, ways: [{ ...way, description }], ownTokens: [] }),
  ).toThrow(/is logged in as ivy/);
  const own = planCleaning(investigation, { selection: {}, ways: [way], ownTokens: [50] });
  expect(own.keep.find(({ item }) => item.id === 'o_auth2_access_token:50')?.reason).toBe('own');
  // An intruder that made an account, which tokenctl now signs in as, or gave it a role.
  const identity = { ...common.description.identity, id: 12, username: 'eve' };
  const asEve = planCleaning(investigation, {
    ...{ selection: { items: ['role:9:user:12'] }, ownTokens: [] },
    ways: [{ ...way, description: { ...common.description, identity } }],
  });
  expect(asEve.clean).toEqual([]);
  expect(asEve.keep).toMatchObject([{ reason: 'own', why: expect.stringContaining('is logged in as eve') }]);
  expect(target.alive.has(50)).toBe(true);
});

test('in a database, what it can do is done there, and the rest over REST or listed with the reason', async () => {
  const { plan, own, evidence } = await estate();
  evidence.write(IVY, 'create', 'host:8', { id: 8, name: 'pivot' });
  evidence.write(IVY, 'create', 'notification_template:9', { id: 9, name: 'hook' });
  evidence.write(IVY, 'update', 'project:5', { scm_url: ['https://a.example', 'https://b.example'] });
  evidence.now.set('host:8', { enabled: true }).set('notification_template:9', {});
  evidence.now.set('project:5', { scm_url: 'https://b.example' });
  const database: CleaningWay = { ...own, via: 'database', context: 'db' };
  const alone = await plan({}, [database]);
  expect(alone.clean.map(({ item, act }) => [item.id, act.act])).toEqual([
    ['o_auth2_access_token:50', 'delete'],
    ['role:9:user:12', 'disassociate'],
    ['schedule:6', 'disable'],
    ['job_template:7', 'restore'],
    ['host:8', 'disable'],
  ]);
  const kept = (id: string) => alone.keep.find(({ item }) => item.id === id)?.why;
  expect(kept('project:5')).toMatch(/more than store scm_url .*--rest-context/);
  expect(kept('notification_template:9')).toMatch(/--rest-context/);

  const rest: CleaningWay = { ...own, isTarget: false };
  const both = await plan({}, [database, rest]);
  expect(both.clean.map(({ item, way }) => [item.id, way.via])).toEqual([
    ['o_auth2_access_token:50', 'database'],
    ['role:9:user:12', 'database'],
    ['schedule:6', 'database'],
    ['project:5', 'rest'],
    ['job_template:7', 'database'],
    ['host:8', 'database'],
    ['notification_template:9', 'rest'],
  ]);
  // What the role of the database may not do is done over REST as well.
  const refusing = { ...database, cleaner: { ...own.cleaner, refusal: () => 'It lacks rights.' } };
  expect((await plan({}, [refusing])).keep.find(({ item }) => item.id === 'schedule:6')?.why).toContain(
    'lacks rights',
  );
  expect((await plan({}, [refusing, rest])).clean.find(({ item }) => item.id === 'schedule:6')?.act.act).toBe(
    'delete',
  );
});

test('a field that another user changed after the plan is not restored', async () => {
  const { run, evidence, done, own, cleaner } = await estate();
  const racing: Cleaner = {
    ...cleaner,
    apply: async (act, values) => {
      evidence.now.set('job_template:7', { extra_vars: 'by bob', limit: 'web', webhook_service: 'github' });
      return await cleaner.apply(act, values);
    },
  };
  const report = await run({}, [{ ...own, cleaner: racing }]);
  expect(report).toMatchObject({ result: 'partly' });
  expect(report.steps.at(-1)).toMatchObject({
    result: 'failed',
    message: expect.stringContaining('changed since'),
  });
  expect(done.map(({ act }) => act.act)).not.toContain('restore');
});

test('a cleaning is undone; what it deleted is not, and what others changed since stays', async () => {
  const { run, undo, planToUndo, evidence, database, done, log } = await estate();
  const cleaned = await run({}, [database]);
  expect(cleaned.steps.map(({ result }) => result)).toEqual(['done', 'done', 'done', 'done']);
  done.length = 0;
  evidence.write('bob:3', 'update', 'job_template:7', { extra_vars: ['', 'by bob'] });
  evidence.now.set('job_template:7', { ...evidence.now.get('job_template:7'), extra_vars: 'by bob' });

  const plan = await planToUndo(cleaned.run.slice(0, 8));
  expect(plan.undoes).toBe(cleaned.run);
  expect(plan.clean.map(({ item, act, way }) => [item.id, act.act, way.via])).toEqual([
    // The controller makes the key of a webhook, and computes next runs and what a role allows.
    ['job_template:7', 'restore', 'rest'],
    ['schedule:6', 'enable', 'rest'],
    ['role:9:user:12', 'associate', 'rest'],
  ]);
  expect(plan.keep.map(({ item, reason, why }) => [item.id, reason, why])).toEqual([
    ['o_auth2_access_token:50', 'not_undoable', 'It was deleted and cannot be restored.'],
    ['job_template:7', 'changed_since', 'Changed since the cleanup: extra_vars. Its webhook gets a new key.'],
  ]);
  const restless = await planToUndo(cleaned.run, [database]);
  expect(restless.clean).toEqual([]);
  expect(restless.keep.filter(({ reason }) => reason === 'by_hand')).toHaveLength(3);

  const report = await undo(cleaned.run);
  expect(report).toMatchObject({ result: 'done', left: [] });
  expect(done.map(({ act, values }) => [act.act, values])).toEqual([
    ['restore', { webhook_service: 'github' }],
    ['enable', {}],
    ['associate', {}],
  ]);
  expect(evidence.now.get('job_template:7')).toMatchObject({
    extra_vars: 'by bob',
    webhook_service: 'github',
  });
  expect((await planToUndo(cleaned.run)).clean).toEqual([]);
  const entries = await Array.fromAsync(log.entries(1));
  expect(JSON.stringify(entries)).not.toContain('hunter2');
  expect(entries.filter(({ operation }) => operation === 'incident.clean-undo')).toHaveLength(8);
});

test('a role assignment that was deleted is made again, once', async () => {
  const { evidence, run, undo, planToUndo, done, own } = await estate();
  evidence.assigned = {
    assignments: [
      {
        ...{ kind: 'role_user_assignment', id: 14, at: new Date('2026-11-20T12:00:00Z') },
        by: { id: 11, username: 'ivy' },
        definition: { id: 29, name: 'Organization Admin', managed: true },
        holder: { kind: 'user', id: 12, name: 'eve' },
        about: { kind: 'organization', id: 1, name: 'Default' },
      },
    ],
    definitions: [],
    unattributed: 0,
  };
  const cleaned = await run();
  const deleted = done.find(({ act }) => act.object.kind === 'role_user_assignment')?.act;
  expect(deleted).toMatchObject({
    ...{ act: 'unassign', path: '/api/v2/role_user_assignments/14/', undoable: true },
    assignment: { definition: 29, holder: { kind: 'user', id: 12 }, about: 1 },
  });
  const again = async () =>
    (await planToUndo(cleaned.run, [own])).clean.filter(({ act }) => act.act === 'assign');
  expect(await again()).toMatchObject([
    { item: { id: 'role_user_assignment:14' }, act: { path: '/api/v2/role_user_assignments/' } },
  ]);
  evidence.assignedTies.add('29:user:12:1');
  expect(await again()).toEqual([]);
  evidence.assignedTies.clear();
  await undo(cleaned.run);
  expect(done.at(-1)?.act.act ?? '').toMatch(/assign|associate|restore/);
  expect(done.map(({ act }) => act.act)).toContain('assign');
});

test('undoing needs the log before, reports what is refused, and can be finished', async () => {
  const { run, undo, planToUndo, database, done, log, cleaner, own, common, evidence } = await estate();
  const cleaned = await run({}, [database]);
  done.length = 0;
  await expect(undo(cleaned.run, { log: failingFrom(log, 1) })).rejects.toMatchObject({
    code: 'audit_unavailable',
  });
  expect(done).toEqual([]);
  const refusing: Cleaner = {
    refusal: () => null,
    apply: (act, values) =>
      act.act === 'enable'
        ? Promise.reject(new TokenctlError('unsupported', 'the template is deleted'))
        : cleaner.apply(act, values),
  };
  const plan = await planToUndo(cleaned.run, [{ ...own, cleaner: refusing }]);
  const clock = { now: () => new Date('2026-11-21T00:00:00Z') };
  const first = await undoCleaning({ ...common, clock, plan, evidence });
  expect(first).toMatchObject({ result: 'partly', left: [{ id: 'schedule:6' }] });
  expect(first.steps.find(({ step }) => step === 'schedule:6')?.result).toBe('failed');
  expect((await undo(cleaned.run)).steps.map(({ step, result }) => [step, result])).toEqual([
    ['schedule:6', 'done'],
  ]);
});

test('an unknown run and an unknown item are refused; so is an account that sees only part', async () => {
  const { run, planToUndo, database, common, plan, done } = await estate();
  const seen = { kind: 'part', users: 'their own tokens' } as const;
  const description = { ...common.description, visibility: seen } as typeof common.description;
  await expect(run({ description })).rejects.toMatchObject({ code: 'permission_refused' });
  expect(done).toEqual([]);
  expect((await plan()).clean).toHaveLength(4);
  const cleaned = await run({}, [database]);
  await expect(planToUndo('zzz')).rejects.toMatchObject({ code: 'not_found' });
  await expect(planToUndo(cleaned.run, [database], ['schedule:99'])).rejects.toMatchObject({
    code: 'not_found',
  });
});
