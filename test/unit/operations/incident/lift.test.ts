import { TokenctlError } from '@tokenctl/common/errors.ts';
import { describe, expect, test } from 'vitest';
import { openPath } from '../../../../src/domain/access.ts';
import { incidentStatus } from '../../../../src/operations/incident/incident-status.ts';
import {
  noteOffboarding,
  offboardUsers,
  planUserOffboarding,
} from '../../../../src/operations/incident/offboard-user.ts';
import { dueIncidents, openIncidents, planLift } from '../../../../src/operations/incident/plan-lift.ts';
import { extendIncident } from '../../../../src/operations/journal/recorded-incidents.ts';
import { changeSetting } from '../../../../src/operations/settings/settings.ts';
import { stillClock } from '../../../support/drafts.ts';
import { EVERY_MEASURE, incidentFixture, NO_MEASURE, pathsThat } from '../../../support/incident-fixture.ts';
import { refreshToken } from '../../../support/memory-refresh-tokens.ts';
import { session } from '../../../support/memory-sessions.ts';
import { databaseDescription, description, installed } from '../../../support/memory-target.ts';
import { token } from '../../../support/tokens.ts';

const BEFORE = { ...installed, ALLOW_OAUTH2_FOR_EXTERNAL_USERS: true };
const HOUR = 3_600_000;

describe('lifting an incident', () => {
  test('restores exactly what was there, less what was revoked', async () => {
    await using at = await incidentFixture('database');
    const { incident } = await at.lockDown();
    const report = await at.lift(incident);
    expect(report).toMatchObject({ result: 'lifted', left: [] });
    expect(report.steps.map(({ step }) => step)).toEqual(['settings', 'users', 'settings']);
    expect(at.target.values).toEqual(BEFORE);
    expect(at.target.people.every(({ isActive }) => isActive)).toBe(true);
    expect(at.target.alive.size).toBe(0);
    expect(await at.status()).toEqual([]);
    expect(await at.status(true)).toMatchObject([{ id: incident, state: 'lifted' }]);
  });

  test('twice is harmless', async () => {
    await using at = await incidentFixture('database');
    const { incident } = await at.lockDown();
    await at.lift(incident);
    at.target.values = { ...at.target.values, AUTH_BASIC_ENABLED: false };
    const entries = (await at.entries()).length;
    expect(await at.lift(incident)).toMatchObject({ result: 'unchanged', run: null });
    expect(at.target.values.AUTH_BASIC_ENABLED).toBe(false);
    expect(await at.entries()).toHaveLength(entries);
  });

  test('leaves what someone has changed since, and who is active again or deactivated before', async () => {
    await using at = await incidentFixture('database');
    await at.target.users.setActive(3, false);
    const { incident } = await at.lockDown();
    const OAUTH2_PROVIDER = { ...installed.OAUTH2_PROVIDER, ...at.target.values.OAUTH2_PROVIDER };
    at.target.values = {
      ...at.target.values,
      OAUTH2_PROVIDER: { ...OAUTH2_PROVIDER, ACCESS_TOKEN_EXPIRE_SECONDS: 600 },
    };
    await at.target.users.setActive(2, true);
    const report = await at.lift(incident);
    expect(report.left.map(({ name, action }) => [name, action])).toEqual([
      ['OAUTH2_PROVIDER.ACCESS_TOKEN_EXPIRE_SECONDS', 'changed'],
      ['alice', 'as_before'],
    ]);
    expect(at.target.values).toEqual({
      ...BEFORE,
      OAUTH2_PROVIDER: { ...BEFORE.OAUTH2_PROVIDER, ACCESS_TOKEN_EXPIRE_SECONDS: 600 },
    });
    expect(at.target.people.map(({ isActive }) => isActive)).toEqual([true, true, false]);
  });

  test('leaves a setting that is changed between its plan and its step, and says so', async () => {
    await using at = await incidentFixture('database');
    const { incident } = await at.lockDown();
    const append = at.log.append.bind(at.log);
    const lifetimes = { ...installed.OAUTH2_PROVIDER, ACCESS_TOKEN_EXPIRE_SECONDS: 600 };
    at.log.append = (draft) => {
      if (draft.kind === 'intent' && draft.data['step'] === 'settings')
        at.target.values = { ...at.target.values, OAUTH2_PROVIDER: lifetimes, AUTH_BASIC_ENABLED: true };
      return append(draft);
    };
    const report = await at.lift(incident);
    expect(report.left.map(({ name, action }) => [name, action])).toEqual(
      expect.arrayContaining([
        ['OAUTH2_PROVIDER.ACCESS_TOKEN_EXPIRE_SECONDS', 'changed'],
        ['AUTH_BASIC_ENABLED', 'as_before'],
      ]),
    );
    expect(report.steps.map(({ message }) => message)).not.toContain('Restored .');
    expect(at.target.values.OAUTH2_PROVIDER).toEqual(lifetimes);
  });

  test('leaves who was offboarded since deactivated, and a setting that was changed since, and names the runs', async () => {
    await using at = await incidentFixture('database');
    const { incident } = await at.lockDown();
    const plan = await planUserOffboarding({ ...at.common, users: ['alice'] });
    const { run } = await offboardUsers({ ...at.common, plan });
    const change = { ...at.common, operation: 'settings.basic-auth' };
    await changeSetting({ ...change, change: { AUTH_BASIC_ENABLED: true } });
    await changeSetting({ ...change, change: { AUTH_BASIC_ENABLED: false } });
    const report = await at.lift(incident);
    expect(report.result).toBe('lifted');
    expect(report.left.map(({ name, action, endedBy }) => [name, action, endedBy?.operation])).toEqual([
      ['alice', 'ended_since', 'users.offboard'],
      ['AUTH_BASIC_ENABLED', 'ended_since', 'settings.basic-auth'],
    ]);
    expect(report.left[0]?.endedBy?.run).toBe(run);
    expect(at.target.people.map(({ username, isActive }) => [username, isActive])).toContainEqual([
      'alice',
      false,
    ]);
    expect(at.target.people.filter(({ isActive }) => isActive)).toHaveLength(at.target.people.length - 1);
    expect(at.target.values.AUTH_BASIC_ENABLED).toBe(false);
    expect(await at.status()).toEqual([]);
  });

  test('leaves who was offboarded since with nothing to do', async () => {
    await using at = await incidentFixture('database');
    const { incident } = await at.lockDown();
    await noteOffboarding({ ...at.common, users: ['alice'], bound: [{ id: 2, name: 'alice' }] });
    const { left } = await at.lift(incident);
    expect(left.map(({ name, action }) => [name, action])).toEqual([['alice', 'ended_since']]);
  });

  test.each([
    ['of the same controller', 'one', true],
    ['of another controller', 'other', false],
  ])('sees an offboarding at another address %s', async (_what, installUuid, isSeen) => {
    await using at = await incidentFixture('database');
    at.target.self = { ...at.target.self, installUuid: 'one' };
    const here = { ...at.common, description: at.target.self };
    const { incident } = await at.lockDown({ description: here.description });
    const rest = { ...here.description, address: 'https://same.example.org', installUuid };
    await noteOffboarding({
      ...here,
      description: rest,
      users: ['alice'],
      bound: [{ id: 2, name: 'alice' }],
    });
    const { items } = await planLift({ ...here, incident });
    expect(items.find(({ name }) => name === 'alice')?.action).toBe(isSeen ? 'ended_since' : 'restore');
  });

  test('takes no empty id, although every id begins with it', async () => {
    await using at = await incidentFixture('database');
    await at.lockDown();
    await expect(at.lift('')).rejects.toMatchObject({ code: 'usage', message: 'The incident ID is empty' });
    expect(await at.status()).toMatchObject([{ state: 'locked' }]);
  });

  test('waits for the last of two that hold the same, in either order', async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ] as const) {
      await using at = await incidentFixture('database');
      const first = await at.lockDown();
      const second = await at.lockDown({
        scope: { kind: 'users', names: ['alice'] },
        measures: { ...NO_MEASURE, deactivate: true, basicAuthentication: true },
      });
      expect(second.incident).not.toBe(first.incident);
      const ids = [first.incident, second.incident];
      await at.lift(ids[order[0]] ?? '');
      expect(at.target.values.AUTH_BASIC_ENABLED).toBe(false);
      expect(at.target.people[1]?.isActive).toBe(false);
      expect((await at.status()).map(({ id }) => id)).toEqual([ids[order[1]]]);
      await at.lift(ids[order[1]] ?? '');
      expect(at.target.values).toEqual(BEFORE);
      expect(at.target.people.every(({ isActive }) => isActive)).toBe(true);
    }
  });

  test('waits for the last of two that hold the same at two addresses of one controller', async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ] as const) {
      await using at = await incidentFixture('database');
      const installUuid = '0d4a9b3c-0000-4000-8000-000000000001';
      const places = [
        { ...at.target.self, installUuid },
        { ...at.target.self, installUuid, address: 'https://controller.example.org', context: 'other' },
      ] as const;
      const ids: string[] = [];
      for (const place of places) {
        at.target.self = place;
        ids.push((await at.lockDown({ measures: { ...NO_MEASURE, basicAuthentication: true } })).incident);
      }
      const [first, last] = order;
      at.target.self = places[first];
      expect((await at.status()).filter(({ address }) => address === places[first].address)).toMatchObject([
        {
          id: ids[first],
          values: [{ incidents: expect.arrayContaining([`${ids[last]} at ${places[last].address}`]) }],
        },
      ]);
      expect((await at.lift(ids[first] ?? '')).left).toMatchObject([
        { name: 'AUTH_BASIC_ENABLED', action: 'kept', others: [`${ids[last]} at ${places[last].address}`] },
      ]);
      expect(at.target.values.AUTH_BASIC_ENABLED).toBe(false);
      at.target.self = places[last];
      expect(await at.status()).toMatchObject([{ id: ids[last], holds: true }]);
      expect(await at.lift(ids[last] ?? '')).toMatchObject({ result: 'lifted', left: [] });
      expect(at.target.values.AUTH_BASIC_ENABLED).toBe(true);
    }
  });

  test('that is refused half-way is finished by the next run', async () => {
    await using at = await incidentFixture('database');
    const { incident } = await at.lockDown();
    at.target.onUser = () => {
      throw new TokenctlError('permission_refused', 'No');
    };
    expect(await at.lift(incident)).toMatchObject({ result: 'partly' });
    expect(await at.status()).toMatchObject([{ id: incident, state: 'lifting' }]);
    at.target.onUser = () => undefined;
    expect(await at.lift(incident)).toMatchObject({ result: 'lifted' });
    expect(at.target.values).toEqual(BEFORE);
    expect(at.target.people.every(({ isActive }) => isActive)).toBe(true);
  });

  test('knows an incident by the beginning of its id, and no other', async () => {
    await using at = await incidentFixture('database');
    const { incident } = await at.lockDown();
    const plan = await planLift({ ...at.common, incident: incident.slice(0, 7) });
    expect(plan.incident.id).toBe(incident);
    await expect(planLift({ ...at.common, incident: 'inc-zzz' })).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  test('is due when its time is over, unless it was extended', async () => {
    await using at = await incidentFixture('database');
    const { incident } = await at.lockDown({ lasts: HOUR });
    const later = (hours: number) => ({ now: () => new Date(stillClock.now().getTime() + hours * HOUR) });
    const due = async (hours: number) =>
      (await dueIncidents({ ...at.common, clock: later(hours) })).here.map(({ id }) => id);
    expect(await due(0.9)).toEqual([]);
    expect(await due(1)).toEqual([incident]);
    const until = new Date(stillClock.now().getTime() + 3 * HOUR);
    await extendIncident({ ...at.common, incident, until });
    expect(await due(2)).toEqual([]);
    await extendIncident({ ...at.common, incident, until: null });
    expect(await due(100)).toEqual([]);
  });
});

describe('the status of an incident', () => {
  test('holds, and says of each thing that does not', async () => {
    await using at = await incidentFixture('database');
    const { incident } = await at.lockDown();
    expect(await at.status()).toMatchObject([{ id: incident, state: 'locked', holds: true, aliveCount: 0 }]);
    at.target.values = { ...at.target.values, AUTH_BASIC_ENABLED: true };
    await at.target.users.setActive(2, true);
    const made = token({ id: 77, created: new Date(stillClock.now().getTime() + 1000) });
    at.target.alive.set(77, made);
    const [status] = await at.status();
    expect(status).toMatchObject({ holds: false, aliveCount: 1, alive: [{ id: 77, isNew: true }] });
    expect(status?.values.filter(({ holds }) => !holds).map(({ name, found }) => [name, found])).toEqual([
      ['AUTH_BASIC_ENABLED', true],
      ['alice', true],
    ]);
  });

  test('holds only while no refresh token and no session of its users exists', async () => {
    await using at = await incidentFixture('database');
    await at.lockDown({ measures: NO_MEASURE });
    const [before] = await at.status();
    expect(before?.holds).toBe(true);
    expect(before?.accessPaths.map(({ state }) => state)).toEqual(Array(4).fill('closed'));
    at.target.refresh.rows.set(9, refreshToken({ id: 9 }));
    at.target.self = { ...at.target.self, version: '24.6.1' };
    expect(await at.status()).toMatchObject([{ holds: true }]);
    at.target.self = { ...at.target.self, version: null };
    at.target.logins.live.push(session());
    expect(await at.status()).toMatchObject([
      {
        holds: false,
        accessPaths: expect.arrayContaining([
          openPath('refresh_tokens', '1 is live (1 orphaned, assumed to be usable).', { count: 1 }),
          openPath('sessions', '1 exists: a user has logged in.', { count: 1 }),
        ]),
      },
    ]);
  });

  test('holds with an expired refresh token, which lifting makes live again', async () => {
    await using at = await incidentFixture('database');
    const measures = { ...NO_MEASURE, lifetimes: true };
    const { incident } = await at.lockDown({ measures });
    const now = stillClock.now().getTime();
    // Refresh tokens live an hour during the lockdown, a month otherwise.
    at.target.refresh.rows.set(
      9,
      refreshToken({ id: 9, accessTokenId: 1, created: new Date(now - 3_601_000) }),
    );
    expect(await at.status()).toMatchObject([{ holds: true }]);
    expect(await planLift({ ...at.common, incident })).toMatchObject({ revived: 1 });
    const again = await at.lift(incident);
    expect(again).toMatchObject({ result: 'lifted', revived: 1 });
    at.target.refresh.rows.delete(9);
    const other = await at.lockDown({ measures });
    at.target.refresh.rows.set(10, refreshToken({ id: 10, accessTokenId: 2, created: new Date(now - 1000) }));
    const [status] = await at.status();
    expect(status?.holds).toBe(false);
    expect(pathsThat('open', status?.accessPaths)).toEqual(['refresh_tokens']);
    expect(await at.lift(other.incident)).toMatchObject({ revived: 0 });
  });

  test('is read for a user who was deleted meanwhile', async () => {
    await using at = await incidentFixture('database');
    const scope = { kind: 'users', names: ['bob'] } as const;
    await at.lockDown({ scope, measures: NO_MEASURE });
    at.target.people.splice(2, 1);
    expect(await at.status()).toMatchObject([{ holds: true }]);
  });

  test('is read, extended and lifted at another address of its controller', async () => {
    await using at = await incidentFixture('rest');
    const rest = { ...at.target.self, installUuid: 'one' };
    const database = { ...databaseDescription(), installUuid: 'one' };
    at.target.self = rest;
    const measures = { ...EVERY_MEASURE, deactivate: false };
    const before = at.target.values;
    const { incident } = await at.lockDown({ measures });
    at.target.self = database;
    expect(await openIncidents({ log: at.log, description: database })).toEqual([incident]);
    const { incidents, elsewhere } = await incidentStatus({ ...at.common, all: false });
    expect(incidents).toMatchObject([
      // The database shows more than the REST API did, and applies a switch later.
      { id: incident, address: rest.address, holds: true },
    ]);
    expect(pathsThat('not_checked', incidents[0]?.accessPaths)).toEqual([
      'basic_authentication',
      'external_tokens',
    ]);
    expect(elsewhere).toEqual([]);
    const until = new Date(stillClock.now().getTime() + HOUR);
    expect(await extendIncident({ ...at.common, incident: incident.slice(0, 7), until })).toBe(incident);
    expect(await at.status()).toMatchObject([{ until: until.toISOString() }]);
    // What is due is lifted at the address where it was locked down.
    expect(await dueIncidents({ ...at.common, clock: { ...stillClock, now: () => until } })).toEqual({
      here: [],
      elsewhere: [{ id: incident, context: rest.context, address: rest.address }],
    });
    expect(await at.lift(incident)).toMatchObject({ result: 'lifted', left: [] });
    expect(at.target.values).toEqual(before);
    expect(await at.lift(incident)).toMatchObject({ result: 'unchanged' });
    at.target.self = rest;
    expect(await at.status()).toEqual([]);
    expect(await at.status(true)).toMatchObject([{ id: incident, state: 'lifted' }]);
    at.target.self = { ...database, installUuid: 'another' };
    expect(await openIncidents({ log: at.log, description: at.target.self })).toEqual([]);
    await expect(at.lift(incident)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('that holds users is not lifted where they cannot be activated', async () => {
    await using at = await incidentFixture('database');
    const database = { ...at.target.self, installUuid: 'one' };
    const { capabilities } = description();
    const rest = {
      ...description({ capabilities: { ...capabilities, deactivateUsers: false } }),
      installUuid: 'one',
    };
    at.target.self = database;
    const { incident } = await at.lockDown();
    const entries = (await at.entries()).length;
    at.target.self = rest;
    await expect(at.lift(incident)).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('cannot activate bob, alice, admin'),
      hint: expect.stringContaining(`tokenctl incident lift ${incident} --context ${database.context}`),
    });
    expect(await at.entries()).toHaveLength(entries);
    at.target.self = database;
    expect(await at.lift(incident)).toMatchObject({ result: 'lifted' });
  });

  test('has what is locked down at other addresses, as the log last has it', async () => {
    await using at = await incidentFixture('database');
    const here = await at.lockDown();
    const { address } = at.target.self;
    at.target.self = { ...at.target.self, address: 'https://elsewhere.example.org', context: 'other' };
    const there = await at.lockDown({ lasts: HOUR });
    const lifted = await at.lockDown({ scope: { kind: 'users', names: ['alice'] }, measures: NO_MEASURE });
    await at.lift(lifted.incident);
    at.target.self = { ...at.target.self, address, context: 'test' };
    const clock = { now: () => new Date(stillClock.now().getTime() + 2 * HOUR) };
    const status = (all: boolean) => incidentStatus({ ...at.common, clock, all });
    const { incidents, elsewhere } = await status(false);
    expect(incidents.map(({ id }) => id)).toEqual([here.incident]);
    expect(elsewhere).toMatchObject([
      {
        id: there.incident,
        address: 'https://elsewhere.example.org',
        context: 'other',
        state: 'locked',
        isOverdue: true,
      },
    ]);
    const all = (await status(true)).elsewhere;
    expect(all.map(({ id, isOverdue }) => [id, isOverdue])).toEqual([
      [there.incident, true],
      [lifted.incident, false],
    ]);
    await expect(at.lift(there.incident)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('counts what was interrupted as locked', async () => {
    await using at = await incidentFixture('database');
    at.target.onUser = () => {
      throw new TokenctlError('target_unreachable', 'Gone');
    };
    await at.lockDown({ measures: EVERY_MEASURE });
    const [status] = await at.status();
    expect(status).toMatchObject({ state: 'partly', holds: false });
    expect(status?.values.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['AUTH_BASIC_ENABLED', 'alice', 'bob']),
    );
  });
});
