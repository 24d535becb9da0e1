import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readInvestigationFile } from '../../../../src/cli/investigation/investigation-file.ts';
import { investigationDocument } from '../../../../src/cli/investigation/investigation-text.ts';
import type { Visibility } from '../../../../src/domain/claims.ts';
import type {
  ChainLink,
  Investigation,
  InvestigationItem,
} from '../../../../src/domain/investigation/investigation.ts';
import { NOTHING_KNOWN } from '../../../../src/operations/incident/case-items.ts';
import { type Found, foundBy } from '../../../../src/operations/incident/found.ts';
import { gatherReport, type IncidentReport } from '../../../../src/operations/incident/gather-report.ts';
import { markItems } from '../../../../src/operations/journal/marked-items.ts';
import type { OwnAct } from '../../../../src/operations/journal/own-acts.ts';
import { type Document, documentText, partsOf } from '../../../../src/reports/document.ts';
import { htmlDocument, markdownDocument } from '../../../../src/reports/document-formats.ts';
import { chainNodes, chainPicture } from '../../../../src/reports/incident/chain-picture.ts';
import { incidentParts } from '../../../../src/reports/incident/incident-report.ts';
import { openAfterText } from '../../../../src/reports/incident/made-access.ts';
import { chainOf } from '../../../../src/reports/incident/what-remains.ts';
import { incidentFixture, NO_MEASURE } from '../../../support/incident-fixture.ts';
import { token } from '../../../support/tokens.ts';

/** Names that would be markup, end a cell, a line, a code block, or turn the text around. */
const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(1)</script>',
  '</text></svg><script>alert(1)</script>',
  '[x](javascript:alert(1)) | a | b',
  'line\n\n# heading\n```\n',
  '\u202eevil\u0007',
];

const ALICE = { id: 2, username: 'alice' };
const SVC = { id: 11, username: HOSTILE[0] ?? '' };

function item(other: Partial<InvestigationItem> & Pick<InvestigationItem, 'id'>): InvestigationItem {
  return {
    ...{ group: 'ways_in', act: 'made', other: null, role: null, link: '', by: [ALICE] },
    object: { kind: 'user', id: 11, name: SVC.username },
    summary: `created the user ${SVC.username}`,
    ...{ first: '2026-11-20T09:00:00.000Z', last: '2026-11-20T09:00:00.000Z', entries: [1], entryCount: 1 },
    ...{ state: 'there', stateReason: null, changes: [], changedSince: [], job: null, findings: [] },
    ...{ risk: 'critical', remedy: { kind: 'call', text: 'DELETE /api/v2/users/11/' } },
    ...other,
  };
}

function link(user: ChainLink['user'], other: Partial<ChainLink> = {}): ChainLink {
  const since = '2026-11-20T08:00:00.000Z';
  return { user, how: 'subject', by: null, through: null, depth: 0, since, exists: true, ...other };
}

function investigation(other: Partial<Investigation> = {}): Investigation {
  return {
    ...{ format: 'tokenctl-investigation', version: 1, madeAt: '2026-11-20T10:00:00.000Z' },
    target: {
      ...{ context: 'test', address: 'https://controller.example.org', installUuid: null },
      ...{ dialect: 'controller', version: '24.6.1' },
    },
    ...{ as: 'admin', visibility: { kind: 'all' }, incident: null, subject: { kind: 'user', name: 'alice' } },
    ...{ since: '2026-11-20T08:00:00.000Z', until: '2026-11-20T10:00:00.000Z' },
    chain: [link(ALICE), link(SVC, { how: 'made', by: ALICE, through: 'user:11', depth: 1 })],
    items: [
      item({ id: 'user:11', entries: [7] }),
      ...HOSTILE.map((name, index) =>
        item({
          id: `schedule:${index}`,
          summary: `created the schedule ${name}`,
          by: [SVC],
          group: 'code_later',
        }),
      ),
    ],
    ...{ mayHaveRead: HOSTILE, unattributed: [], limits: [{ limit: 'clock', text: HOSTILE[3] ?? '' }] },
    stream: { enabled: true, oldest: '2026-01-01T00:00:00.000Z', read: 12, withoutActor: 0 },
    ...other,
  };
}

function allOf(investigations: readonly Investigation[]): Found {
  const all = foundBy(investigations);
  expect(all).not.toBeNull();
  return all as Found;
}

/** An incident about alice, with its lockdown and the revocation of a token before it. */
async function locked({ deactivate = false } = {}) {
  const at = await incidentFixture(deactivate ? 'database' : 'rest');
  at.target.alive.set(9, token({ id: 9, user: { id: 3, username: 'bob' } }));
  await at.revokeAll({ selector: { ids: [9] } });
  const scope = { kind: 'users' as const, names: ['alice'] };
  const { incident } = await at.lockDown({
    scope,
    measures: { ...NO_MEASURE, deactivate },
    reason: HOSTILE[1] ?? '',
  });
  const report = (
    investigations: readonly Investigation[],
    other: Partial<Parameters<typeof gatherReport>[0]> = {},
  ): Promise<IncidentReport> =>
    gatherReport({
      ...{ log: at.log, description: at.target.self, incident, investigations, now: at.common.clock.now() },
      checkpoint: () => Promise.resolve(null),
      ...other,
    });
  return { ...at, incident, report };
}

const PLACE = { log: '/var/log/<audit>.jsonl', version: '0.2.0' };

async function whole(pieces: AsyncIterable<string>): Promise<string> {
  return (await Array.fromAsync(pieces)).join('');
}

async function texts(document: Document, heading: string): Promise<string> {
  const parts = partsOf(document);
  const start = parts.findIndex((part) => part.kind === 'heading' && part.text === heading);
  const rest = parts.slice(start + 1);
  const end = rest.findIndex((part) => part.kind === 'heading' && part.level <= 2);
  return await whole(markdownDocument(end < 0 ? rest : rest.slice(0, end)));
}

/** An investigation that found the inventory of alice, in a state. */
function foundCopy(state: InvestigationItem['state'], madeAt: string): Investigation {
  const inventory = item({
    ...{ id: 'inventory:2', group: 'code_later', state, risk: 'high', entries: [9] },
    object: { kind: 'inventory', id: 2, name: 'copy' },
    summary: 'created the inventory copy (2)',
  });
  return investigation({ madeAt, items: [inventory], chain: [link(ALICE)] });
}

describe('the report of an incident', () => {
  test('has the runs that belong to it, and no others', async () => {
    await using at = await locked();
    const { runs, lockdown, evidence } = await at.report([]);
    expect(runs.map(({ operation }) => operation)).toEqual(['incident.lockdown', 'tokens.revoke']);
    expect(lockdown).toMatchObject({ result: 'locked', steps: expect.arrayContaining([]) });
    expect(lockdown?.accessPaths.find(({ path }) => path === 'access_tokens')?.state).toBe('closed');
    expect(evidence).toMatchObject({ intact: true, checkpoint: null });
  });

  test('a report that is told when the theft began does not say that it was not', async () => {
    const given = 'The start of the incident was not specified';
    const unknown = investigation({
      limits: [
        { limit: 'honest_work', text: `${given}, so the user's actions before it are included.` },
        { limit: 'stream_pruned', text: 'Nothing is known from before 2026-11-20T08:00:00.123Z.' },
      ],
    });
    await using at = await locked();
    const unknownAfter = async (options?: { readonly since: Date }) =>
      texts(incidentParts(await at.report([unknown], options), PLACE), 'What is not known');
    expect(await unknownAfter()).toContain(given);
    expect(await unknownAfter()).toContain('from before 2026-11-20T08:00:00Z.');
    expect(await unknownAfter({ since: new Date('2026-11-20T09:00:00Z') })).not.toContain(given);
  });

  test('answers nothing that was not investigated', async () => {
    await using at = await locked();
    const parts = incidentParts(await at.report([]), PLACE);
    expect(await texts(parts, 'In short')).toMatch(/^\*\*Not known/m);
    expect(await texts(parts, 'What happened')).toContain('no investigation was provided');
    const [, first] = (await whole(markdownDocument(parts))).split('\n\n');
    expect(first).toMatch(
      /^\*\*Not read: the intruder's actions in the activity stream\. There may be more remaining/,
    );
  });

  test('says of the lockdown what it did at its time, as its run says it, not that all access has ended', async () => {
    await using at = await locked();
    const text = await whole(markdownDocument(incidentParts(await at.report([]), PLACE)));
    // As the audit log counts it: some ways in were not checked.
    expect(text).toMatch(
      /According to the audit log, the lockdown was partly done at 20\S+: its steps ran, but not every access path could be checked\./,
    );
    expect(text).toMatch(/locked down .*: partly done/);
    expect(text).not.toMatch(/access (has )?ended/i);
  });

  test('says by which investigation something remains, and what is gone since', async () => {
    await using at = await locked();
    const before = investigation();
    const after = investigation({
      madeAt: '2026-11-20T12:00:00.000Z',
      items: [
        item({ id: 'schedule:0', summary: 'created the schedule nightly', by: [SVC] }),
        // Deleted since: the stream has the entry, and no longer the object.
        item({ id: 'user:?7', object: { kind: 'user', id: null, name: null }, entries: [7], state: 'gone' }),
      ],
    });
    const parts = incidentParts(await at.report([after, before]), PLACE);
    expect(await texts(parts, 'In short')).toMatch(
      /^\*\*According to the last investigation \(2026-11-20T12:00:00Z\), 1 access path that these accounts created or changed remains, 5 items that control what code runs may remain; no run in the audit log deactivated alice; the lockdown did not check 4 access paths\.\*\*\s+\*\*Not over\. According to the investigation at 2026-11-20T12:00:00Z, 1 thing.* 5 more were not checked/m,
    );
    expect(await texts(parts, 'What was ended')).toContain(': gone');
    const { items } = allOf([before, after]);
    expect(items.filter(({ state }) => state === 'there')).toHaveLength(1);
    expect(items.find(({ id }) => id === 'user:11')?.state).toBe('gone');
    expect(items.find(({ id }) => id === 'schedule:3')).toMatchObject({
      state: 'unknown',
      stateReason: 'Not checked: the investigation at 2026-11-20T12:00:00.000Z does not include it',
    });
  });

  test('does not take what one subject left for gone because another left nothing', async () => {
    await using at = await locked();
    const other = investigation({
      ...{ madeAt: '2026-11-20T12:00:00.000Z', subject: { kind: 'user', name: 'bob' }, items: [] },
      limits: [{ limit: 'clock', text: 'Of bob only.' }],
    });
    const parts = incidentParts(await at.report([investigation(), other]), PLACE);
    const verdict = await texts(parts, 'In short');
    expect(verdict).toMatch(/\*\*User alice: Not over\. .* 7 things remain/);
    expect(verdict).toMatch(/\*\*User bob: No actions of the accounts are known/);
    expect(await texts(parts, 'What remains')).toContain('created the schedule');
    expect(await texts(parts, 'What was ended')).not.toContain(': gone');
    expect(await texts(parts, 'What is not known')).toMatch(/javascript[\s\S]*Of bob only/);
  });

  test('lists what a cleaning did, with the names of the investigation', async () => {
    await using at = await locked();
    const { address, context } = at.target.self;
    const entry = { operation: 'incident.clean', run: 'run-of-cleaning', actor: { user: 'root' } };
    const target = { address, context };
    const data = { step: 'operation', subject: { kind: 'user', name: 'alice' } };
    const opening = await at.log.append({ ...entry, target, kind: 'intent', data });
    const step = { step: 'user:11', item: 'user:11', act: 'delete' };
    const { seq: closes } = await at.log.append({ ...entry, target, kind: 'intent', data: step });
    await at.log.append({ ...entry, target, kind: 'outcome', closes, data: { ...step, result: 'done' } });
    await at.log.append({ ...entry, target, kind: 'outcome', closes: opening.seq, data });
    const report = await at.report([investigation()]);
    expect(report.cleaned).toMatchObject([{ item: 'user:11', act: 'delete', result: 'done' }]);
    expect(await texts(incidentParts(report, PLACE), 'What was ended')).toMatch(/: delete user .*: done/);
    expect(report.runs.at(-1)?.operation).toBe('incident.clean');
  });

  test('does not claim what was undone since, also of a cleaning that names no incident', async () => {
    await using at = await locked();
    const { address, context } = at.target.self;
    const write = async (operation: string, run: string, data: object, act: object) => {
      const entry = { operation, run, actor: { user: 'root' }, target: { address, context } };
      await at.log.append({ ...entry, kind: 'intent', data: { step: 'operation', ...data } });
      const step = { item: 'user:11', step: 'user:11', ...data };
      const { seq: closes } = await at.log.append({ ...entry, kind: 'intent', data: { ...step, ...act } });
      await at.log.append({ ...entry, kind: 'outcome', closes, data: { ...step, result: 'done' } });
    };
    const gone = investigation({ items: [item({ id: 'user:11', state: 'gone' })] });
    await write(
      'incident.clean',
      'cleaning',
      { subject: { kind: 'user', name: 'alice' } },
      { act: 'disable' },
    );
    expect(await at.report([])).toMatchObject({ cleaned: [{ item: 'user:11' }], undone: [] });
    await write('incident.clean-undo', 'undoing', { undoes: 'cleaning' }, { act: 'enable' });
    const report = await at.report([gone]);
    expect(report).toMatchObject({ cleaned: [], undone: [{ item: 'user:11' }] });
    expect(report.runs.map(({ run }) => run)).toContain('undoing');
    const parts = incidentParts(report, PLACE);
    expect(await texts(parts, 'In short')).toContain('1 more was not checked');
    expect(await texts(parts, 'What remains')).toMatch(/its cleanup was undone at/);
    expect(await texts(parts, 'What was ended')).toContain('Cleaned and undone again');
    const later = { ...gone, madeAt: '2999-01-01T00:00:00.000Z' };
    expect(await texts(incidentParts(await at.report([later]), PLACE), 'In short')).toContain(
      'Nothing is known',
    );
    await write('incident.clean', 'again', { subject: { kind: 'user', name: 'alice' } }, { act: 'disable' });
    expect(await at.report([gone])).toMatchObject({ cleaned: [{ item: 'user:11' }], undone: [] });
  });

  test('tells the work of the owner from the deeds of the intruder, and says why', async () => {
    await using at = await locked();
    const of = (id: string, time: string, other: Partial<InvestigationItem> = {}) =>
      item({ id, first: time, last: time, summary: `created ${id}`, ...other });
    const found = investigation({
      since: '2026-11-13T08:00:00.000Z',
      items: [
        of('user:11', '2026-11-20T09:00:00.000Z'),
        of('schedule:7', '2026-11-18T09:00:00.000Z'),
        of('inventory:5', '2026-11-18T09:00:00.000Z', { last: '2026-11-20T09:30:00.000Z' }),
        of('project:3', '2026-11-20T09:10:00.000Z'),
      ],
    });
    const unknown = await at.report([found]);
    expect(unknown).toMatchObject({ began: null, own: [] });
    expect(unknown.investigations[0]?.items).toHaveLength(4);
    expect(await whole(markdownDocument(incidentParts(unknown, PLACE)))).not.toContain('Owner');

    const marking = {
      log: at.log,
      description: at.target.self,
      clock: at.common.clock,
      actor: { user: 'root' },
    };
    await markItems({
      ...marking,
      incident: at.incident,
      items: ['project:3'],
      as: 'legitimate',
      isMarked: true,
    });
    const report = await at.report([found], { since: new Date('2026-11-20T08:00:00Z') });
    expect(report.own.map(({ item: { id }, why }) => `${id} ${why}`)).toEqual([
      'schedule:7 before',
      'project:3 marked',
    ]);
    const parts = incidentParts(report, PLACE);
    expect(await texts(parts, 'In short')).toContain("Not counted as the intruder's: 2 things.");
    const remaining = await texts(parts, 'What remains');
    for (const id of ['user:11', 'inventory:5']) expect(remaining).toContain(`created ${id}`);
    expect(remaining).not.toMatch(/schedule:7|project:3/);
    const own = await texts(parts, "Not the intruder's");
    expect(own).toMatch(
      /Actions before 2026-11-20T08:00:00Z, .*parameters of this report:\n\n.*created schedule:7, was left as is/,
    );
    expect(own).toMatch(/Marked as legitimate\..*\n\n.*created project:3, was left as is; marked by root/);
    expect(await texts(parts, 'Timeline')).toMatch(/Time \| Owner \| Accounts investigated \| Responders/);
  });

  test('tells tokens by their description and scope', async () => {
    await using at = await locked();
    const made = (field: string, after: string) => ({
      ...{ field, after, hidden: false, state: 'as_left' as const, entry: 1, lastEntry: 1 },
    });
    const laptop = item({
      ...{ id: 'o_auth2_access_token:9', summary: 'created the access token (9)', risk: 'high' },
      object: { kind: 'o_auth2_access_token', id: 9, name: null },
      changes: [made('description', 'laptop'), made('scope', 'write'), made('token', 'no value of a token')],
    });
    const parts = incidentParts(await at.report([investigation({ items: [laptop] })]), PLACE);
    for (const heading of ['What happened', 'Timeline', 'What remains']) {
      const text = await texts(parts, heading);
      expect(text).toContain('created the access token (9): "laptop", scope write');
      expect(text).not.toContain('no value of a token');
    }
  });

  test('lists apart what an investigation of a stolen token has from before the token was made', async () => {
    await using at = await locked();
    const old = (id: string, summary: string) =>
      item({ id, summary, state: 'unknown', risk: null, remedy: null, first: '2026-11-19T07:00:00.000Z' });
    const madeAt = '2026-11-20T08:30:00.000Z';
    const ofToken = investigation({
      ...{
        subject: { kind: 'token', id: 9, user: 'alice' },
        begins: 'given',
        since: '2026-11-19T00:00:00.000Z',
      },
      chain: [link(ALICE, { since: madeAt })],
      items: [item({ id: 'user:11', state: 'gone' })],
      beforeToken: {
        ...{ madeAt, isWhole: true },
        items: [old('user:7', 'created the user colleague (7)'), old('team:1', 'created the team x (1)')],
      },
    });
    const found = await at.report([ofToken]);
    expect(found.own.map(({ why, item: { id } }) => [why, id])).toEqual([
      ['before_token', 'user:7'],
      ['before_token', 'team:1'],
    ]);
    const parts = incidentParts(found, PLACE);
    const own = await texts(parts, "Not the intruder's");
    expect(own).toContain(
      "From before 2026-11-20T08:30:00Z, when the stolen token 9 was created, and considered the owner's own work (2 things):",
    );
    expect(own).toContain('created the user colleague (7), was left as is and not read again');
    expect(await texts(parts, 'What happened')).toContain(
      'Listed separately under "Not the intruder\'s": 2 things from before the incident could have started.',
    );
    const text = await whole(markdownDocument(parts));
    expect(text).toContain(
      'The incident started no earlier than 2026-11-20T08:30:00Z, when the token was created',
    );
    expect(text).not.toContain('beginning of the theft');
    // What was found of another account as well is not taken for the owner's own.
    const eve = investigation({
      ...{ subject: { kind: 'user', name: 'eve' }, items: [old('team:1', 'changed the team x (1)')] },
    });
    expect((await at.report([eve, ofToken])).own).toMatchObject([{ item: { id: 'user:7' } }]);
  });

  test('tells the stolen token from what was done with it, where the theft began', async () => {
    await using at = await locked();
    const stolen = (state: InvestigationItem['state']) =>
      item({
        ...{ id: 'o_auth2_access_token:9', summary: 'created the access token (9)', risk: 'high', state },
        object: { kind: 'o_auth2_access_token', id: 9, name: null },
        first: '2026-11-20T08:30:00.000Z',
      });
    const found = (state: InvestigationItem['state']) =>
      investigation({
        subject: { kind: 'token', id: 9, user: 'alice' },
        items: [item({ id: 'user:11', state: 'gone' }), stolen(state)],
      });
    const parts = incidentParts(await at.report([found('gone')]), PLACE);
    const happened = await texts(parts, 'What happened');
    expect(happened).toContain(
      'A token was stolen. The incident started no earlier than 2026-11-20T08:30:00Z, when the token was created: alice created the access token (9). It is not counted below. According to the last investigation, it is gone.',
    );
    expect(await texts(parts, 'In short')).toContain(
      'acted from 2026-11-20T09:00:00Z to 2026-11-20T09:00:00Z: created 1 object.',
    );
    expect(await texts(parts, 'In short')).toContain(
      ', 60 minutes (3600 s) after the first of these actions: ',
    );
    expect(happened).not.toContain('high: created the access token');
    expect(await texts(parts, 'Timeline')).toMatch(/access token \(9\).* \(the stolen token, created here\)/);
    const [, first] = chainOf(NOTHING_KNOWN, allOf([found('gone')]));
    expect(first).toMatchObject({ text: 'created the access token (9) (the stolen token, created here)' });
    // One that is still there remains, whatever it is called.
    const alive = incidentParts(await at.report([found('there')]), PLACE);
    expect(await texts(alive, 'In short')).toMatch(/^\*\*Not over\. .*1 thing remains/m);
    expect(await texts(alive, 'What happened')).toContain('it is still there.');
    const text = documentText(investigationDocument(found('gone'), { all: false }));
    expect(text).toContain('1 item: 0 remain.');
    expect(text).toMatch(
      /not counted: created the access token \(9\), \S+Z\. The incident did not start before that\. Now: gone\./,
    );
    // An investigation of the owner from before is of the same account: what it found is not told twice.
    const before = investigation({ madeAt: '2026-11-20T09:50:00.000Z', items: found('there').items });
    const both = incidentParts(await at.report([before, found('gone')]), PLACE);
    // What was done before the token was made is not of who stole it; unless another account was investigated as well.
    const early = item({ id: 'team:1', summary: 'created the team x (1)', last: '2026-11-20T07:00:00.000Z' });
    const earlier = { ...before, items: [early, ...before.items] };
    const late = { ...found('gone'), chain: [link(ALICE, { since: '2026-11-20T08:30:00.000Z' })] };
    const known = await at.report([earlier, late]);
    expect(known.own).toMatchObject([{ item: { id: 'team:1' }, why: 'before_token' }]);
    expect(await texts(incidentParts(known, PLACE), "Not the intruder's")).toContain(
      "From before 2026-11-20T08:30:00Z, when the stolen token 9 was created, and considered the owner's own work (1 thing):",
    );
    const eve = investigation({ subject: { kind: 'user', name: 'eve' }, items: [] });
    expect((await at.report([earlier, eve, late])).own).toEqual([]);
    expect(await texts(both, 'In short')).toMatch(/^\*\*Nothing is known to remain\./m);
  });

  test('says what rights a made user has, what was changed, and what was open after the lockdown', async () => {
    await using at = await locked();
    const change = (field: string, before: unknown, after: unknown, hidden = false) => ({
      ...{ field, hidden, state: 'as_before' as const, entry: 1, lastEntry: 1 },
      ...(!hidden && { before, after }),
    });
    const mole = item({
      ...{ id: 'user:44', summary: 'created the user mole (44)', state: 'gone' },
      object: { kind: 'user', id: 44, name: 'mole' },
      changes: [change('is_superuser', undefined, true)],
    });
    const back = item({
      ...{ id: 'o_auth2_access_token:50', summary: 'created the access token (50)', state: 'gone' },
      object: { kind: 'o_auth2_access_token', id: 50, name: null },
    });
    const restored = item({
      ...{ id: 'organization:1', group: 'other', act: 'changed', state: 'undone', risk: null },
      ...{
        object: { kind: 'organization', id: 1, name: 'Default' },
        summary: 'changed the organization Default (1)',
      },
      changes: [change('description', 'ours', 'theirs'), change('secret', 'no value', 'of a secret', true)],
    });
    const { address, context } = at.target.self;
    const common = {
      ...{ operation: 'tokens.revoke', run: 'of-ours-and-more', actor: { user: 'root' } },
      target: { address, context },
    };
    const data = { step: 'batch', incident: at.incident };
    const { seq: closes } = await at.log.append({ ...common, kind: 'intent', data });
    await at.log.append({ ...common, kind: 'outcome', closes, data: { ...data, revoked: [50] } });
    const found = await at.report([investigation({ items: [mole, back, restored] })]);
    const parts = incidentParts(found, PLACE);
    expect(await texts(parts, 'What happened')).toContain('critical: created the user mole (44): superuser');
    const values =
      'changed the organization Default (1) (description changed from "ours" to "theirs"; secret (not shown))';
    expect(await texts(parts, 'Timeline')).toContain(values);
    const ended = await texts(parts, 'What was ended');
    expect(ended).toContain(
      'changed the organization Default (1): restored: description to "ours" (it was "theirs"); secret (not shown)',
    );
    expect(ended).toMatch(/created the access token \(50\): ended at \S+Z by run of-ours-/);
    expect(ended).toContain('created the user mole (44): superuser: the end time is not known');
    expect(await whole(markdownDocument(parts))).not.toMatch(/no value|of a secret/);
    // The token was ended at the time of the lockdown, the user by no run.
    const open = (things: string) =>
      `Not known to have ended by then: ${things} that these accounts created.`;
    expect(await texts(parts, 'In short')).toContain(open('1 thing'));
    expect(openAfterText(found, '2026-11-20T09:59:00.000Z')).toBe(` ${open('2 things')}`);
  });

  test('has what was set back among what was ended and in the picture', async () => {
    await using at = await locked();
    const restored = item({
      ...{ id: 'organization:1', group: 'other', act: 'changed', state: 'undone', risk: null },
      object: { kind: 'organization', id: 1, name: 'Default' },
      summary: 'changed the organization Default (1)',
    });
    const label = { ...restored, id: 'label:1', act: 'made' as const, summary: 'created the label x (1)' };
    const found = investigation({ items: [restored, { ...label, state: 'gone' }] });
    const parts = incidentParts(await at.report([found]), PLACE);
    for (const heading of ['What was ended', 'Who made what']) {
      const text = await texts(parts, heading);
      expect(text).toContain('changed the organization Default (1)');
      expect(text).not.toContain('created the label');
    }
  });

  test('answers first whether the intruder is out, by the last investigation and the log', async () => {
    await using at = await locked({ deactivate: true });
    const verdict = async (...investigations: Investigation[]) =>
      (await texts(incidentParts(await at.report(investigations), PLACE), 'In short'))
        .split('\n')
        .find((line) => line.startsWith('**'));
    const gone = investigation({ items: [item({ id: 'user:11', state: 'gone' })] });
    expect(await verdict(gone)).toMatch(
      /^\*\*According to the last investigation \(2026-11-20T10:00:00Z\), no access path that these accounts created or changed is known to remain; alice was deactivated at \S+Z and not activated since, according to the audit log(; the lockdown did not check \d ways? in)?\.\*\*$/,
    );
    expect(await verdict(investigation())).toMatch(
      /1 access path that these accounts created or changed remains, 6 items that control what code runs may remain; alice was/,
    );
    const early = item({ id: 'user:11', first: '2026-11-20T09:59:00Z', last: '2026-11-20T09:59:00Z' });
    const late = item({ id: 'user:12', first: '2026-11-20T10:30:00Z', last: '2026-11-20T10:30:00Z' });
    const both = await at.report([investigation({ items: [early, late] })]);
    expect(await texts(incidentParts(both, PLACE), 'In short')).toContain(
      ', 60 seconds after the first of these actions (1 act is from after it)',
    );
    const unsure = investigation({ items: [item({ id: 'user:11', state: 'unknown' })] });
    expect(await verdict(unsure)).toContain('is known to remain, 1 access path was not checked; alice was');
    const bob = investigation({ subject: { kind: 'user', name: 'bob' }, items: [], chain: [] });
    expect(await verdict(gone, bob)).toContain(
      'According to the last investigations (2026-11-20T10:00:00Z, 2026',
    );
    const read = { ...(await at.report([gone])), usersNow: { at: at.common.clock.now(), users: [] } };
    const active = { ...read, usersNow: { ...read.usersNow, users: [{ name: 'alice', isActive: true }] } };
    expect(await texts(incidentParts(active, PLACE), 'In short')).toContain('alice was ACTIVE when read at');
    expect(await texts(incidentParts(read, PLACE), 'In short')).toContain('alice was deactivated at');
    await at.lift(at.incident);
    expect(await verdict(gone)).toMatch(
      /remain; alice was activated again at \S+Z, according to the audit log/,
    );
  });

  test('says which passwords were not reset, and counts who is deactivated and not deleted', async () => {
    await using at = await locked({ deactivate: true });
    const made = { hidden: false, state: 'as_left' as const, entry: 1, lastEntry: 1 };
    const mole = item({
      ...{ id: 'user:44', summary: 'created the user mole (44)', state: 'undone', changes: [] },
      object: { kind: 'user', id: 44, name: 'mole' },
    });
    const superuser = { ...mole, changes: [{ field: 'is_superuser', after: true, now: true, ...made }] };
    const of = async (one: InvestigationItem) =>
      incidentParts(await at.report([investigation({ items: [one] })]), PLACE);
    const parts = await of(superuser);
    const open = await texts(parts, 'What is not known');
    expect(open).toContain(
      'The lockdown did not reset the password of alice. Unless it was changed since, it works again when the account is active.',
    );
    const ofMole =
      'No run reset the password of user mole (44), which is deactivated, not deleted: it works again when the account is active.';
    expect(open).toContain(`${ofMole} It is still a superuser.`);
    const words = await texts(await of(mole), 'What is not known');
    expect(words).toContain(ofMole);
    expect(words).not.toContain('superuser');
    const unset = { ...superuser.changes[0], ...made, field: 'is_superuser', now: false };
    expect(await texts(await of({ ...mole, changes: [unset] }), 'What is not known')).not.toMatch(
      /superuser/,
    );
    expect(await texts(await of({ ...mole, state: 'gone' }), 'What is not known')).not.toContain('mole');
    expect(await texts(parts, 'In short')).toContain('They are ended, 1 of them deactivated, not deleted.');
    expect(await texts(parts, 'Who made what')).toContain(
      'created the user mole (44): deactivated, not deleted',
    );
    expect(await texts(parts, 'What was ended')).toContain(
      'created the user mole (44): deactivated, not deleted',
    );
    expect(chainPicture(chainNodes(investigation({ items: [mole] })))).toContain('mole (44) (deactivated)');

    // A reset in the log is not missing.
    const { address, context } = at.target.self;
    const entry = {
      ...{ operation: 'incident.lockdown', run: 'again', actor: { user: 'root' } },
      target: { address, context },
    };
    const data = { step: 'passwords', incident: at.incident };
    const { seq: closes } = await at.log.append({ ...entry, kind: 'intent', data });
    await at.log.append({ ...entry, kind: 'outcome', closes, data: { ...data, reset: [2, 44] } });
    expect(await texts(await of(superuser), 'What is not known')).not.toContain('password');
  });

  test('counts all that cleanings did', async () => {
    await using at = await locked();
    const { address, context } = at.target.self;
    const entry = {
      ...{ operation: 'incident.clean', run: 'run-of-cleaning', actor: { user: 'root' } },
      target: { address, context },
    };
    const clean = async (named: string, act: string, result = 'done') => {
      const data = { step: named, item: named, incident: at.incident };
      const [kind = '', id] = named.split(':');
      const object = { kind, id: Number(id) };
      const { seq: closes } = await at.log.append({
        ...entry,
        kind: 'intent',
        data: { ...data, act, object },
      });
      await at.log.append({ ...entry, kind: 'outcome', closes, data: { ...data, result } });
    };
    await clean('o_auth2_access_token:50', 'delete');
    await clean('o_auth2_application:5', 'delete');
    await clean('organization:1', 'restore');
    await clean('inventory:1', 'delete');
    await clean('inventory:2', 'delete');
    await clean('inventory:3', 'delete', 'failed');
    await clean('role:7', 'disassociate');
    await clean('schedule:8', 'disable');
    expect(await texts(incidentParts(await at.report([]), PLACE), 'What was ended')).toMatch(
      /According to the outcomes in the audit log: \d+ access tokens revoked, 1 application deleted, 1 organization restored, 2 inventories deleted, 1 role or link removed, 1 schedule switched off/,
    );
  });

  test('orders what is not known, and takes its own entries for known', async () => {
    await using at = await locked();
    const { address, context } = at.target.self;
    const entry = { operation: 'tokens.revoke', run: 'of-ours', actor: { user: 'root' } };
    const target = { address, context };
    const common = { ...entry, target };
    const { seq: closes } = await at.log.append({
      ...common,
      kind: 'intent',
      data: { step: 'batch', incident: at.incident },
    });
    const done = { step: 'batch', incident: at.incident, revoked: [9] };
    const { at: time } = await at.log.append({ ...common, kind: 'outcome', closes, data: done });
    const nameless = (entry: number, id: number) => ({
      ...{ entry, at: time, operation: 'delete', owner: null, fields: [] },
      object: { kind: 'o_auth2_access_token', id, name: null },
    });
    const found = (count: number, unattributed: Investigation['unattributed']) =>
      investigation({
        ...{ unattributed, mayHaveRead: ['Reads are not recorded.'] },
        limits: [
          { limit: 'clock', text: "Times are from the controller's clock." },
          {
            limit: 'no_actor',
            ...{ text: '', entries: { count, lack: 'actor', why: 'Direct SQL creates no entries.' } },
          },
          { limit: 'stream_pruned', text: 'Cut off.' },
        ],
      });
    const of = async (one: Investigation) =>
      await texts(incidentParts(await at.report([one]), PLACE), 'What is not known');
    const own = await of(found(1, [nameless(1, 9)]));
    expect(own).not.toMatch(/in the period|may be part of this/);
    expect(own).toContain("Without an actor, and considered tokenctl's own work: 1 entry about access.");
    expect(own).toMatch(
      /What may be missing:[\s\S]*Cut off[\s\S]*What may have been read:[\s\S]*Times and other notes:/,
    );
    expect(await of(found(3, [nameless(1, 9)]))).toContain(
      "2 entries in the period have no actor, 0 of them about access. Direct SQL creates no entries. 1 more is tokenctl's own, according to its audit log.",
    );
    const both = await of(found(2, [nameless(1, 9), nameless(2, 10)]));
    expect(both).toContain('1 entry in the period has no actor and affects access: it may be part of this.');
    expect(both).toContain('1 entry about access without an actor, which may be part of this:');
  });

  test('takes for its own what other runs in the same log did to the same object, and names these runs', async () => {
    await using at = await locked();
    const { address, context } = at.target.self;
    const write = async (run: string, operation: string, data: object, place = address) => {
      const entry = { operation, run, actor: { user: 'carol' }, target: { address: place, context } };
      const { seq: closes } = await at.log.append({ ...entry, kind: 'intent', data: { step: 'batch' } });
      return await at.log.append({ ...entry, kind: 'outcome', closes, data: { step: 'batch', ...data } });
    };
    const { at: time } = await write('sweep-of-the-night', 'tokens.revoke', { revoked: [20, 21] });
    await write('rotation', 'tokens.create', { step: undefined, result: 'done', token: 22 });
    await write('elsewhere', 'tokens.revoke', { revoked: [23] }, 'https://other.example.org');
    await write('refused', 'tokens.create', { step: undefined, result: 'refused', token: 25 });
    const nameless = (id: number, operation = 'delete', when = time) => ({
      ...{ entry: when === time ? id : 1, at: when, operation, owner: null, fields: [] },
      object: { kind: 'o_auth2_access_token', id, name: null },
    });
    const entries = [
      ...[nameless(20), nameless(21), nameless(22, 'create'), nameless(23), nameless(24)],
      ...[
        { ...nameless(21), entry: 99 },
        nameless(25, 'create'),
        nameless(20, 'delete', '2026-11-20T09:00:00.000Z'),
      ],
    ];
    const found = investigation({ unattributed: entries });
    const of = async (log = at.log) =>
      await texts(incidentParts(await at.report([found], { log }), PLACE), 'What is not known');
    const text = await of();
    // The other controller, another object, what was refused, another time, and a second entry of one act stay suspected.
    expect(text).toContain('5 entries about access without an actor, which may be part of this:');
    for (const id of [23, 24]) expect(text).toContain(`delete o\\_auth2\\_access\\_token ${id}`);
    expect(text).toContain(
      "Without an actor, and considered tokenctl's own work: 3 entries about access. According to its audit log, these runs did the same to the same objects at that time: 2 tokens.revoke by carol (run sweep-of), 1 tokens.create by carol (run rotation).",
    );
    const said = await at.log.verify();
    const line = { line: 1, seq: 1, expected: '', problem: 'hash', message: 'changed' } as const;
    const verify = () => Promise.resolve({ ...said, break: { ...line, expected: null } as never });
    const broken = await of(
      new Proxy(at.log, {
        get: (log, name) => {
          if (name === 'verify') return verify;
          const value: unknown = Reflect.get(log, name, log);
          return typeof value === 'function' ? value.bind(log) : value;
        },
      }),
    );
    expect(broken).toContain('8 entries about access without an actor, which may be part of this:');
    expect(broken).not.toContain("tokenctl's own work");
  });

  test('takes what was resolved manually for what its person says, until it is investigated again', async () => {
    await using at = await locked();
    const before = foundCopy('there', '2026-11-20T09:59:00.000Z');
    const marking = {
      ...{ log: at.log, description: at.target.self, clock: at.common.clock, actor: { user: 'root' } },
      ...{ incident: at.incident, items: ['inventory:2'], as: 'by_hand' as const },
    };
    // With the reason of the lockdown, as the console gives it where the person says none.
    const by = { ...marking, reason: HOSTILE[1] ?? '', isMarked: true };
    expect((await markItems(by)).changed).toEqual(['inventory:2']);
    const said = await at.report([before]);
    expect(said.own).toEqual([]);
    const parts = incidentParts(said, PLACE);
    const rows = (await texts(parts, 'Timeline')).split('\n');
    expect(rows.find((row) => row.includes('locked down'))).toContain('script');
    expect(rows.find((row) => row.includes('as resolved manually for'))).not.toContain('script');
    const over = await texts(parts, 'In short');
    expect(over).toContain('Not checked in full.');
    expect(over).toMatch(
      /It found 1 thing, of which 0 are ended\. Items that were still there or not checked were reported as resolved/,
    );
    expect(over).toContain('1 thing was reported as resolved manually, which was not checked.');
    expect(over).not.toMatch(/Nothing is known|^\*\*Not over\./);
    expect(await texts(parts, 'What remains')).toContain(
      'created the inventory copy (2); according to root, ',
    );
    expect(await texts(parts, 'Who made what')).toContain('(reported as resolved manually): not checked');

    // Whatever the next investigation finds counts: a word is no proof, and not a state that is not known either.
    const later = '2999-01-01T00:00:00.000Z';
    for (const [state, answer, word] of [
      ['there', 'Not over. According to the investigation at', 'still there'],
      ['unknown', '1 more was not checked', 'not checked'],
      ['gone', 'Nothing is known to remain.', 'gone'],
    ] as const) {
      const again = incidentParts(await at.report([before, foundCopy(state, later)]), PLACE);
      const verdict = await texts(again, 'In short');
      expect([state, verdict]).toEqual([state, expect.stringContaining(answer)]);
      const remaining = await texts(again, 'What remains');
      expect(remaining).toContain('checked since');
      // What its person said is not lost: both times stand beside each other.
      const both = new RegExp(`marked as resolved manually by root at \\S+, ${word} at 2999-01-01T00:00:00Z`);
      expect([state, remaining]).toEqual([state, expect.stringMatching(both)]);
      if (state !== 'gone') expect([state, verdict]).toEqual([state, expect.stringMatching(both)]);
    }
    const gone = foundCopy('gone', later);
    const hole = 'The activity stream is incomplete: 2 of the 9 IDs in this period have no entry.';
    const partly = { ...gone, stream: { ...gone.stream, hole } };
    const unread = await texts(incidentParts(await at.report([before, partly]), PLACE), 'In short');
    expect(unread).toContain(`Not known. ${hole} In what was read, the investigation at`);
    expect(unread).toContain(`Whether the intruder is out is not known, according to the`);
    expect(unread).not.toMatch(/Nothing is known|is known to remain|They are ended/);
    await markItems({ ...marking, isMarked: false });
    expect(await texts(incidentParts(await at.report([before]), PLACE), 'In short')).toContain(
      'Not over. According to the investigation at',
    );
  });

  test('lists what was reassigned as that, whatever an investigation finds, and never as ended', async () => {
    await using at = await locked();
    const before = foundCopy('there', '2026-11-20T09:59:00.000Z');
    const after = foundCopy('there', '2999-01-01T00:00:00.000Z');
    const marking = {
      ...{ log: at.log, description: at.target.self, clock: at.common.clock, actor: { user: 'root' } },
      ...{ incident: at.incident, items: ['inventory:2'], as: 'handed_over' as const },
    };
    const handed = { ...marking, isMarked: true, to: 'platform team', reason: 'their hosts' };
    expect((await markItems(handed)).changed).toEqual(['inventory:2']);
    expect((await markItems(handed)).changed).toEqual([]);
    expect((await markItems({ ...handed, to: 'carol' })).changed).toEqual(['inventory:2']);
    for (const investigations of [[before], [before, after]]) {
      const report = await at.report(investigations);
      expect([...report.marks.handedOver.values()]).toMatchObject([
        { to: 'carol', why: 'their hosts', by: 'root' },
      ]);
      const parts = incidentParts(report, PLACE);
      const over = await texts(parts, 'In short');
      expect(over).toContain('Not in full.');
      expect(over).toMatch(
        /1 thing is reassigned to others, who decide: created the inventory copy \(2\), reassigned/,
      );
      expect(over).not.toMatch(/Nothing is known|^\*\*Not over\./);
      expect(await texts(parts, 'What remains')).toMatch(
        /reassigned to carol by root at \S+ \("their hosts"\); still there at/,
      );
      expect(await texts(parts, 'Who made what')).toContain('(reassigned to carol)');
    }
    // It is over only where an investigation finds it gone.
    const gone = foundCopy('gone', '2999-01-01T00:00:00.000Z');
    expect(await texts(incidentParts(await at.report([gone]), PLACE), 'In short')).toContain(
      'Nothing is known to remain.',
    );
    // The last word counts: it was resolved manually after all, and is taken back then.
    await markItems({ ...marking, as: 'by_hand', isMarked: true });
    const marked = async () => {
      const { byHand, handedOver } = (await at.report([before])).marks;
      return [[...byHand.keys()], [...handedOver.values()].map(({ to }) => to)];
    };
    expect(await marked()).toEqual([['inventory:2'], []]);
    await markItems(handed);
    expect(await marked()).toEqual([[], ['platform team']]);
    expect((await markItems({ ...marking, isMarked: false })).changed).toEqual(['inventory:2']);
    expect(await texts(incidentParts(await at.report([before]), PLACE), 'In short')).toContain(
      'Not over. According to the investigation at',
    );
  });

  test('takes the beginning of the theft from the last cleaning', async () => {
    await using at = await locked();
    const { address, context } = at.target.self;
    const entry = { operation: 'incident.clean', run: 'run-of-cleaning', actor: { user: 'root' } };
    const data = { step: 'operation', incident: at.incident, since: '2026-11-20T09:30:00.000Z' };
    await at.log.append({ ...entry, target: { address, context }, kind: 'intent', data });
    const only = investigation({ items: [item({ id: 'user:11' })] });
    const report = await at.report([only]);
    expect(report).toMatchObject({ began: { run: 'run-of-cleaning' }, own: [{ why: 'before' }] });
    const parts = incidentParts(report, PLACE);
    expect(await texts(parts, 'In short')).toContain('Everything found about User alice');
    expect(await texts(parts, "Not the intruder's")).toContain('according to the cleanup run-of-cleaning');
  });

  test('says of a clean investigation that nothing was found, within the limits', async () => {
    await using at = await locked();
    const clean = investigation({ items: [item({ id: 'user:11', state: 'gone' })] });
    const parts = incidentParts(await at.report([clean]), PLACE);
    expect(await texts(parts, 'In short')).toContain('Nothing is known to remain');
    const other = item({
      ...{ id: 'organization:2', group: 'other', act: 'changed', state: 'there', risk: null },
      summary: 'changed the organization Default (2)',
    });
    const found = investigation({ items: [other] });
    const described = incidentParts(await at.report([found]), PLACE);
    expect(await texts(described, 'In short')).toContain('changed 1 object');
    expect(await texts(described, 'What remains')).toContain('changed the organization Default (2)');
    expect(chainNodes(found).map(({ text, state }) => [text, state])).toContainEqual([other.summary, 'open']);
    expect(await texts(described, 'In short')).toMatch(
      /Nothing is known to remain that gives access or runs code.* 1 other change is still there or not checked: /,
    );
    // What a rule rates high is never told as no way in.
    const high = investigation({ items: [{ ...other, risk: 'high' }] });
    expect(await texts(incidentParts(await at.report([high]), PLACE), 'In short')).toContain(
      'Not over. According to the investigation at 2026-11-20T10:00:00Z, 1 thing remains, 1 of high or critical risk.',
    );
    const unsure = investigation({ items: [item({ id: 'user:11', state: 'unknown' })] });
    expect(await texts(incidentParts(await at.report([unsure]), PLACE), 'In short')).toContain(
      '1 more was not checked',
    );
  });

  test('does not take the end of a job for a deed, and keeps names that the controller forgot', async () => {
    await using at = await locked();
    const job = item({
      ...{ id: 'job:5', group: 'ran', act: 'launched', state: 'finished', summary: 'launched the job x (5)' },
      ...{ first: '2026-11-20T09:30:00.000Z', last: '2026-11-20T11:45:00.000Z' },
      job: {
        ...{ status: 'canceled', launchType: 'manual', credentials: [], hosts: null, because: 'launched' },
        ...{ started: null, finished: '2026-11-20T11:45:00.000Z', template: null },
      },
    });
    const scheduled = item({
      ...{
        ...job,
        id: 'job:6',
        first: '2026-11-20T11:50:00.000Z',
        summary: 'ran from what the actor created: job y (6)',
      },
      job: job.job && { ...job.job, because: 'made' },
    });
    const made = item({
      id: 'user:11',
      object: { kind: 'user', id: 11, name: 'mole' },
      summary: 'created the user mole (11)',
    });
    const forgotten = { ...made, object: { ...made.object, name: null }, summary: 'created the user (11)' };
    const before = investigation({ items: [made, job] });
    const after = investigation({
      ...{ madeAt: '2026-11-20T12:00:00.000Z', items: [{ ...forgotten, state: 'gone' }, job, scheduled] },
    });
    const parts = incidentParts(await at.report([before, after]), PLACE);
    expect(await texts(parts, 'In short')).not.toMatch(/11:45|acted from .* to .*11:50/);
    expect(await texts(parts, 'In short')).toContain(
      'launched 1 job. 1 job ran from what was created or changed.',
    );
    expect(await texts(parts, 'Timeline')).toMatch(/launched the job x .*canceled at 2026-11-20T11:45/);
    expect(await texts(parts, 'What was ended')).toContain('created the user mole');
  });

  test('claims nothing for an account that sees only part', async () => {
    await using at = await locked();
    const part: Visibility = {
      ...({ kind: 'part', organizations: [] } as const),
      ...{ tokens: 'its own', users: 'itself', applications: 'none' },
    };
    const parts = incidentParts(await at.report([investigation({ visibility: part, items: [] })]), PLACE);
    expect(await texts(parts, 'In short')).toContain('can see only part of the activity stream');
    expect(await texts(parts, 'In short')).toMatch(
      /^\*\*Whether the intruder is out is not known: admin can see only part .*\s+\*\*Not known\..* can see only part/m,
    );
    expect(await texts(parts, 'What remains')).toMatch(/^Not known\..* can see only part/);
    const some = incidentParts(await at.report([investigation({ visibility: part })]), PLACE);
    expect(await texts(some, 'In short')).toMatch(
      /^\*\*According to the last investigation .* remains.*\s+\*\*Not over\..* There may be more remaining/m,
    );
  });

  test('shows a log that does not hold as one, and signs nothing of it', async () => {
    await using at = await locked();
    const broken = {
      ...at.log,
      entries: at.log.entries.bind(at.log),
      head: () => at.log.head(),
      verify: async () => ({
        ...(await at.log.verify()),
        break: {
          ...{ line: 2, expected: 2, seq: 2, problem: 'edited' as const, message: 'Entry 2 was edited' },
        },
      }),
    };
    const report = await at.report([], {
      log: broken,
      checkpoint: () => Promise.reject(new Error('signed')),
    });
    expect(report.evidence).toMatchObject({ intact: false, checkpoint: null });
    expect(await texts(incidentParts(report, PLACE), 'How do we know?')).toContain('is broken');
  });
});

describe('hostile names', () => {
  test('become no markup in HTML', async () => {
    await using at = await locked();
    const page = await whole(
      htmlDocument(incidentParts(await at.report([investigation()]), PLACE), HOSTILE[1] ?? ''),
    );
    const tags = new Set([...page.matchAll(/<([a-z!][a-z0-9]*)/gi)].map(([, name]) => name?.toLowerCase()));
    const allowed = ['!doctype', 'html', 'head', 'meta', 'title', 'style', 'body', 'main', 'h1', 'h2', 'p'];
    allowed.push('strong', 'ul', 'li', 'div', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'pre', 'code');
    allowed.push('figure', 'svg', 'g', 'path', 'rect', 'circle', 'text', 'span');
    expect([...tags].filter((name) => !allowed.includes(name ?? ''))).toEqual([]);
    expect(page).not.toMatch(/<[^>]*\son\w+=/i);
    expect(page).toContain("default-src 'none'");
    expect(page).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(page).not.toContain('\u202e');
    expect(page.match(/<\/svg>/g)).toHaveLength(1);
  });

  test('become no markup in the picture alone', () => {
    const svg = chainPicture(chainNodes(investigation()), { standalone: true });
    expect(svg).not.toMatch(/<script|<img|href|<[^>]*\son\w+=/i);
    expect(svg.match(/<\/svg>/g)).toHaveLength(1);
    expect(svg.match(/<text/g)?.length).toBe(chainNodes(investigation()).length + 3);
  });

  test('stay in their cell and their line in Markdown', async () => {
    await using at = await locked();
    const text = await whole(markdownDocument(incidentParts(await at.report([investigation()]), PLACE)));
    expect(text).not.toMatch(/(?<!\\)<(img|script)/);
    expect(text).not.toMatch(/^# heading/m);
    expect(text).not.toMatch(/^```/m);
    const rows = text.split('\n').filter((line) => line.startsWith('| 2026'));
    expect(rows.length).toBeGreaterThan(HOSTILE.length);
    for (const row of rows) expect(row.match(/(?<!\\)\|/g)).toHaveLength(4);
  });
});

test('the file of an investigation is read whole, or refused if a part of it is missing or of another kind', () => {
  const folder = mkdtempSync(join(tmpdir(), 'investigation-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'theft.json');
  const read = (content: unknown) => {
    writeFileSync(path, JSON.stringify(content));
    return readInvestigationFile(path);
  };
  const whole = investigation();
  expect(read(whole)).toEqual(JSON.parse(JSON.stringify(whole)));
  const [first, ...others] = whole.items;
  const damaged: object[] = Object.keys(whole).map((member) => ({ ...whole, [member]: undefined }));
  damaged.push({ ...whole, subject: { kind: 'user' } });
  damaged.push({ ...whole, items: [...others, { ...first, by: undefined }] });
  damaged.push({ ...whole, items: [...others, { ...first, state: 'over' }] });
  damaged.push({ ...whole, items: [...others, { ...first, remedy: 'none' }] });
  for (const each of damaged) {
    expect(() => read(each)).toThrow(expect.objectContaining({ code: 'configuration' }));
  }
});

test('an investigation of very many items shows some of each kind, and all if asked to', () => {
  const bot = (id: number) => link({ id, username: `bot${id}` }, { how: 'made', by: ALICE });
  const of = (kind: string, id: number) =>
    item({ id: `${kind}:${id}`, object: { kind, id, name: null }, summary: `created the ${kind} ${id}` });
  const ids = Array.from({ length: 1000 }, (_, index) => index + 20);
  const many = investigation({
    chain: [link(ALICE), ...ids.slice(0, 200).map(bot)],
    items: [
      ...ids.map((id) => of('o_auth2_access_token', id)),
      ...ids.slice(0, 200).map((id) => of('user', id)),
    ],
  });
  const text = documentText(investigationDocument(many, { all: false }));
  expect(text.split('\n').length).toBeLessThan(200);
  expect(text).toContain('1,200 items: 1,200 remain.');
  expect(text).toContain('Included: 180 more users. Add --all to list them.');
  expect(text).toContain('created the user 20');
  expect(text).toMatch(/980 more of the kind access token\..*\n +180 more of the kind user\. Add --all/);
  const all = documentText(investigationDocument(many, { all: true }));
  expect(all.match(/created the/g)).toHaveLength(1200);
  expect(all).not.toContain('--all');
});

test('an investigation of an incident tells what people decided, and what tokenctl itself did', () => {
  const user = (id: number) =>
    item({ id: `user:${id}`, object: { kind: 'user', id, name: null }, summary: `created the user ${id}` });
  const entry = (id: number, at: string) => ({
    ...{ entry: id, at, operation: 'delete', owner: null, fields: [], summary: '' },
    object: { kind: 'o_auth2_access_token', id, name: null },
  });
  const found = investigation({
    madeAt: '2026-11-20T11:00:00.000Z',
    items: [user(20), user(21), user(22), user(23)],
    unattributed: [entry(5, '2026-11-20T10:30:00.500Z'), entry(6, '2026-11-20T10:30:00.500Z')],
    unattributedCount: 2,
    limits: [{ limit: 'no_actor', text: '', entries: { count: 2, lack: 'actor', why: 'Why.' } }],
  });
  const mark = (id: number) => ({
    ...{ item: `user:${id}`, at: '2026-11-20T10:40:00.000Z', by: 'eve', seq: 9, why: 'on shift' },
  });
  const [from, to] = [Date.parse('2026-11-20T10:30:00Z'), Date.parse('2026-11-20T10:30:01Z')];
  const kind = 'o_auth2_access_token';
  const ours: OwnAct = {
    kind,
    id: 5,
    operation: 'delete',
    fields: [],
    run: 'r',
    by: 'eve',
    command: 'tokens.revoke',
    from,
    to,
  };
  const known = {
    marks: {
      legitimate: new Map([['user:20', mark(20)]]),
      byHand: new Map([['user:21', mark(21)]]),
      handedOver: new Map([['user:22', { ...mark(22), to: 'the platform team' }]]),
    },
    ...{ ownActs: [ours], provenActs: [ours], verified: new Map() },
  };
  const text = documentText(investigationDocument(found, { all: false, known }));
  expect(text).toContain('4 items: 2 remain, plus 2 with a decision.');
  expect(text).toMatch(/Remaining access: 2\.\n.*\[user:21\](?:.*\n)+?.*\[user:23\]/);
  expect(text).toContain(
    'created the user 20 [user:20]: legitimate, by eve, 2026-11-20T10:40:00Z: "on shift"',
  );
  expect(text).toContain('created the user 22 [user:22]: reassigned to the platform team, by eve, ');
  expect(text).toMatch(
    /Reported as resolved manually, but still there or not checked:\n +created the user 21 \[user:21\]/,
  );
  expect(text).toMatch(/^ .*delete o_auth2_access_token 6$/m);
  expect(text).not.toContain('delete o_auth2_access_token 5');
  expect(text).toContain("1 more is tokenctl's own, according to its audit log.");
  const unknown = documentText(investigationDocument(found, { all: false }));
  expect(unknown).toContain('4 items: 4 remain.');
  expect(unknown).toContain('delete o_auth2_access_token 5');
});

test('the chain hangs what a made user did below that user, bounded', () => {
  const nodes = chainNodes(investigation());
  expect(nodes.slice(0, 4).map(({ depth, state, parent }) => [depth, state, parent])).toEqual([
    [0, 'user', null],
    [1, 'open', 0],
    [2, 'user', 1],
    [3, 'open', 2],
  ]);
  const many = Array.from({ length: 500 }, (_, index) => item({ id: `x:${index}` }));
  const large = chainNodes(investigation({ items: many, chain: [link(ALICE)] }));
  expect(large.length).toBeLessThan(40);
  expect(large.at(-1)?.text).toBe('and 475 more');
});
