import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '@tokenctl/testing/until.ts';
import { describe, expect, it } from 'vitest';
import type { SunsetJson } from '../../../src/cli/sunset/sunset-flow.ts';
import type { Lifetimes } from '../../../src/console/lifetimes.ts';
import type { OperationState } from '../../../src/console/operations.ts';
import {
  begin,
  confirmed,
  consoleOf,
  incidentsOf,
  type TestConsole,
  tokensOf,
} from '../../support/console.ts';
import { estate } from './estate.ts';

const { home } = estate({ users: 12, tokens: 30 });

/** Begins a change, and confirms what it asks for; gives how it ended. */
async function carryOut({ send, reached }: TestConsole, change: object): Promise<OperationState> {
  const begun = await send('/api/operations', change);
  expect([begun.statusCode, begun.body]).toEqual([201, expect.anything()]);
  const { id } = begun.json() as OperationState;
  const { asked } = await reached(id, 'asking', 'done', 'failed');
  if (asked !== null) {
    await send(`/api/operations/${id}/confirm`, { answer: asked.type, digest: asked.digest });
  }
  return await reached(id, 'done', 'failed');
}

describe('a lockdown in a console', () => {
  it('has the options of the command, and writes a rescue token to a file', { tags: ['long'] }, async () => {
    const at = home();
    const opened = await consoleOf(at);
    const { send } = opened;
    const [one = '', other = ''] = (await tokensOf(opened)).facets.users.map(({ name }) => name);
    const file = join(at.folder, 'rescue.token');
    const lockdown = { kind: 'incident lockdown', place: 'test', user: [one, other], keepActive: [other] };
    const planned = (await send('/api/plans', { ...lockdown, deactivate: true, resetPassword: true })).json();
    expect(planned.command).toBe(
      `tokenctl incident lockdown --user ${one} --user ${other} --deactivate --reset-password --keep-active ${other} --context test`,
    );
    expect((await send('/api/plans', lockdown)).json()).toMatchObject({
      error: { message: '--keep-active requires --deactivate.' },
    });
    const request = { kind: 'incident lockdown', place: 'test', user: [one], basicAuthOff: true };
    // The console signs in with a password, which would not work any more.
    expect((await send('/api/plans', request)).json().failure).toMatchObject({ code: 'lockout_refused' });
    const rescued = { ...request, rescueToken: '~/rescue.token' };
    const plan = (await send('/api/plans', rescued)).json();
    expect([plan.failure, existsSync(file)]).toEqual([null, false]);
    expect(plan.text).toContain(file);
    expect(plan.command).toContain(`--rescue-token ${file}`);

    const locked = await carryOut(opened, rescued);
    expect(locked.result?.text).toContain(`is in ${file}`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const secret = readFileSync(file, 'utf8').trim();
    const shown = [locked, (await send('/api/operations')).json(), (await send('/api/log')).json()];
    expect(JSON.stringify(shown)).not.toContain(secret);
    expect((await send('/api/overview?place=test')).statusCode).toBe(502);

    // As the report says: the context with the token. The console reads the configuration for each piece of work.
    const command = /context add .*/.exec(locked.result?.text ?? '')?.[0] ?? '';
    expect(await at.run(command.split(' '))).toMatchObject({ code: 0 });
    const incident = (await incidentsOf({ send })).incidents?.[0]?.id;
    const lifted = await carryOut(opened, { kind: 'incident lift', place: 'test', incident });
    expect(lifted.result?.text).toMatch(/^Lifted: /);
  });
});

it('lists the ends that tokens got, moves one once it is confirmed, and revokes its token', async () => {
  const at = home();
  const opened = await consoleOf(at);
  const { send } = opened;
  const read = async () =>
    (
      await until(
        async () => (await send('/api/lifetimes?anew=true')).json().controllers[0].list,
        ({ waits }) => waits === null,
      )
    ).value as Lifetimes;
  expect(await read()).toMatchObject({ open: 0, overdue: 0, leases: [], job: null, weeks: [] });
  const ended = await at.run(['tokens', 'sunset', '--over', '30d', '--yes', '--json']);
  const { recorded, owners } = JSON.parse(ended.stdout) as SunsetJson;
  const before = await read();
  expect(before).toMatchObject({ open: recorded, overdue: 0, unknownUses: 0, job: { ends: false } });
  expect(before.weeks.reduce((sum, { ends }) => sum + ends, 0)).toBe(recorded);
  const [lease] = before.leases;
  const change = { kind: 'tokens leases', place: 'test', lease: lease?.id };
  expect(lease).toMatchObject({ why: 'sunset', token: { id: owners[0]?.tokens[0] } });

  const asked = await begin(opened, { ...change, hours: 720 });
  expect([asked.command, asked.asked?.type]).toEqual([
    `tokenctl tokens leases --extend ${lease?.id} --for 720h --context test`,
    '',
  ]);
  const untilOf = async () => (await read()).leases.find(({ id }) => id === lease?.id)?.until;
  expect(await untilOf()).toBe(lease?.until);
  expect(await confirmed(opened, asked)).toMatchObject({ state: 'done', outcome: 'done' });
  expect(await untilOf()).not.toBe(lease?.until);
  expect(await carryOut(opened, { ...change, hours: null })).toMatchObject({ outcome: 'done' });
  expect((await read()).open).toBe((recorded ?? 0) - 1);
});

describe('a saved plan in a console', () => {
  /** A home in which more than one token needs the approval of bob. */
  async function guarded(settings: object = {}) {
    const at = home();
    const made = await at.run([
      'plan',
      'key',
      '--name',
      'bob',
      '--output',
      join(at.folder, 'bob.key'),
      '--json',
    ]);
    const rule = { approvers: { bob: JSON.parse(made.stdout).publicKey }, aloneUpTo: 1, ...settings };
    const file = join(at.folder, '.config/tokenctl/tokenctl.yaml');
    writeFileSync(file, `${readFileSync(file, 'utf8')}approval: ${JSON.stringify(rule)}\n`);
    const opened = await consoleOf(at, { environment: { SUDO_USER: 'alice' } });
    const asBob = (...args: string[]) => at.run(args, { env: { SUDO_USER: 'bob' } });
    return { at, opened, asBob };
  }

  it('is saved, shown with its approval, and applied once another person approved it', async () => {
    const { at, opened, asBob } = await guarded();
    const { send } = opened;
    const ids = (await tokensOf(opened)).rows.slice(-3).map(({ id }) => id);
    const path = join(at.folder, 'plan.json');
    const overview = (await send('/api/overview?place=test')).json();
    expect(overview.approval).toEqual({
      ...{ required: true, approvers: ['bob'], aloneUpTo: 1, breakGlass: true },
      validFor: expect.any(Number),
    });
    const request = { kind: 'tokens revoke', place: 'test', ids };
    expect((await carryOut(opened, request)).failure?.message).toMatch(/.*second person/);
    // A plan that is shown is not saved.
    await send('/api/plans', { ...request, planOut: '~/plan.json' });
    expect(existsSync(path)).toBe(false);
    const saved = await carryOut(opened, { ...request, planOut: '~/plan.json' });
    expect(saved).toMatchObject({ state: 'done', asked: null, result: { json: { planFile: path } } });
    expect(saved.command).toContain(`--plan-out ${path}`);
    const show = async () => (await send(`/api/saved-plan?path=${encodeURIComponent(path)}`)).json();
    expect(await show()).toMatchObject({
      ...{ state: 'none', approvalNeeded: true, approvers: ['bob'], applied: null },
      ...{ path, context: 'test', format: 'tokenctl-plan', rule: { aloneUpTo: 1 } },
    });

    const apply = { kind: 'plan apply', place: 'test', path };
    // A browser sends the file itself: the console keeps it, with another path.
    const plan = readFileSync(path, 'utf8');
    const kept = (await send('/api/saved-plan', { name: 'plan.json', plan })).json().path;
    expect((await send(`/api/saved-plan?path=${encodeURIComponent(kept)}`)).json()).toMatchObject({
      ...{ state: 'none', path: kept, context: 'test' },
    });
    expect([kept.startsWith(at.folder), statSync(kept).mode & 0o777]).toEqual([true, 0o600]);
    const refused = { code: 'not_approved' };
    expect((await send('/api/plans', apply)).json()).toMatchObject({ failure: refused });
    expect((await carryOut(opened, apply)).failure?.message).toMatch(/.*second person/);
    // One's own approval is none.
    const approve = ['plan', 'approve', path, '--yes', '--key-file', join(at.folder, 'bob.key')];
    expect(await at.run(approve, { env: { SUDO_USER: 'alice' } })).toMatchObject({ code: 2 });
    expect(await asBob(...approve)).toMatchObject({ code: 0 });
    expect(await show()).toMatchObject({ state: 'approved', approval: { by: 'bob' } });
    const approval = readFileSync(`${path}.approval`, 'utf8');
    await send('/api/saved-plan', { name: 'plan.json', plan, approval });
    expect((await send(`/api/saved-plan?path=${encodeURIComponent(kept)}`)).json()).toMatchObject({
      state: 'approved',
    });
    // Nor may the approver apply it.
    const bobs = await consoleOf(at, { environment: { SUDO_USER: 'bob' } });
    expect((await carryOut(bobs, apply)).failure?.message).toMatch(/second person must approve/);
    expect((await tokensOf(opened)).rows.filter(({ id }) => ids.includes(id))).toHaveLength(3);

    const applied = await carryOut(opened, apply);
    expect([applied.kind, applied.command]).toEqual([
      ...['tokens revoke', `tokenctl tokens revoke --plan ${path} --context test`],
    ]);
    expect(applied.result?.text).toMatch(/^Revoked 3 of 3 tokens/);
    expect((await tokensOf(opened)).rows.filter(({ id }) => ids.includes(id))).toEqual([]);
    expect(await show()).toMatchObject({ applied: { isDone: true } });
    const [run] = JSON.parse((await at.run(['log', 'list', '--json'])).stdout).slice(-1);
    expect(run).toMatchObject({ operation: 'tokens.revoke', approvedBy: 'bob', counts: { revoked: 3 } });
  });

  it('of a lockdown is applied as one, or alone where the rule allows that in an emergency', {
    tags: ['long'],
  }, async () => {
    const { at, opened } = await guarded({ breakGlass: true });
    const { send } = opened;
    const path = join(at.folder, 'lockdown.json');
    const names = (await tokensOf(opened)).facets.users.slice(-2).map(({ name }) => name);
    const request = { kind: 'incident lockdown', place: 'test', user: names };
    const saved = await carryOut(opened, { ...request, planOut: path, requireApproval: true });
    expect(saved.result?.json).toMatchObject({ planFile: path });
    const apply = { kind: 'plan apply', place: 'test', path };
    expect((await send('/api/plans', apply)).json()).toMatchObject({ failure: { code: 'not_approved' } });
    const both = await send('/api/operations', {
      ...request,
      planOut: join(at.folder, 'x'),
      breakGlass: true,
    });
    expect([both.statusCode, both.json().error.message]).toEqual([
      ...[400, '--break-glass and --plan-out cannot be used together.'],
    ]);
    const urgent = { ...apply, breakGlass: true };
    expect((await carryOut(opened, urgent)).failure?.message).toMatch(/requires a reason/);
    const applied = await carryOut(opened, { ...urgent, reason: 'no one answers' });
    expect(applied).toMatchObject({
      kind: 'incident lockdown',
      result: { json: { incident: expect.anything() } },
    });
    const [run] = JSON.parse((await at.run(['log', 'list', '--json'])).stdout).slice(-1);
    expect(run).toMatchObject({ operation: 'incident.lockdown', brokeGlass: true, reason: 'no one answers' });
    // A plan that was edited is none.
    writeFileSync(path, readFileSync(path, 'utf8').replace(/"keepActive": \[\]/, '"keepActive": ["admin"]'));
    const edited = await send(`/api/saved-plan?path=${encodeURIComponent(path)}`);
    expect([edited.statusCode, edited.json().error.message]).toEqual([
      400,
      expect.stringMatching(/was modified/),
    ]);
    const sent = await send('/api/saved-plan', { name: 'mine.json', plan: readFileSync(path, 'utf8') });
    expect(sent.json().error.message).toMatch(/^The plan mine\.json was modified after it was created/);
    expect((await send('/api/saved-plan', { name: 'mine.json', plan: 'x' })).json().error.message).toBe(
      'mine.json is not a plan of this version of tokenctl.',
    );
    expect((await send('/api/saved-plan?path=/etc/passwd')).json().error.message).toMatch(/is not a plan/);
  });
});
