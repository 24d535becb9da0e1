import { describe, expect, test } from 'vitest';
import { withRequiredSink } from '../../../../src/app/open-audit-log.ts';
import { numbersIn } from '../../../../src/operations/journal/journal.ts';
import { incidentFixture, NO_MEASURE } from '../../../support/incident-fixture.ts';
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
