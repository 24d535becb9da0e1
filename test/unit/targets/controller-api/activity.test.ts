import { Secret } from '@tokenctl/common/secret.ts';
import type { RunningService } from '@tokenctl/service/server.ts';
import { ADMIN, basic, Client, startTestService } from '@tokenctl/service/testing/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Target } from '../../../../src/operations/ports/target.ts';
import { openApiEvidence } from '../../../../src/targets/controller-api/evidence.ts';
import { FakeController, json, pastRoot } from '../../../support/fake-controller.ts';
import { collected, errorOf, openTestTarget } from '../../../support/test-target.ts';

describe('the activity stream of a service', () => {
  let service: RunningService;
  let target: Target;
  let gone: number;
  let alive: number;

  beforeAll(async () => {
    service = await startTestService();
    const { username, password } = ADMIN;
    const credential = { kind: 'password', username, password: new Secret(password) } as const;
    target = openTestTarget(service.url, { credential });
    const ids: number[] = [];
    for (const description of ['one', 'two', 'three']) {
      ids.push((await target.createToken({ scope: 'write', description })).token.id);
    }
    [gone = 0, alive = 0] = ids;
    await collected(target.revoke([gone]));
    const answer = await fetch(`${service.url}/api/v2/applications/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...basic(username, password) },
      body: JSON.stringify({
        name: 'CI',
        organization: 1,
        client_type: 'public',
        authorization_grant_type: 'password',
      }),
    });
    expect(answer.status).toBe(201);
  });

  afterAll(async () => {
    await target.close();
    await service.close();
  });

  test('shows who changed which token, even after its deletion, and no other token', async () => {
    const found = await collected(target.activity.list({ tokenIds: [gone] }));
    expect(found).toMatchObject([
      { operation: 'create', object: 'o_auth2_access_token', actor: { username: 'admin' } },
      { operation: 'delete', changes: { id: gone } },
    ]);
    expect(await collected(target.activity.list({ tokenIds: [alive] }))).toMatchObject([
      { operation: 'create', changes: { id: alive } },
    ]);
    const many = Array.from({ length: 120 }, (_, index) => index + 1000);
    expect(await collected(target.activity.list({ tokenIds: [...many, alive] }))).toHaveLength(1);
    expect(await collected(target.activity.list({ tokenIds: [] }))).toEqual([]);
  });

  test('goes on where the hosts of a job are not listed and a page is the answer', async () => {
    const client = new Client(service.url, basic(ADMIN.username, ADMIN.password));
    const { results } = (await client.get('/api/v2/job_templates/')).json;
    const { id } = (await client.post(`/api/v2/job_templates/${results[0]?.id}/launch/`)).json;
    expect((await client.get(`/api/v2/jobs/${id}/job_host_summaries/`)).status).toBe(404);
    const { username, password } = ADMIN;
    const credential = { kind: 'password', username, password: new Secret(password) } as const;
    const evidence = openApiEvidence({ address: service.url, credential, verifyTls: true });
    const hour = 3_600_000;
    const [since, until] = [new Date(Date.now() - hour), new Date(Date.now() + hour)];
    const jobs = evidence.jobs({ createdBy: [1], templateIds: [], scheduleIds: [], since, until });
    expect(await collected(jobs)).toMatchObject([{ id, hosts: null }]);
    await evidence.close();
  });

  test('is filtered by actor and time', async () => {
    const entries = await collected(target.activity.list({}));
    const actor = entries.find(({ actor }) => actor !== null)?.actor?.id ?? 0;
    const all = await collected(target.activity.list({ actorIds: [actor] }));
    expect(all.length).toBeGreaterThanOrEqual(5);
    expect(all.map(({ id }) => id)).toEqual(all.map(({ id }) => id).sort((a, b) => a - b));
    expect(await collected(target.activity.list({ actorIds: [actor + 1000] }))).toEqual([]);
    const between = all[1]?.at ?? new Date();
    const since = await collected(target.activity.list({ since: between }));
    const until = await collected(target.activity.list({ until: between }));
    expect(since.every(({ at }) => at >= between)).toBe(true);
    expect(until.every(({ at }) => at < between)).toBe(true);
    expect(since.length).toBeGreaterThan(0);
  });

  test('shows the last change of each user who made one', async () => {
    const all = await collected(target.activity.list({}));
    const last = all.findLast(({ actor }) => actor !== null);
    const actor = last?.actor?.id ?? 0;
    expect(await target.activity.lastChanges([actor, 4711])).toEqual(new Map([[actor, last?.at]]));
    expect(await target.activity.lastChanges([])).toEqual(new Map());
  });

  test('applications are read, all or by name', async () => {
    const ci = { name: 'CI', clientType: 'public', grantType: 'password', created: expect.any(Date) };
    expect(await target.applications.list()).toMatchObject([ci]);
    expect(await target.applications.list(['CI', 'XY'])).toMatchObject([ci]);
    expect(await target.applications.list(['XY'])).toEqual([]);
  });
});

describe('an unreadable activity stream', () => {
  test.each([
    [400, 'unsupported'],
    [403, 'permission_refused'],
    [404, 'unsupported'],
  ])('with %i', async (status, code) => {
    await using fake = await FakeController.start();
    fake.fault = pastRoot((_, response) => json(response, status, { detail: 'no' }));
    const target = openTestTarget(fake.address);
    expect((await errorOf(collected(target.activity.list({})))).code).toBe(code);
    expect((await errorOf(target.activity.lastChanges([1]))).code).toBe(code);
    await target.close();
  });

  test('with invalid entries', async () => {
    await using fake = await FakeController.start();
    fake.fault = pastRoot((_, response) => json(response, 200, { results: [{ id: 'one' }], next: null }));
    const target = openTestTarget(fake.address);
    expect((await errorOf(collected(target.activity.list({})))).code).toBe('target_misbehaved');
    expect((await errorOf(target.activity.lastChanges([1]))).code).toBe('target_misbehaved');
    await target.close();
  });

  test('reads an entry with a deleted actor, and one with invalid changes', async () => {
    await using fake = await FakeController.start();
    const entry = { timestamp: '2026-11-20T00:00:00Z', operation: 'delete', object1: 'user' };
    const results = [
      { ...entry, id: 1, changes: { a: 1 }, summary_fields: { actor: { id: null, username: 'gone' } } },
      { ...entry, id: 2, changes: '', summary_fields: {} },
    ];
    fake.fault = pastRoot((_, response) => json(response, 200, { results, next: null }));
    const target = openTestTarget(fake.address);
    expect(await collected(target.activity.list({}))).toEqual([
      {
        id: 1,
        at: new Date('2026-11-20T00:00:00Z'),
        operation: 'delete',
        object: 'user',
        actor: null,
        changes: { a: 1 },
      },
      expect.objectContaining({ id: 2, actor: null, changes: {} }),
    ]);
    await target.close();
  });
});
