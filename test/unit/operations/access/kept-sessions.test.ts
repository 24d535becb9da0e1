import { describe, expect, test } from 'vitest';
import { planLift } from '../../../../src/operations/incident/plan-lift.ts';
import { stillClock } from '../../../support/drafts.ts';
import { incidentFixture, NO_MEASURE } from '../../../support/incident-fixture.ts';
import { session } from '../../../support/memory-sessions.ts';

const ALICE = { kind: 'users', names: ['alice'] } as const;
const AGE = 900;

/** When it is so many seconds later. */
function later(seconds: number) {
  const now = () => new Date(stillClock.now().getTime() + seconds * 1000);
  return { clock: { ...stillClock, now }, iso: now().toISOString() };
}

/** The database of a gateway whose session cache the context does not reach, and a session of alice that lasts as long as given. */
async function gateway(lasts = AGE) {
  const at = await incidentFixture('database');
  const capabilities = { ...at.target.self.capabilities, sessionsCached: true as const };
  at.target.self = { ...at.target.self, dialect: 'gateway', capabilities };
  at.target.values = { ...at.target.values, SESSION_COOKIE_AGE: AGE };
  at.target.logins.live.push(session({ expires: new Date(later(lasts).iso) }));
  const sessionsIn = async (clock = stillClock) => {
    const { incidents } = await (
      await import('../../../../src/operations/incident/incident-status.ts')
    ).incidentStatus({ ...at.common, clock, all: false });
    return incidents[0]?.accessPaths.find(({ path }) => path === 'sessions');
  };
  return Object.assign(at, { sessionsIn });
}

describe('the end of the sessions of a gateway', () => {
  test('is what the lockdown said, whatever the setting says since', async () => {
    await using at = await gateway();
    const { accessPaths } = await at.lockDown({ scope: ALICE, measures: NO_MEASURE });
    const until = later(AGE).iso;
    expect(accessPaths.find(({ path }) => path === 'sessions')).toMatchObject({
      state: 'not_checked',
      until,
    });
    at.target.values = { ...at.target.values, SESSION_COOKIE_AGE: 60 };
    expect(await at.sessionsIn(later(AGE - 1).clock)).toMatchObject({ state: 'not_checked', until });
    at.target.values = { ...at.target.values, SESSION_COOKIE_AGE: 86_400 };
    expect(await at.sessionsIn(later(AGE + 1).clock)).toMatchObject({ state: 'closed' });
  });

  test('is no earlier than that of a session that was made before the setting was lowered', async () => {
    await using at = await gateway(7200);
    const { accessPaths } = await at.lockDown({ scope: ALICE, measures: NO_MEASURE });
    expect(accessPaths.find(({ path }) => path === 'sessions')).toMatchObject({ until: later(7200).iso });
  });

  test('is not pushed on by a second lockdown that ends none, and comes', async () => {
    await using at = await gateway();
    await at.lockDown({ scope: ALICE, measures: NO_MEASURE });
    const again = async (seconds: number) => {
      const { clock } = later(seconds);
      const { accessPaths } = await at.lockDown({ scope: ALICE, measures: NO_MEASURE, clock });
      return accessPaths.find(({ path }) => path === 'sessions');
    };
    expect(await again(600)).toMatchObject({ state: 'not_checked', until: later(AGE).iso });
    expect(await again(AGE + 1)).toMatchObject({ state: 'closed' });
  });
});

describe('sessions of deactivated users', () => {
  const measures = { ...NO_MEASURE, deactivate: true };

  test('are refused while the users are deactivated, and the lockdown says until when that matters', async () => {
    await using at = await gateway();
    const { accessPaths, result } = await at.lockDown({ scope: ALICE, measures });
    expect(result).toBe('locked');
    expect(accessPaths.find(({ path }) => path === 'sessions')).toMatchObject({
      ...{ state: 'closed', basis: 'known', until: later(AGE).iso },
      how: expect.stringContaining('while their users are deactivated'),
    });
    expect(await at.sessionsIn(later(60).clock)).toMatchObject({ state: 'closed', until: later(AGE).iso });
    expect((await at.sessionsIn(later(AGE + 1).clock))?.until).toBeUndefined();
  });

  test('are not restored by a lift: the users wait until the sessions have expired', async () => {
    await using at = await gateway();
    const { incident } = await at.lockDown({ scope: ALICE, measures: { ...measures, externalTokens: true } });
    const activeOf = () => at.target.people.find(({ username }) => username === 'alice')?.isActive;
    const first = await at.lift(incident);
    expect(first).toMatchObject({ result: 'partly', left: [{ name: 'alice', action: 'waits' }] });
    expect(first.accessPaths).toMatchObject([{ path: 'sessions', until: later(AGE).iso }]);
    expect([activeOf(), at.target.values.ALLOW_OAUTH2_FOR_EXTERNAL_USERS]).toEqual([false, true]);
    const entries = (await at.entries()).length;
    expect(await at.lift(incident, { clock: later(60).clock })).toMatchObject({
      result: 'partly',
      run: null,
    });
    expect(await at.entries()).toHaveLength(entries);
    const last = await at.lift(incident, { clock: later(AGE + 1).clock });
    expect(last).toMatchObject({ result: 'lifted', accessPaths: [] });
    expect(activeOf()).toBe(true);
  });

  test('are restored by who accepts it, who is told until when', async () => {
    await using at = await gateway();
    const { incident } = await at.lockDown({ scope: ALICE, measures });
    const plan = await planLift({ ...at.common, incident, acceptSessions: true });
    expect(plan.items).toMatchObject([{ name: 'alice', action: 'restore' }]);
    expect(plan.accessPaths).toMatchObject([
      { path: 'sessions', state: 'not_checked', until: later(AGE).iso },
    ]);
    expect(await at.lift(incident, { acceptSessions: true })).toMatchObject({ result: 'lifted' });
  });

  test('hold no one up where the context reaches the cache, or where sessions are in no cache', async () => {
    await using at = await incidentFixture('database');
    at.target.logins.live.push(session());
    const { incident } = await at.lockDown({ scope: ALICE, measures });
    expect(await at.lift(incident)).toMatchObject({ result: 'lifted', accessPaths: [] });
  });

  test('that still exist are counted', async () => {
    await using at = await incidentFixture('database');
    const { incident } = await at.lockDown({ scope: ALICE, measures });
    at.target.logins.live.push(session({ expires: new Date(later(AGE).iso) }));
    expect(await at.lift(incident)).toMatchObject({
      result: 'partly',
      accessPaths: [{ path: 'sessions', state: 'open', count: 1, until: later(AGE).iso }],
    });
  });
});

test('sessions that cannot be listed are kept with their end as well, where all users are deactivated', async () => {
  await using at = await incidentFixture('rest');
  at.target.values = { ...at.target.values, SESSION_COOKIE_AGE: AGE };
  const measures = { ...NO_MEASURE, deactivate: true };
  const { incident, accessPaths } = await at.lockDown({ scope: ALICE, measures });
  const until = later(AGE).iso;
  expect(accessPaths.find(({ path }) => path === 'sessions')).toMatchObject({ state: 'not_checked', until });
  at.target.values = { ...at.target.values, SESSION_COOKIE_AGE: 60 };
  const lifted = await at.lift(incident, { clock: later(120).clock });
  expect(lifted).toMatchObject({
    result: 'partly',
    accessPaths: [{ path: 'sessions', until, remedy: expect.stringContaining('--accept-sessions') }],
  });
  const accepted = await at.lift(incident, { acceptSessions: true });
  expect(accepted.accessPaths[0]?.remedy).not.toContain('--accept-sessions');
});
