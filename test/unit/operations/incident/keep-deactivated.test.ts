import { TokenctlError } from '@tokenctl/common/errors.ts';
import { describe, expect, test } from 'vitest';
import { incidentLift } from '../../../../jobs/incident-lift.ts';
import { statusResult } from '../../../../src/cli/incident/status-result.ts';
import { gatherReport } from '../../../../src/operations/incident/gather-report.ts';
import { incidentStatus } from '../../../../src/operations/incident/incident-status.ts';
import { planLift } from '../../../../src/operations/incident/plan-lift.ts';
import { documentText } from '../../../../src/reports/document.ts';
import { incidentParts } from '../../../../src/reports/incident/incident-report.ts';
import { stillClock } from '../../../support/drafts.ts';
import { failingFrom } from '../../../support/fixture.ts';
import { incidentFixture, NO_MEASURE } from '../../../support/incident-fixture.ts';
import { unusedFiles, unusedServices } from '../../../support/unused-files.ts';

const HOUR = 3_600_000;
const bob = { kind: 'users', names: ['bob'] } as const;
const measures = { ...NO_MEASURE, deactivate: true, basicAuthentication: true };

/** A lockdown of bob, and what is asked of him. */
async function lockedBob(asked: { readonly lasts?: number } = {}) {
  const at = await incidentFixture('database');
  const { incident } = await at.lockDown({ scope: bob, measures, ...asked });
  return {
    ...at,
    incident,
    get common() {
      return at.common;
    },
    isActive: (name = 'bob') => at.target.people.find(({ username }) => username === name)?.isActive,
    left: (report: { readonly left: readonly { readonly name: string; readonly action: string }[] }) =>
      report.left.map(({ name, action }) => [name, action]),
    [Symbol.asyncDispose]: () => at[Symbol.asyncDispose](),
  };
}

describe('lifting an incident whose users stay deactivated', () => {
  test('restores the settings, and ends the incident', async () => {
    await using at = await lockedBob();
    const { incident } = at;
    const lifted = await at.lift(incident, { keepDeactivated: true });
    expect(lifted.result).toBe('lifted');
    expect(at.left(lifted)).toEqual([['bob', 'stays']]);
    expect(at.target.values.AUTH_BASIC_ENABLED).toBe(true);
    expect(at.isActive()).toBe(false);
    expect(await at.status()).toEqual([]);
    expect(await at.status(true)).toMatchObject([
      {
        ...{ id: incident, state: 'lifted', keepsDeactivated: true },
        stays: [{ what: 'user', name: 'bob' }],
        values: [{ name: 'bob', found: false, holds: true }],
      },
    ]);
    const report = await gatherReport({
      ...{ log: at.log, description: at.target.self, incident, investigations: [], now: stillClock.now() },
      checkpoint: () => Promise.resolve(null),
    });
    expect(documentText(incidentParts(report, { log: 'audit.jsonl', version: '0.2.0' }))).toContain(
      'the lift did not restore: the user bob, who stays deactivated.',
    );
    const closing = (await at.entries()).at(-1);
    expect(closing?.data).toMatchObject({ left: [{ what: 'user', name: 'bob', action: 'stays' }] });
  });

  test('is told without --all, with how to give the access back, until that is done', async () => {
    await using at = await lockedBob();
    const { incident } = at;
    await at.lift(incident, { keepDeactivated: true });
    const asked = async () => {
      const found = await incidentStatus({ ...at.common, all: false });
      const { document } = statusResult(found, { description: at.target.self, check: true });
      return { found, text: documentText(document?.() ?? []) };
    };
    const { found, text } = await asked();
    expect(found).toMatchObject({ incidents: [], left: [{ id: incident, values: [{ found: false }] }] });
    expect(text).toMatch(/^No lockdown at /);
    expect(text).toContain('Lifted, but some access was not restored:');
    expect(text).toContain('bob stays deactivated.');
    expect(text).toContain(`incident lift ${incident}`);
    await at.target.users.setActive(3, true);
    expect((await asked()).text).toContain('ACTIVE: bob, whom the lift left deactivated');
    await at.lift(incident, { keepDeactivated: false });
    const after = await asked();
    expect(after.found.left).toEqual([]);
    expect(after.text).not.toContain('bob');
  });

  test('is unchanged on a second run, whether the choice is said again or not', async () => {
    await using at = await lockedBob();
    await at.lift(at.incident, { keepDeactivated: true });
    const entries = (await at.entries()).length;
    for (const options of [{ keepDeactivated: true }, {}]) {
      const again = await at.lift(at.incident, options);
      expect(again).toMatchObject({ result: 'unchanged', run: null });
      expect(at.left(again)).toEqual([['bob', 'stays']]);
    }
    expect(await at.entries()).toHaveLength(entries);
    expect(at.isActive()).toBe(false);
  });

  test('gives the access back by a later lift, once', async () => {
    await using at = await lockedBob();
    const { incident } = at;
    await at.lift(incident, { keepDeactivated: true });
    const [closed] = await at.status(true);
    expect(await at.lift(incident, { keepDeactivated: false })).toMatchObject({ result: 'lifted', left: [] });
    expect(at.isActive()).toBe(true);
    expect(await at.status(true)).toMatchObject([{ state: 'lifted', lifted: closed?.lifted, stays: [] }]);
    await at.target.users.setActive(3, false);
    expect(await at.lift(incident, { keepDeactivated: false })).toMatchObject({ result: 'unchanged' });
    expect(at.isActive()).toBe(false);
  });

  test('that fails half-way is finished by the job with the same choice', async () => {
    await using at = await lockedBob({ lasts: HOUR });
    const { incident } = at;
    const write = at.target.settings.write;
    at.target.settings.write = () => {
      throw new TokenctlError('permission_refused', 'No');
    };
    expect(await at.lift(incident, { keepDeactivated: true })).toMatchObject({ result: 'partly' });
    expect(await at.status()).toMatchObject([{ state: 'lifting', keepsDeactivated: true }]);
    at.target.settings.write = write;
    const now = new Date(stillClock.now().getTime() + 2 * HOUR);
    await incidentLift.run(
      {
        ...at.common,
        ...{ clock: { now: () => now }, actor: { user: 'root', job: 'lift@test', job_run: 'run-1' } },
        ...{ files: unusedFiles, services: unusedServices, due: now, dryRun: false },
        signal: new AbortController().signal,
      },
      {},
    );
    expect(at.target.values.AUTH_BASIC_ENABLED).toBe(true);
    expect(at.isActive()).toBe(false);
    expect(await at.status(true)).toMatchObject([{ state: 'lifted', stays: [{ name: 'bob' }] }]);
  });

  test('leaves users to no other incident that holds them, in either order', async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ] as const) {
      await using at = await lockedBob();
      const second = await at.lockDown({ scope: bob, measures: { ...NO_MEASURE, deactivate: true } });
      const ids = [at.incident, second.incident];
      const [first, last] = [ids[order[0]] ?? '', ids[order[1]] ?? ''];
      expect(at.left(await at.lift(first, { keepDeactivated: true }))).toContainEqual(['bob', 'stays']);
      expect(at.left(await at.lift(last))).toContainEqual(['bob', 'kept']);
      expect(at.isActive()).toBe(false);
      expect(await at.lift(first, { keepDeactivated: false })).toMatchObject({ result: 'lifted' });
      expect(at.isActive()).toBe(true);
    }
  });

  test('has no part in a later lockdown of a user who was activated by hand', async () => {
    await using at = await lockedBob();
    await at.lift(at.incident, { keepDeactivated: true });
    await at.target.users.setActive(3, true);
    expect(await at.status(true)).toMatchObject([{ values: [{ name: 'bob', found: true, holds: false }] }]);
    const later = await at.lockDown({ scope: bob, measures });
    expect(await at.lift(later.incident)).toMatchObject({ result: 'lifted', left: [] });
    expect(at.isActive()).toBe(true);
  });

  test('needs no rights to activate users, but sees all of the controller', async () => {
    await using at = await lockedBob();
    const { capabilities } = at.target.self;
    at.target.self = { ...at.target.self, capabilities: { ...capabilities, deactivateUsers: false } };
    await expect(at.lift(at.incident)).rejects.toMatchObject({
      code: 'unsupported',
      hint: expect.stringContaining('--keep-deactivated'),
    });
    const visibility = { kind: 'own_only', tokens: 'own tokens', users: 'itself', applications: 'its own' };
    const limited = { ...at.target.self, visibility } as typeof at.target.self;
    const entries = (await at.entries()).length;
    await expect(at.lift(at.incident, { keepDeactivated: true, description: limited })).rejects.toMatchObject(
      { code: 'permission_refused' },
    );
    expect(await at.entries()).toHaveLength(entries);
    expect(await at.lift(at.incident, { keepDeactivated: true })).toMatchObject({ result: 'lifted' });
    expect(at.isActive()).toBe(false);
  });

  test('changes nothing where it is only planned, or where the audit log cannot be written', async () => {
    await using at = await lockedBob();
    const entries = (await at.entries()).length;
    const plan = await planLift({ ...at.common, incident: at.incident, keepDeactivated: true });
    expect(plan.items.map(({ name, action }) => [name, action])).toEqual([
      ['bob', 'stays'],
      ['AUTH_BASIC_ENABLED', 'restore'],
    ]);
    await expect(
      at.lift(at.incident, { keepDeactivated: true, log: failingFrom(at.log, 1) }),
    ).rejects.toMatchObject({ code: 'audit_unavailable' });
    expect(await at.entries()).toHaveLength(entries);
    expect(at.target.values.AUTH_BASIC_ENABLED).toBe(false);
    expect(await at.status()).toMatchObject([{ state: 'locked', stays: [] }]);
  });
});
