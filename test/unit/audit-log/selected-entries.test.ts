import { describe, expect, test } from 'vitest';
import type { AuditLog, EntrySelection } from '../../../src/operations/ports/audit-log.ts';
import { draft } from '../../support/drafts.ts';
import { EMPTY_LOGS, refusal } from '../../support/logs.ts';

/** Names that have a meaning in JSON, in patterns, or nowhere. */
const ODD = ['incident.lift', 'a"b', 'a\\b', 'a%', 'ab_', 'é', '],"operation":"'];

/** What looks as if another operation stood behind it. */
const MISLEADING = { open: [1], operation: 'incident.lift', previous: '0'.repeat(64) };

async function numbersOf(log: AuditLog, { from, ...only }: EntrySelection & { from?: number }) {
  const numbers: number[] = [];
  for await (const { seq } of log.entries(from, only)) numbers.push(seq);
  return numbers;
}

describe.each(EMPTY_LOGS)('the entries of some operations, of an audit log in %s', (_kind, open) => {
  test('are exactly those, whatever text they contain', async () => {
    await using at = await open();
    for (const operation of ODD) await at.log.append(draft({ operation }));
    await at.log.append(draft({ operation: 'a', data: MISLEADING }));
    await at.log.append(
      draft({ operation: 'b', data: { text: '],"operation":"incident.lift","previous":"' } }),
    );
    await at.log.append(draft({ operation: 'c', target: { operation: 'incident.lift', previous: 'x' } }));
    await at.log.append(draft({ operation: 'incident.lift', data: { ...MISLEADING, operation: 'a' } }));
    for (const [index, operation] of ODD.entries()) {
      const others = operation === 'incident.lift' ? [ODD.length + 4] : [];
      expect(await numbersOf(at.log, { operations: [operation] })).toEqual([index + 1, ...others]);
    }
    expect(await numbersOf(at.log, { operations: ['c', 'a%', 'a'] })).toEqual([4, 8, 10]);
    expect(await numbersOf(at.log, { operations: ['incident'] })).toEqual([]);
    expect(await numbersOf(at.log, { operations: [] })).toEqual([]);
    expect(await numbersOf(at.log, { operations: ['incident.lift'], from: 2 })).toEqual([11]);
  });

  test('come with none missing from a log of several pages', async () => {
    await using at = await open();
    await Promise.all(
      Array.from({ length: 1200 }, (_, index) =>
        at.log.append(draft({ operation: index % 2 === 0 ? 'even' : 'odd' })),
      ),
    );
    expect(await numbersOf(at.log, { operations: ['odd'] })).toEqual(
      Array.from({ length: 600 }, (_, index) => 2 * index + 2),
    );
  });

  test('cannot be told where a line is no entry', async () => {
    await using at = await open();
    await at.log.append(draft({ operation: 'incident.lift' }));
    await at.smuggle('garbage');
    expect(await refusal(numbersOf(at.log, { operations: ['incident.lift'] }))).toMatchObject({
      code: 'log_broken',
    });
  });
});
