import { TokenctlError } from '@tokenctl/common/errors.ts';
import { until } from '@tokenctl/testing/until.ts';
import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../../../src/domain/plan.ts';
import type { Target } from '../../../../src/operations/ports/target.ts';
import { FakeController, json, pastRoot } from '../../../support/fake-controller.ts';
import { openTestTarget } from '../../../support/test-target.ts';

const ids = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** Revokes, and returns the outcomes and the error that ended it early. */
async function revoked(target: Target, tokenIds: readonly number[]) {
  const outcomes: Outcome[] = [];
  let stopped: string | null = null;
  try {
    for await (const outcome of target.revoke(tokenIds)) outcomes.push(outcome);
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
    stopped = error.code;
  }
  await target.close();
  const by = (result: Outcome['result']) =>
    outcomes.filter((outcome) => outcome.result === result).map(({ tokenId }) => tokenId);
  return { revoked: by('revoked'), unchanged: by('unchanged'), failed: by('failed'), outcomes, stopped };
}

describe('revoke', () => {
  test('deletes each token once, many at a time on few connections', async () => {
    await using fake = await FakeController.start(1000);
    const sockets = new Set<unknown>();
    let [now, most] = [0, 0];
    fake.fault = (request, response) => {
      sockets.add(request.socket);
      most = Math.max(most, ++now);
      response.on('close', () => {
        now -= 1;
      });
      return false;
    };
    const found = await revoked(openTestTarget(fake.address), ids(1000));
    expect(found.revoked).toHaveLength(1000);
    expect(fake.tokens.size).toBe(0);
    expect(fake.requests[0]).toBe('GET /api/');
    expect(fake.requests).toHaveLength(1001);
    expect(new Set(fake.requests).size).toBe(1001);
    expect(sockets.size).toBeLessThanOrEqual(10);
    expect(most).toBeLessThanOrEqual(100);
  });

  test('reports missing tokens as unchanged', async () => {
    await using fake = await FakeController.start(2);
    const found = await revoked(openTestTarget(fake.address), [1, 2, 3]);
    expect(found).toMatchObject({ unchanged: [3], failed: [], stopped: null });
    expect(found.revoked.sort()).toEqual([1, 2]);
  });

  test('does not mistake a proxy’s 404 page for a missing token', async () => {
    await using fake = await FakeController.start(2);
    fake.fault = (request, response) => {
      if (request.url !== '/api/v2/tokens/2/') return false;
      response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not found</h1>');
      return true;
    };
    expect(await revoked(openTestTarget(fake.address), [1, 2])).toMatchObject({
      revoked: [1],
      failed: [2],
      stopped: null,
    });
  });

  test('continues after a token that may not be revoked', async () => {
    await using fake = await FakeController.start(3);
    fake.fault = (request, response) =>
      request.url === '/api/v2/tokens/2/' && json(response, 403, { detail: 'no' });
    const found = await revoked(openTestTarget(fake.address), [1, 2, 3]);
    expect(found.outcomes).toContainEqual({
      tokenId: 2,
      result: 'failed',
      reason: 'this account, or the scope of this token, does not allow revoking it',
      refused: true,
    });
    expect(found.revoked.sort()).toEqual([1, 3]);
  });

  test('recovers from a server that rejects every fifth request', async () => {
    await using fake = await FakeController.start(100);
    let count = 0;
    fake.fault = (_, response) => ++count % 5 === 0 && json(response, 503, {});
    const found = await revoked(openTestTarget(fake.address), ids(100));
    expect(found).toMatchObject({ failed: [], stopped: null });
    expect(fake.tokens.size).toBe(0);
  });

  test('recovers from connections that break between the deletion and the response', async () => {
    await using fake = await FakeController.start(300);
    let count = 0;
    fake.fault = (request) => {
      if (++count % 50 !== 0) return false;
      fake.tokens.delete(Number(request.url?.split('/')[4]));
      request.socket.destroy();
      return true;
    };
    const found = await revoked(openTestTarget(fake.address), ids(300));
    expect(found).toMatchObject({ failed: [], stopped: null });
    expect(found.revoked.length + found.unchanged.length).toBe(300);
    expect(fake.tokens.size).toBe(0);
  });

  test('stops when its credential is no longer accepted', async () => {
    await using fake = await FakeController.start(2000);
    let left = 200;
    fake.fault = pastRoot((_, response) => left-- <= 0 && json(response, 401, {}));
    const found = await revoked(openTestTarget(fake.address), ids(2000));
    expect(found).toMatchObject({ failed: [], stopped: 'credentials_refused' });
    expect(found.revoked).toHaveLength(200);
    expect(fake.tokens.size).toBe(1800);
    expect(fake.requests.length).toBeLessThanOrEqual(301);
  });

  test('stops when the controller goes away, and reports the tokens in flight', {
    tags: ['long'],
  }, async () => {
    const fake = await FakeController.start(500);
    let left = 200;
    fake.fault = pastRoot((request) => {
      if (left-- > 0) return false;
      request.socket.destroy();
      void fake[Symbol.asyncDispose]();
      return true;
    });
    const found = await revoked(openTestTarget(fake.address), ids(500));
    expect(found.stopped).toBe('target_unreachable');
    expect(found.revoked.length).toBeLessThanOrEqual(200);
    expect(found.failed.length).toBeGreaterThan(0);
    expect(found.outcomes.length).toBeLessThan(500);
  });

  test('ends batches one after the other, so that one is recorded while others are deleted', async () => {
    await using fake = await FakeController.start(900);
    const target = openTestTarget(fake.address);
    const done = [0, 0, 0];
    const left: number[][] = [];
    const batches = [0, 1, 2].map(async (batch) => {
      for await (const _each of target.revoke(ids(900).slice(batch * 300, (batch + 1) * 300))) {
        done[batch] = (done[batch] ?? 0) + 1;
      }
      left.push(done.map((count) => 300 - count));
    });
    await Promise.all(batches);
    await target.close();
    expect(left.map((counts) => counts.indexOf(Math.max(...counts)))).toEqual([2, 2, 0]);
    // As many of the third batch as were in flight when the first one ended.
    expect(left[0]?.[2]).toBeGreaterThanOrEqual(200);
    expect(fake.tokens.size).toBe(0);
  });

  test('begins no further request once it is interrupted, over all batches', async () => {
    await using fake = await FakeController.start(900);
    const held: (() => void)[] = [];
    let left = 40;
    fake.fault = pastRoot((_, response) => {
      if (left-- > 0) return false;
      const finish = response.end.bind(response);
      response.end = ((...parts: Parameters<typeof finish>) => {
        held.push(() => finish(...parts));
        return response;
      }) as typeof response.end;
      return false;
    });
    const target = openTestTarget(fake.address);
    const interruption = new AbortController();
    const { signal } = interruption;
    const outcomes: Outcome[] = [];
    const batches = [0, 300, 600].map(async (start) => {
      const batch = ids(900).slice(start, start + 300);
      for await (const each of target.revoke(batch, { signal })) outcomes.push(each);
    });
    await until(() => outcomes.length === 40 && held.length > 0);
    interruption.abort();
    left = Number.POSITIVE_INFINITY;
    for (const finish of held.splice(0)) finish();
    await Promise.all(batches);
    expect(outcomes.every(({ result }) => result === 'revoked')).toBe(true);
    // As many as may be in flight were on the wire already.
    expect(outcomes.length).toBeLessThanOrEqual(140);
    expect(fake.tokens.size).toBe(900 - outcomes.length);
    await target.close();
  });

  test('does not wait for a controller that hangs when it is interrupted', async () => {
    await using fake = await FakeController.start(300);
    let left = 10;
    fake.fault = pastRoot(() => left-- <= 0);
    const target = openTestTarget(fake.address);
    const interruption = new AbortController();
    const outcomes: Outcome[] = [];
    for await (const each of target.revoke(ids(300), { signal: interruption.signal })) {
      outcomes.push(each);
      if (outcomes.length === 10) interruption.abort();
    }
    const unknown = outcomes.filter(({ result }) => result === 'failed');
    expect(unknown.length).toBeGreaterThan(0);
    expect(unknown[0]?.reason).toBe(
      'no response, so it may or may not be revoked: interrupted before the response',
    );
    expect(outcomes.length).toBeLessThanOrEqual(110);
    await target.close();
  });
});
