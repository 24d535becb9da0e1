import { kinds } from '@tokenctl/testing/runs.ts';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { withRequiredSink } from '../../../../src/app/open-audit-log.ts';
import { numbersIn } from '../../../../src/operations/journal/journal.ts';
import { incidentFixture, NO_MEASURE } from '../../../support/incident-fixture.ts';
import { loadRealTables, REAL_PEERS } from '../../../support/real-tables.ts';
import { token } from '../../../support/tokens.ts';

const ALICE = { id: 2, username: 'alice' };

/** A target on which alice gets a token at each entry of the audit log, as long as she has one. */
async function minting(kind: 'rest' | 'database') {
  const at = await incidentFixture(kind, 0);
  at.target.alive.clear();
  at.target.refresh.rows.clear();
  const minted: number[] = [];
  const mint = async () => {
    if (at.target.alive.size === 0) return;
    const id = 11 + minted.length;
    minted.push(id);
    at.target.alive.set(id, token({ id, user: ALICE }));
  };
  at.target.alive.set(10, token({ id: 10, user: ALICE }));
  const log = withRequiredSink(at.log, {
    sink: { name: 'client', send: mint, close: () => Promise.resolve() },
    format: { records: () => [] },
  });
  const scope = { kind: 'users', names: ['alice'] } as const;
  return { at, minted, lock: () => at.lockDown({ log, scope, measures: NO_MEASURE }) };
}

describe.each(['rest', 'database'] as const)('a client that mints tokens with its tokens (%s)', (kind) => {
  test('is caught after one pass, and each of its tokens is in the log', async () => {
    const { at, minted, lock } = await minting(kind);
    await using _ = at;
    const report = await lock();
    expect(at.target.alive.size).toBe(0);
    expect(report.result).toBe('locked');
    expect(report.steps.filter(({ message }) => message.startsWith('Pass '))).toHaveLength(1);
    const revoked: number[] = [];
    const named: unknown[] = [];
    for await (const { kind: kindOfEntry, data } of at.log.entries()) {
      if (data['step'] !== 'batch') continue;
      if (kindOfEntry === 'outcome') revoked.push(...numbersIn(data['revoked']));
      else named.push(data['tokens']);
    }
    expect(revoked.sort((a, b) => a - b)).toEqual([10, ...minted]);
    for (const tokens of named) expect(tokens).toMatchObject([{ user: 'alice', userId: ALICE.id }]);
  });
});

describe('a drain', () => {
  afterEach(() => void vi.useRealTimers());

  test('that a client outlasted is no failure where the next pass ends it', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { at, lock } = await minting('rest');
    await using _ = at;
    const { target } = at;
    const revoke = target.revoke.bind(target);
    let times = 0;
    target.revoke = async function* (ids, options) {
      yield* revoke(ids, options);
      times += 1;
      if (times !== 2) return;
      // The first try of the drain: the client gets one more token, and the time limit is over.
      target.alive.set(99, token({ id: 99, user: ALICE }));
      vi.advanceTimersByTime(60_000);
    };
    const { result, steps } = await lock();
    expect(target.alive.size).toBe(0);
    expect(steps.map(({ message }) => message).join(' ')).toContain('1 was live when last listed');
    expect(result).toBe('locked');
  });
});

const PEERS = REAL_PEERS.filter((peer) => peer === 'awx-24.6.1' || peer === 'awx-21.14.0');

test.each(kinds(PEERS))(
  'tokens that come for each one that is revoked end in the tables of %s',
  async (peer) => {
    const at = await incidentFixture('database');
    const real = await loadRealTables(peer);
    const bob = real.filling.users['bob'] ?? 0;
    await real.database.execute(`CREATE TABLE minted (id bigint)`);
    await real.database.execute(`CREATE FUNCTION mint() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF OLD.user_id = ${bob} AND (SELECT count(*) FROM minted) < 60 THEN
      OLD.id := nextval(pg_get_serial_sequence('main_oauth2accesstoken', 'id'));
      OLD.token := md5(OLD.id::text);
      OLD.source_refresh_token_id := NULL;
      INSERT INTO main_oauth2accesstoken SELECT OLD.*;
      INSERT INTO minted VALUES (OLD.id);
    END IF;
    RETURN NULL;
  END $$`);
    await real.database.execute(
      'CREATE TRIGGER mint AFTER DELETE ON main_oauth2accesstoken FOR EACH ROW EXECUTE FUNCTION mint()',
    );
    const target = await real.open();
    const common = { clock: { now: () => new Date() }, target, description: await target.describe() };
    const { result, steps } = await at.lockDown({
      ...common,
      scope: { kind: 'users', names: ['bob'] },
      measures: NO_MEASURE,
    });
    const left = await real.database.query('SELECT id FROM main_oauth2accesstoken WHERE user_id = $1', [bob]);
    const [minted] = await real.database.query<{ count: number }>('SELECT count(*)::int FROM minted');
    expect([minted?.count, left, result]).toEqual([60, [], 'locked']);
    expect(steps.filter(({ message }) => message.startsWith('Pass ')).length).toBeLessThan(4);
    await real.close();
    await at[Symbol.asyncDispose]();
  },
);
