import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { refused } from '@tokenctl/testing/refused.ts';
import { kinds } from '@tokenctl/testing/runs.ts';
import { until } from '@tokenctl/testing/until.ts';
import { describe, expect, inject, it } from 'vitest';
import type { Outcome } from '../../../../src/domain/plan.ts';
import type { Target } from '../../../../src/operations/ports/target.ts';
import { partOf } from '../../../../src/operations/scope/target-parts.ts';
import { openDatabaseTarget } from '../../../../src/targets/database/database-target.ts';
import { startProxy } from '../../../process/faults/postgres-proxy.ts';
import { all, roleWith, testDatabase } from '../../../support/test-database.ts';

const place = testDatabase('service');

/** Opens a target with another part of the URL; resolves with the error. */
async function refusal(change: (url: URL) => void): Promise<TokenctlError> {
  const url = new URL(place.url);
  change(url);
  const error: unknown = await openDatabaseTarget({
    context: 'test',
    connection: new Secret(url.href),
  }).catch((reason: unknown) => reason);
  if (!(error instanceof TokenctlError)) throw error;
  return error;
}

/** Closes every connection of every target. To read afterwards, open another target. */
const cut = () =>
  place.database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name = 'tokenctl' AND datname = current_database()`,
  );

describe('a database that cannot be opened', () => {
  it('rejects a wrong password or an unknown role without revealing either', async () => {
    const wrong = await refusal((url) => {
      url.password = 'secret-and-wrong';
    });
    expect(wrong).toMatchObject({ code: 'credentials_refused' });
    expect(`${wrong.message} ${wrong.hint} ${JSON.stringify(wrong.details)}`).not.toContain('secret');
    expect(
      await refusal((url) => {
        url.username = 'nobody';
      }),
    ).toMatchObject({ code: 'credentials_refused' });
  });

  it('reports a missing password', async () => {
    const { hostname, port, pathname } = new URL(place.url);
    const opening = openDatabaseTarget({
      context: 'test',
      connection: new Secret(`postgresql://postgres@${hostname}:${port}${pathname}`),
      environment: { HOME: '/nowhere' },
    });
    await expect(opening).rejects.toMatchObject({
      code: 'credentials_refused',
      hint: expect.stringContaining('PGPASSWORD'),
    });
  });

  it('reports a missing server or database as unreachable', async () => {
    expect(
      await refusal((url) => {
        url.pathname = '/no_such_database';
      }),
    ).toMatchObject({ code: 'target_unreachable' });
    expect(
      await refusal((url) => {
        url.port = '1';
      }),
    ).toMatchObject({ code: 'target_unreachable' });
  });
});

describe('a database that goes silent', () => {
  it('ends an interrupted revocation, which says what is unknown', async () => {
    await using proxy = await startProxy(place.url);
    const target = await place.open({ url: proxy.url });
    const ids = await place.tokens(3);
    const interruption = new AbortController();
    const outcomes: Outcome[] = [];
    proxy.silence();
    const revoking = (async () => {
      for await (const each of target.revoke(ids, { signal: interruption.signal })) outcomes.push(each);
    })();
    await until(() => proxy.unheard() !== '');
    interruption.abort();
    await expect(revoking).rejects.toMatchObject({
      code: 'target_unreachable',
      message: 'Interrupted before the database answered',
    });
    await target.close();
    const reason = 'no response, so it may or may not be revoked: Interrupted before the database answered';
    expect(outcomes).toEqual(ids.map((tokenId) => ({ tokenId, result: 'failed', reason })));
  });
});

describe('any other work in a database that goes silent', () => {
  it.each(
    kinds<[string, (target: Target) => Promise<unknown>]>([
      ['refresh tokens', (target: Target) => all(partOf(target, 'refreshTokens').revoke([1, 2]))],
      ['orphans', (target: Target) => all(partOf(target, 'refreshTokens').delete([1]))],
      ['codes', (target: Target) => all(partOf(target, 'authorizationCodes').delete([1]))],
      ['sessions', (target: Target) => all(partOf(target, 'sessions').end({ all: true }))],
      ['a list', (target: Target) => all(target.tokens({}))],
      ['users', (target: Target) => target.users.setActive(1, false)],
      ['settings', (target: Target) => target.settings.write({ AUTH_BASIC_ENABLED: false })],
    ]),
  )('ends when it is interrupted: %s', async (_what, work) => {
    await using proxy = await startProxy(place.url);
    const interruption = new AbortController();
    const target = await place.open({ url: proxy.url, interruption: () => interruption.signal });
    proxy.silence();
    const working = work(target).catch((error: unknown) => error);
    await until(() => proxy.unheard() !== '');
    interruption.abort();
    expect(await working).toMatchObject({
      code: 'target_unreachable',
      message: 'Interrupted before the database answered',
    });
    await target.close();
  });
});

describe('a lost connection', () => {
  it('between two batches ends the revocation or is replaced, and the reported outcomes are true', async () => {
    const target = await place.open();
    const ids = await place.tokens(6000);
    const outcomes: Outcome[] = [];
    const revoking = (async () => {
      for await (const outcome of target.revoke(ids)) {
        if (outcomes.push(outcome) === 2000) await cut();
      }
    })();
    const failure: unknown = await revoking.then(
      () => null,
      (error: unknown) => error,
    );
    const left = new Set((await all((await place.open()).tokens({ ids }))).map(({ id }) => id));
    const revoked = outcomes.filter(({ result }) => result === 'revoked');
    expect(revoked.every(({ tokenId }) => !left.has(tokenId))).toBe(true);
    // Whether the cut is noticed before the next batch is sent on that connection is a matter of time.
    expect([revoked.length, left.size]).toEqual(failure === null ? [6000, 0] : [2000, 4000]);
    if (failure !== null) expect(failure).toMatchObject({ code: 'target_unreachable' });
  });

  it('within a batch reports that its tokens may or may not be revoked', async () => {
    const target = await place.open();
    const ids = await place.tokens(3);
    const outcomes: Outcome[] = [];
    await place.database.transaction(async (transaction) => {
      await transaction.execute('LOCK TABLE main_activitystream IN ACCESS EXCLUSIVE MODE');
      const revoking = (async () => {
        for await (const outcome of target.revoke(ids)) outcomes.push(outcome);
      })();
      const failing = expect(revoking).rejects.toMatchObject({
        code: 'target_unreachable',
        hint: expect.stringContaining('run the command again'),
      });
      const waiting = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'main_activitystream'::regclass`;
      await until(async () => (await transaction.query(waiting)).length > 0);
      await cut();
      await failing;
    });
    expect(outcomes).toEqual(
      ids.map((tokenId) => ({
        tokenId,
        result: 'failed',
        reason: expect.stringMatching(/^no response, so it may or may not be revoked: The connection/),
      })),
    );
    expect(await all((await place.open()).tokens({ ids }))).toHaveLength(3);
  });

  it('is reopened for the next query', async () => {
    const target = await place.open();
    await cut();
    const gone =
      "SELECT FROM pg_stat_activity WHERE application_name = 'tokenctl' AND datname = current_database()";
    await until(async () => (await place.database.query(gone)).length === 0);
    expect(await all(target.users.list({ names: ['alice'] }))).toHaveLength(1);
  });
});

describe('a database that is busy or read-only', () => {
  it('reports that another transaction holds a lock', async () => {
    await place.database.transaction(async (transaction) => {
      await transaction.execute('LOCK TABLE conf_setting IN ACCESS EXCLUSIVE MODE');
      await expect(place.target.settings.read()).rejects.toMatchObject({ code: 'busy' });
    });
  });

  it('reports that the server is read-only', async () => {
    const url = await roleWith(place, (role) => [
      `GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`,
      `ALTER ROLE ${role} SET default_transaction_read_only = on`,
    ]);
    const target = await place.open({ url });
    await expect(all(target.revoke(await place.tokens(1)))).rejects.toMatchObject(
      refused('permission_refused', 'standby'),
    );
  });

  it('is shown as host, port and database only', async () => {
    const { address } = await place.target.describe();
    expect(address).toBe(`postgresql://${new URL(inject('postgresUrl')).host}${new URL(place.url).pathname}`);
  });
});
