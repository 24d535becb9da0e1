import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { CaseRead } from '../../../src/console/case/cases.ts';
import type { LockdownSnapshot } from '../../../src/console/case/lockdown-snapshot.ts';
import type { OperationState } from '../../../src/console/operations.ts';
import { begin, confirmed, tokensOf } from '../../support/console.ts';
import { theftConsole } from '../../support/theft.ts';
import { temporaryFolder } from './program.ts';

/** A console of a controller on which bob's token was stolen. */
async function console() {
  const folder = temporaryFolder();
  const { opened, close } = await theftConsole(folder);
  onTestFinished(close);
  const beginLockdown = (request: object) =>
    begin(opened, { kind: 'incident lockdown', place: 'east-db', deactivate: true, ...request });
  const confirm = (asking: OperationState) => confirmed(opened, asking);
  const read = async <T>(path: string, incident: string) =>
    (await opened.send(`${path}?place=east-db&incident=${incident}`)).json() as T;
  const cases = join(folder, '.local/state/tokenctl/cases');
  return { folder, opened, begin: beginLockdown, confirm, read, cases };
}

function incidentOf({ result }: OperationState): string {
  const { incident = '' } = (result?.json ?? {}) as { readonly incident?: string };
  return incident;
}

it('keeps what is known of a theft with its case once the lockdown is confirmed, and not before', {
  tags: ['long'],
}, async () => {
  const { opened, begin, confirm, read, cases } = await console();
  // Each word is looked for, in any order.
  const token = (await tokensOf(opened, '&text=ob+b')).rows[0]?.id ?? 0;
  const since = new Date(Date.now() - 60_000).toISOString();
  const request = { user: ['bob'], reason: 'stolen', ticket: 'SEC-7', theft: { token, since } };
  await opened.send('/api/plans', { kind: 'incident lockdown', place: 'east-db', ...request });
  const dropped = await begin(request);
  await opened.send(`/api/operations/${dropped.id}/cancel`, {});
  await opened.reached(dropped.id, 'canceled');
  expect(existsSync(cases)).toBe(false);
  for (const wrong of [{ token: 'laptop' }, { since: 'yesterday' }, { of: '../other' }, { what: 1 }]) {
    const sent = { kind: 'incident lockdown', place: 'east-db', ...request, theft: wrong };
    expect([wrong, (await opened.send('/api/operations', sent)).statusCode]).toEqual([wrong, 400]);
  }

  const incident = incidentOf(await confirm(await begin(request)));
  expect((await read<CaseRead>('/api/case', incident)).theft).toEqual({ token, since });
  const [file = ''] = readdirSync(join(cases, incident));
  expect([file, statSync(join(cases, incident, file)).mode & 0o777]).toEqual(['theft.json', 0o600]);
  // Locked down again without anything that is known, what was said stays.
  expect((await begin({ user: ['bob'], reason: 'again' })).state).toBe('done');
  expect((await read<CaseRead>('/api/case', incident)).theft).toEqual({ token, since });
});

it('tells whom the thief made from whom the owner made before, and what holds them', {
  tags: ['long'],
}, async () => {
  const { opened, begin, confirm, read } = await console();
  // Each word is looked for, in any order.
  const token = (await tokensOf(opened, '&text=bob')).rows[0]?.id ?? 0;
  const request = { user: ['bob'], reason: 'stolen', ticket: 'SEC-7', theft: { token } };
  const incident = incidentOf(await confirm(await begin(request)));
  const snapshot = () => read<LockdownSnapshot>('/api/case/snapshot', incident);
  expect(await snapshot()).toMatchObject({
    account: { reason: 'stolen', ticket: 'SEC-7' },
    theft: { token },
    made: {
      users: [
        { user: 'colleague', isSuperuser: false, isBefore: true, lockedIn: null },
        { user: 'mole', isSuperuser: true, isBefore: false, lockedIn: null },
      ],
    },
  });
  const stopped = incidentOf(await confirm(await begin({ user: ['mole'], theft: { of: incident } })));
  expect(stopped).not.toBe(incident);
  const { made } = await snapshot();
  expect(made?.users.map(({ user, lockedIn }) => [user, lockedIn])).toEqual([
    ['colleague', null],
    ['mole', stopped],
  ]);
  expect((await read<CaseRead>('/api/case', stopped)).theft).toEqual({ of: incident });
});

it('closes the lockdown of an account that belongs to a case with the case: its user stays deactivated', {
  tags: ['long'],
}, async () => {
  const { folder, opened, begin: lockDown, confirm, read } = await console();
  const main = incidentOf(await confirm(await lockDown({ user: ['bob'] })));
  const other = incidentOf(await confirm(await lockDown({ user: ['mole'], theft: { of: main } })));
  expect((await read<LockdownSnapshot>('/api/case/snapshot', main)).others).toEqual([
    { incident: other, isLocked: true, names: ['mole'] },
  ]);
  const lift = { kind: 'incident lift', place: 'east-db', incident: main, alongside: [other] };
  const planOf = async (asked: object) => (await opened.send('/api/plans', asked)).json().text as string;
  expect(await planOf({ ...lift, keepDeactivated: false })).toMatch(
    /Activate bob\.[\s\S]*mole stays deactivated\./,
  );
  expect((await opened.send('/api/plans', { ...lift, alongside: ['../x'] })).statusCode).toBe(400);
  expect((await opened.send('/api/plans', { ...lift, alongside: ['inc-00000000'] })).statusCode).toBe(404);
  const log = join(folder, '.local/state/tokenctl/audit.jsonl');
  renameSync(log, `${log}.aside`);
  mkdirSync(log);
  const asked = await opened.send('/api/operations', { ...lift, keepDeactivated: false });
  await opened.reached(asked.json().id, 'failed');
  rmdirSync(log);
  renameSync(`${log}.aside`, log);
  expect((await read<CaseRead>('/api/case', other)).incident.state).toBe('locked');

  const done = await confirm(await begin(opened, { ...lift, keepDeactivated: false }));
  expect(done.command).toMatch(
    new RegExp(
      `^tokenctl incident lift ${main} .*&& tokenctl incident lift ${other} --keep-deactivated --context`,
    ),
  );
  expect([done.state, done.outcome]).toEqual(['done', 'done']);
  expect((await read<CaseRead>('/api/case', main)).users).toMatchObject([{ name: 'bob', isActive: true }]);
  expect((await read<CaseRead>('/api/case', other)).users).toMatchObject([
    { name: 'mole', isActive: false, stays: true },
  ]);
  expect((await read<LockdownSnapshot>('/api/case/snapshot', main)).others).toEqual([]);
  // Nothing is left to do for a second time.
  expect(await planOf(lift)).toMatch(/Nothing to do\./);
});

it('asks to close a case with what becomes of its user, whatever the name', { tags: ['long'] }, async () => {
  const folder = temporaryFolder();
  const { service, opened, close } = await theftConsole(folder);
  onTestFinished(close);
  const name = 'Activate bob';
  // The API refuses the space; a provider of single sign-on may send it.
  await service.database.execute('UPDATE auth_user SET username = $1 WHERE username = $2', [name, 'bob']);
  const lockdown = { kind: 'incident lockdown', place: 'east-db', deactivate: true, user: [name] };
  const incident = incidentOf(await confirmed(opened, await begin(opened, lockdown)));
  const lift = { kind: 'incident lift', place: 'east-db', incident, keepDeactivated: true };
  const { asked } = await begin(opened, lift);
  expect(asked?.act).toBe(`close the case: ${name} stays deactivated`);
});

it('says the plan and the result of a lockdown in a few words, and holds the rest ready', {
  tags: ['long'],
}, async () => {
  const { begin, confirm } = await console();
  const asking = await begin({ user: ['bob'] });
  const folds = (parts: OperationState['asked']) =>
    (parts?.document ?? []).flatMap((part) => (part.kind === 'lines' && part.fold !== null ? part : []));
  expect(folds(asking.asked).map(({ fold }) => fold)).toEqual(['Deactivates bob, ends 1 access token']);
  expect(folds(asking.asked)[0]?.lines[0]?.under.map(({ number, text }) => `${number}. ${text}`)).toContain(
    '1. Deactivate 1 user: bob.',
  );
  // The command of the terminal says it in whole, with the command that lifts it.
  expect(asking.asked?.plan).toMatch(/^At postgresql:.*\(context east-db, as /m);
  const { result } = await confirm(asking);
  const shown = result?.document ?? [];
  expect(shown.flatMap((part) => (part.kind === 'lines' && part.fold !== null ? part.fold : []))).toEqual([
    '3 steps done',
    'bob: 6 access paths closed',
  ]);
  expect(result?.text).toContain('To lift it: tokenctl incident lift inc-');
  expect(JSON.stringify(shown)).not.toContain('tokenctl incident lift');
});

it('locks down also where what is known of the theft cannot be kept, and says so', {
  tags: ['long'],
}, async () => {
  const { folder, begin, confirm, cases } = await console();
  mkdirSync(join(folder, '.local/state/tokenctl'), { recursive: true });
  writeFileSync(cases, 'no folder');
  const done = await confirm(await begin({ user: ['bob'], theft: { token: 1 } }));
  expect(done).toMatchObject({ state: 'done', outcome: 'done', failure: null });
  expect(done.notices).toEqual([
    expect.stringMatching(
      /^The incident details were not stored with the case: .*The page will ask for them again\.$/,
    ),
  ]);
  expect(readFileSync(cases, 'utf8')).toBe('no folder');
});
