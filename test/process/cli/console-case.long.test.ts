import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { until } from '@tokenctl/testing/until.ts';
import { describe, expect, it } from 'vitest';
import type { LockdownSnapshot } from '../../../src/console/case/lockdown-snapshot.ts';
import type { OperationState } from '../../../src/console/operations.ts';
import { carryOut, lockedDown } from './locked-down.ts';
import { tokenctl } from './program.ts';

describe('a case in a console', () => {
  it('investigates a user without an incident, which writes nothing to the audit log', async () => {
    const { folder, opened } = await lockedDown();
    const { send } = opened;
    const log = join(folder, '.local/state/tokenctl/audit.jsonl');
    const before = readFileSync(log, 'utf8');
    const since = new Date(Date.now() - 3_600_000).toISOString();
    const of = 'place=east-db&user=bob';
    expect((await send(`/api/investigations?${of}`)).json()).toEqual({
      ...{ underway: null, investigations: [], last: null },
    });
    expect((await send('/api/investigations', { place: 'east-db', user: 'bob', since })).statusCode).toBe(
      200,
    );
    expect((await send(`/api/investigations?${of}`)).json()).toMatchObject({
      underway: null,
      investigations: [{ context: 'east-db' }],
      last: {
        ...{ subject: { kind: 'user', name: 'bob' }, incident: null },
        unknowns: { ours: expect.stringContaining("considered tokenctl's own work") },
      },
    });
    // Another subject has none of it; a subject that does not exist is refused, and that is kept for the page.
    expect((await send('/api/investigations?place=east-db&token=1')).json().last).toBeNull();
    const unknown = { place: 'east-db', user: 'nobody-here', since };
    expect((await send('/api/investigations', unknown)).statusCode).toBe(404);
    expect((await send('/api/investigations?place=east-db&user=nobody-here')).json().underway).toMatchObject({
      problem: { code: 'not_found' },
    });
    for (const wrong of ['place=east-db', `${of}&token=1`]) {
      expect([wrong, (await send(`/api/investigations?${wrong}`)).statusCode]).toEqual([wrong, 400]);
    }
    expect(readFileSync(log, 'utf8')).toBe(before);
  });

  it('tells what the account made in the hour before, from the snapshot that the audit log knows', async () => {
    const { folder, opened, incident, investigate } = await lockedDown();
    const snapshot = async () =>
      (await opened.send(`/api/case/snapshot?place=east-db&incident=${incident}`)).json() as LockdownSnapshot;
    const incidents = join(folder, '.local/state/tokenctl/incidents');
    const file = join(incidents, readdirSync(incidents)[0] ?? '');
    const text = readFileSync(file, 'utf8');
    // One that is another than the audit log has says nothing, and neither does one that is not here.
    writeFileSync(file, text.replaceAll('mole', 'vole'));
    expect(await snapshot()).toMatchObject({ tokens: null, moreTokens: 0, made: null });
    renameSync(file, `${file}.away`);
    expect(await snapshot()).toMatchObject({ tokens: null, moreTokens: 0, made: null });
    writeFileSync(file, text);
    expect(await snapshot()).toMatchObject({
      tokens: [{ description: '', scope: 'write', owner: 'bob', application: null }],
      moreTokens: 0,
      made: {
        users: [
          { user: 'colleague', by: 'bob', tokens: [] },
          { user: 'mole', by: 'bob', tokens: [expect.any(Number)] },
        ],
        more: 0,
      },
    });
    await investigate();
    expect((await snapshot()).isInvestigated).toBe(true);
  });

  it('is investigated, cleaned, undone and reported, with legitimate work left alone', async () => {
    const { folder, opened, incident, read, investigate, found } = await lockedDown();
    const { send } = opened;
    // A page does not wait for a context that answers later than in a second.
    const controllers = async () => (await send('/api/controllers')).json().controllers as readonly unknown[];
    expect(await until(controllers, (all) => all.length === 1)).toMatchObject([
      {
        places: [
          { place: 'east-db', via: 'database' },
          { place: 'east', via: 'rest' },
        ],
      },
    ]);
    expect((await read()).investigations).toEqual([]);
    // Its tokens are counted once.
    expect((await send('/api/tokens')).json().readings).toMatchObject([{ place: 'east-db' }]);
    expect((await investigate()).statusCode).toBe(200);
    const [first] = (await read()).investigations;
    expect(first).toMatchObject({ remaining: 4, legitimate: 0, context: 'east-db' });
    const cases = join(folder, '.local/state/tokenctl/cases', incident);
    expect(readdirSync(cases).map((name) => statSync(join(cases, name)).mode & 0o777)).toEqual([0o600]);

    const { items } = await found();
    const idOf = (text: string) => items.find(({ summary }) => summary.includes(text))?.id ?? '';
    const mark = { place: 'east-db', incident, items: [idOf('colleague')] };
    expect((await send('/api/case/marks', mark)).json().text).toMatch(/^Marked 1 item as legitimate/);
    expect((await send('/api/case/marks', mark)).json().text).toMatch(/^Nothing to do/);
    expect((await read()).investigations).toMatchObject([{ found: 4, remaining: 3, legitimate: 1 }]);
    // What someone says to have resolved manually is out of what remains, and called not checked.
    const byHand = { place: 'east-db', incident, items: [idOf('backdoor')], as: 'by_hand' };
    expect((await send('/api/case/marks', byHand)).json().text).toMatch(
      /^Marked 1 item as resolved manually .*This was not checked/,
    );
    expect((await read()).investigations).toMatchObject([
      { found: 4, remaining: 2, byHand: 1, legitimate: 1 },
    ]);
    expect((await found()).items.find(({ id }) => id === idOf('backdoor'))).toMatchObject({
      ...{ fate: 'by_hand', remains: false, handled: { by: expect.any(String) } },
    });
    expect((await send('/api/case/marks', { ...byHand, undo: true })).statusCode).toBe(200);
    expect((await read()).investigations).toMatchObject([{ remaining: 3, byHand: 0, legitimate: 1 }]);
    // Of each item that is reassigned, someone decides, and the mark says why.
    const over = { ...byHand, as: 'handed_over' };
    for (const wrong of [over, { ...over, to: 'carol' }, { ...over, to: ' ', reason: 'hers' }])
      expect((await send('/api/case/marks', wrong)).json().error.message).toMatch(/--handed-over requires/);
    expect((await send('/api/case/marks', { ...over, to: 'carol', reason: 'hers' })).json().text).toMatch(
      /^Reassigned 1 item to carol for/,
    );
    expect((await read()).investigations).toMatchObject([{ remaining: 2, handedOver: 1, legitimate: 1 }]);
    expect((await found()).items.find(({ id }) => id === idOf('backdoor'))).toMatchObject({
      ...{ fate: 'handed_over', remains: false, handedOver: { to: 'carol', why: 'hers' } },
    });
    const [run] = (await read()).runs.toReversed();
    expect(run?.sentence).toContain(`reassigned the item ${idOf('backdoor')} to carol for ${incident}`);
    expect((await send('/api/case/marks', { ...over, undo: true })).statusCode).toBe(200);
    expect((await read()).investigations).toMatchObject([{ remaining: 3, handedOver: 0, legitimate: 1 }]);

    const clean = {
      ...{
        kind: 'incident clean',
        place: 'east-db',
        incident,
        investigation: first?.name,
        restContext: 'east',
      },
    };
    // Without a choice of items, what is marked is left as well.
    const plan = (await send('/api/plans', clean)).json();
    expect(plan).toMatchObject({ text: expect.any(String) });
    expect(plan.text).toContain('Skipped because marked as legitimate: 1 item.');
    expect(plan.json.plan.keep).toMatchObject([{ id: idOf('colleague'), reason: 'legitimate' }]);
    expect(plan.command).toBe(
      `tokenctl incident clean --from ${first?.path} --incident ${incident} --rest-context east --context east-db`,
    );
    // A command that is not asked leaves what cannot be undone.
    const args = ['--from', first?.path ?? '', '--incident', incident, '--rest-context', 'east'];
    const named = ['--item', idOf('mole'), '--item', idOf('backdoor')];
    const part = await tokenctl(['incident', 'clean', '--context', 'east-db', ...args, ...named, '--yes'], {
      env: { HOME: folder },
    });
    expect(part.stdout).toMatch(/^ *Turned off, not deleted: user mole \(\d+\)\.$/m);
    // What was not confirmed works on: a lift says so.
    const left = (await read()).left?.items ?? [];
    expect(left.length).toBeGreaterThan(0);
    expect((await read()).investigations).toMatchObject([{ isOutdated: true }]);
    const lift = { kind: 'incident lift', place: 'east-db', incident };
    const warned = (await send('/api/plans', lift)).json().text;
    expect(warned).toMatch(/The cleanup in run .* skipped these items because they cannot be undone/);
    for (const { summary } of left) expect(warned).toContain(summary);
    expect((await investigate()).statusCode).toBe(200);
    expect((await read()).investigations).toMatchObject([{ isOutdated: true }, { isOutdated: false }]);
    const rest = await carryOut(opened, {
      ...clean,
      investigation: (await read()).investigations.at(-1)?.name,
    });
    expect(rest).toMatchObject({ state: 'done', result: { failure: null } });
    expect(rest.result?.text).toContain('Verified: these items are ended.');
    expect(rest.outcome).toBe('done');
    // It is investigated again by the cleaning: no one has to begin that.
    expect(rest.result?.text).toContain('Investigated again: nothing new was found.');
    expect((await read()).investigations.at(-1)).toMatchObject({
      remaining: 0,
      legitimate: 1,
      isOutdated: false,
    });
    const cleaned = (await found()).items.filter(({ fate }) => fate === 'cleaned');
    expect(cleaned.length).toBeGreaterThan(0);
    expect(cleaned.every(({ remains }) => !remains)).toBe(true);
    // What became of an item does not change its place.
    const orderOf = (some: typeof items, others: typeof items) =>
      some.map(({ id }) => id).filter((id) => others.some((other) => other.id === id));
    const last = (await found()).items;
    expect(orderOf(last, items)).toEqual(orderOf(items, last));
    expect(orderOf(last, items).length).toBeGreaterThan(3);
    expect((await read()).left).toBeNull();
    expect((await send('/api/plans', lift)).json().text).not.toContain('skipped these items');

    const cleanings = (await read()).runs.filter(({ operation }) => operation === 'incident.clean');
    const undone = await carryOut(opened, {
      ...{ kind: 'incident clean', place: 'east-db', incident, undo: cleanings[0]?.run },
    });
    expect(undone.result?.text).toMatch(/ndone/);
    expect((await found()).items.find(({ id }) => id === idOf('user mole'))).toMatchObject({
      ...{ fate: 'remains', remains: true },
    });

    const report = (format: string) =>
      send(`/api/case/report?place=east-db&incident=${incident}&format=${format}`);
    const { body } = await report('html');
    expect(body).toContain(`<title>Incident ${incident}</title>`);
    // The entries of the lockdown and of the cleanings have no actor: they are told as these.
    expect(body).toMatch(/Without an actor, and considered tokenctl\S+ own work: \d+ entr/);
    expect(body).not.toContain('which may be part of this');
    expect(body).toMatch(
      /Investigated: User bob, from .*, considered the earliest possible start of the incident, to/,
    );
    expect((await report('json')).json()).toMatchObject({
      incident: { id: incident },
      investigations: [{}, {}, {}, {}],
    });
    expect((await report('svg')).headers).toMatchObject({
      'content-disposition': `attachment; filename="${incident}.svg"`,
    });
    expect((await read()).report).toMatchObject({ isOutdated: false });
    expect((await read()).report?.path).toMatch(/report-\d{8}T\d{9}Z\.(html|json|svg)$/);
    expect(JSON.stringify(await read())).not.toContain('long enough for it');
  });

  it('does all that was decided after one confirmation, and investigates again', async () => {
    const { folder, opened, incident, read, investigate, found } = await lockedDown();
    const { send, reached } = opened;
    await investigate();
    const { items } = await found();
    const idOf = (text: string) => items.find(({ summary }) => summary.includes(text))?.id ?? '';
    const [first] = (await read()).investigations;
    expect(items.find(({ id }) => id === idOf('user mole'))?.ending).toEqual({
      act: 'disable',
      isForGood: false,
    });
    expect(items.find(({ id }) => id === idOf('backdoor'))?.ending).toEqual({
      act: 'delete',
      isForGood: true,
    });
    const legitimate = { items: [idOf('colleague')], reason: 'hired in May' };
    const decide = {
      ...{
        kind: 'incident clean',
        place: 'east-db',
        incident,
        investigation: first?.name,
        restContext: 'east',
      },
      ...{ items: [idOf('user mole')], reason: 'stolen', ticket: 'SEC-7' },
      decided: { legitimate, handedOver: [{ items: [idOf('backdoor')], to: 'carol', reason: 'hers' }] },
    };
    const log = join(folder, '.local/state/tokenctl/audit.jsonl');
    const before = readFileSync(log, 'utf8');
    for (const [wrong, message] of [
      [{ ...decide, decided: { legitimate: { ...legitimate, reason: ' ' } } }, /reason/],
      [
        { ...decide, decided: { legitimate: { ...legitimate, items: decide.items } } },
        /Two decisions were made about/,
      ],
    ] as const) {
      const { statusCode, body } = await send('/api/operations', wrong);
      expect([statusCode, body]).toEqual([400, expect.stringMatching(message)]);
    }
    const plan = (await send('/api/plans', decide)).json();
    expect(plan.text).toMatch(/Kept as legitimate because "hired in May":\n +created the user colleague/);
    // What is dropped records nothing.
    const begun = (await send('/api/operations', decide)).json() as OperationState;
    const asked = (await reached(begun.id, 'asking')).asked;
    expect(asked).toMatchObject({
      // As at its lockdown: what can be read aloud.
      type: 'bob',
      act: 'end 1 item, keep 1 as legitimate, reassign 1',
    });
    expect(asked?.plan).toContain(
      'In this order: your decisions are recorded; if that fails, it stops there; each item is recorded and ended; everything is investigated again.',
    );
    await send(`/api/operations/${begun.id}/cancel`, {});
    await reached(begun.id, 'canceled');
    expect(readFileSync(log, 'utf8')).toBe(before);

    // While the audit log is down, nothing of it happens.
    const kept = (await send('/api/operations', decide)).json() as OperationState;
    const waiting = (await reached(kept.id, 'asking')).asked;
    renameSync(log, `${log}.aside`);
    mkdirSync(log);
    await send(`/api/operations/${kept.id}/confirm`, { answer: 'bob', digest: waiting?.digest });
    expect(await reached(kept.id, 'failed', 'done')).toMatchObject({
      failure: { code: 'audit_unavailable' },
    });
    rmdirSync(log);
    renameSync(`${log}.aside`, log);
    expect(readFileSync(log, 'utf8')).toBe(before);

    const done = await carryOut(opened, decide);
    expect(done).toMatchObject({ state: 'done', outcome: 'done', result: { failure: null } });
    expect(done.result?.text).toMatch(
      /^Recorded: 1 item kept as legitimate; 1 item reassigned to carol: notify them\.\n/,
    );
    expect(done.command).toMatch(
      /^tokenctl incident mark .* && tokenctl incident mark .* && tokenctl incident clean /,
    );
    // The marks are from before the cleaning, each with a reason of its own.
    const ours = (await read()).runs.map(({ operation, sentence }) => [
      operation,
      /, ([^,]*)$/.exec(sentence)?.[1],
    ]);
    expect(ours.slice(-3)).toEqual([
      ['incident.mark', 'hired in May'],
      ['incident.hand-over', 'hers'],
      ['incident.clean', 'stolen'],
    ]);
    expect((await read()).investigations.at(-1)).toMatchObject({
      isOutdated: false,
      legitimate: 1,
      handedOver: 1,
    });
    expect((await found()).items.find(({ id }) => id === idOf('user mole'))).toMatchObject({
      fate: 'cleaned',
    });
    expect((await found()).items.find(({ id }) => id === idOf('colleague'))?.mark).toMatchObject({
      why: 'hired in May',
    });
    // Once more, nothing is left to end: what is said is asked for, and recorded once.
    const again = await carryOut(opened, {
      ...decide,
      investigation: (await read()).investigations.at(-1)?.name,
    });
    expect([again.state, again.asked?.act]).toEqual(['done', 'keep 1 as legitimate, reassign 1']);
    expect((await read()).runs.filter(({ operation }) => operation === 'incident.mark')).toHaveLength(1);
  });

  it('tells the stolen token from what was done with it, and what is legitimate from whether it is there', async () => {
    const { opened, incident, read, investigate, found } = await lockedDown();
    await investigate();
    const before = await found();
    expect(before.items.every(({ isStolen }) => !isStolen)).toBe(true);
    const isOfBob = ({ id, by }: (typeof before.items)[number]) =>
      id.startsWith('o_auth2_access_token:') && by.includes('bob');
    const token = before.items.find(isOfBob)?.id ?? '';
    // The entry of its revocation has no actor, and is tokenctl's own.
    expect(before.unknowns).toMatchObject({ unattributedCount: 0 });
    expect(before.unknowns.ours).toMatch(/^Without an actor/);
    expect(JSON.stringify(before.unknowns.groups)).not.toMatch(/may be part of this/);
    const mark = { place: 'east-db', incident, items: [token] };
    expect((await opened.send('/api/case/marks', mark)).statusCode).toBe(200);
    expect((await found()).items.find(({ id }) => id === token)).toMatchObject({
      ...{ fate: 'legitimate', state: 'gone' },
    });
    await opened.send('/api/case/marks', { ...mark, undo: true });

    expect((await investigate(Number(token.split(':')[1]))).statusCode).toBe(200);
    const [first, second] = (await read()).investigations;
    expect(second?.subject).toMatchObject({ kind: 'token', user: 'bob' });
    const stolen = (await found()).items.filter(({ isStolen }) => isStolen);
    expect(stolen).toMatchObject([{ id: token, fate: 'stolen', state: 'gone' }]);
    // It is no act; and colleague was made before it was.
    expect([first?.items, second?.items]).toEqual([before.items.length, before.items.length - 2]);
    const report = await opened.send(`/api/case/report?place=east-db&incident=${incident}&format=markdown`);
    expect(report.body).toMatch(/critical: created the user mole \(\d+\): superuser,/);
    expect(report.body).toMatch(/created the user mole \(\d+\): superuser: still there/);
    const plan = { kind: 'incident clean', place: 'east-db', incident, investigation: second?.name };
    expect((await opened.send('/api/plans', plan)).json().text).toMatch(
      /Cleans only actions since \S+Z?.*, when the stolen token was created\./,
    );
    expect(report.body).toMatch(
      /The incident started no earlier than \S+Z, when the token was created: bob created/,
    );
    const apart = (await found()).beforeToken;
    expect(apart).toMatchObject({ count: 1, isWhole: true });
    expect(apart?.items[0]?.summary).toMatch(/^created the user colleague/);
    expect(report.body).toMatch(
      /considered the owner's own work \(1 thing\):\n+- \S+ bob: created the user colleague/,
    );
    // Of a token that nothing tells of, the incident's user is investigated.
    expect((await investigate(999_999)).statusCode).toBe(200);
    expect((await read()).investigations.at(-1)?.subject).toEqual({ kind: 'user', name: 'bob' });
  });

  it('keeps what was resolved manually beside what the next investigation finds, and a lift names what it leaves', async () => {
    const { opened, incident, read, investigate, found } = await lockedDown();
    const { send } = opened;
    const lift = { kind: 'incident lift', place: 'east-db', incident };
    const planned = async () => (await send('/api/plans', lift)).json().text as string;
    expect(await planned()).toContain(
      `This closes the case ${incident}. No one investigated the incident, so it is not known what the intruder left.`,
    );
    await investigate();
    const { items } = await found();
    const idOf = (text: string) => items.find(({ summary }) => summary.includes(text))?.id ?? '';
    const application = idOf('backdoor').split(':')[1];
    const pageOf = (some: typeof items) => some.find(({ id }) => id === idOf('backdoor'))?.page;
    expect(pageOf(items)).toMatchObject({
      ...{ opens: 'web', href: expect.stringMatching(new RegExp(`/applications/${application}$`)) },
    });
    const mark = { place: 'east-db', incident };
    for (const more of [
      { items: [idOf('backdoor')], as: 'by_hand' },
      { items: [idOf('mole')], as: 'handed_over', to: 'carol', reason: 'hers' },
    ])
      expect((await send('/api/case/marks', { ...mark, ...more })).statusCode).toBe(200);
    expect((await read()).open).toMatchObject([
      { fate: 'remains' },
      { fate: 'handed_over', count: 1, named: [expect.stringMatching(/mole.*, to carol$/)] },
      { fate: 'by_hand', count: 1, named: [expect.stringContaining('backdoor')] },
    ]);
    await investigate();
    const [last] = (await read()).investigations.toReversed();
    expect(last).toMatchObject({ byHand: 0, seenAgain: 1, handedOver: 1 });
    expect((await found()).items.find(({ id }) => id === idOf('backdoor'))).toMatchObject({
      ...{ fate: 'seen_again', remains: true, handled: { at: expect.any(String) } },
      label: { more: expect.stringMatching(/^marked as resolved manually by .*, still there at \S+Z$/) },
    });
    // Over REST it says that it is the service.
    const since = new Date(Date.now() - 3_600_000).toISOString();
    await send('/api/case/investigation', { place: 'east', incident, since });
    expect(pageOf((await found()).items)).toEqual(pageOf(items));
    const text = await planned();
    expect(text).toMatch(/Marked as resolved manually, but found again or not checked: 1 item:\n.*backdoor/);
    expect(text).toMatch(/Reassigned: others decide: 1 item:\n.*mole.*, to carol\n/);
    const lifted = await carryOut(opened, lift);
    expect(lifted.asked?.act).toBe(`lift ${incident} and close the case`);
    expect(lifted.outcome).toBe('done');
    // A case that is closed is not closed again.
    expect(await planned()).not.toContain('This closes the case');
  });

  it('says before a lift that deactivated users log in as before, and after it what the log says', async () => {
    const { opened, incident } = await lockedDown();
    const { send } = opened;
    const lockdown = { kind: 'incident lockdown', place: 'east-db', user: ['bob'], deactivate: true };
    const locked = await carryOut(opened, lockdown);
    const { incident: other = '' } = (locked.result?.json ?? {}) as { readonly incident?: string };
    expect(other).not.toBe(incident);
    const lift = { kind: 'incident lift', place: 'east-db', incident: other };
    expect((await send('/api/plans', lift)).json().text).toContain(
      'The lockdown did not reset the password of bob. It works again unless it was changed since.',
    );
    const lifted = await carryOut(opened, { ...lift, keepDeactivated: true });
    expect(lifted.command).toContain('--keep-deactivated');
    expect(lifted.result?.text).toContain('bob stays deactivated.');
    const [run] = (await send('/api/log')).json().runs;
    expect([run.operation, lifted.outcome]).toEqual(['incident.lift', run.state]);
    const closed = async () => (await send(`/api/case?place=east-db&incident=${other}`)).json();
    expect(await closed()).toMatchObject({ users: [{ name: 'bob', isActive: false, stays: true }] });
    await carryOut(opened, { ...lift, keepDeactivated: false });
    expect(await closed()).toMatchObject({ users: [{ name: 'bob', isActive: true, stays: false }] });
  });

  it('changes nothing while the audit log is down, in a dry run, and for a wrong request', async () => {
    const { folder, opened, incident, read, investigate, found } = await lockedDown();
    const { send } = opened;
    await investigate();
    const name = (await read()).investigations[0]?.name;
    const clean = {
      kind: 'incident clean',
      place: 'east-db',
      incident,
      investigation: name,
      restContext: 'east',
    };
    const log = join(folder, '.local/state/tokenctl/audit.jsonl');
    const before = readFileSync(log, 'utf8');
    expect((await send('/api/plans', clean)).json().text).toContain(
      'This is the plan. Nothing has been changed yet.',
    );
    for (const [wrong, status] of [
      [{ ...clean, investigation: '../../audit.jsonl' }, 404],
      [{ ...clean, incident: '../x' }, 400],
      [{ ...clean, items: ['user:99999'] }, 404],
      [{ ...clean, undo: '6f9619ff-8b86-4d01-b42d-00c04fc964ff' }, 400],
      [{ ...clean, restContext: 'nowhere' }, 404],
    ] as const) {
      expect([wrong, (await send('/api/plans', wrong)).statusCode]).toEqual([wrong, status]);
    }
    expect((await send(`/api/case?place=east-db&incident=inc-00000000`)).statusCode).toBe(404);
    expect(readFileSync(log, 'utf8')).toBe(before);
    renameSync(log, `${log}.aside`);
    mkdirSync(log);
    expect(await carryOut(opened, clean)).toMatchObject({
      state: 'failed',
      failure: { code: 'audit_unavailable' },
    });
    rmdirSync(log);
    renameSync(`${log}.aside`, log);
    expect((await investigate()).statusCode).toBe(200);
    expect((await found()).items.filter(({ remains }) => remains)).toHaveLength(4);
  });
});
