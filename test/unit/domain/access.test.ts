import { describe, expect, test } from 'vitest';
import {
  afterAct,
  closedPath,
  covering,
  openPath,
  pathNames,
  recordedPaths,
  recordOf,
  sentenceOf,
  uncheckedPath,
  untilText,
} from '../../../src/domain/access.ts';

const NOW = new Date('2026-11-20T10:00:00Z');

describe('the record of a way in', () => {
  test('has the time at which it ends rounded up', () => {
    expect(untilText('2026-11-20T10:00:00.001Z')).toBe('2026-11-20T10:01Z');
    expect(untilText('2026-11-20T10:00:00.000Z')).toBe('2026-11-20T10:00Z');
    expect(sentenceOf(uncheckedPath('sessions', 'Cached.', { until: '2026-11-20T10:14:30Z' }))).toBe(
      'Cached. This ends at 2026-11-20T10:15Z at the latest.',
    );
  });

  test('after an act is what was found, with the remedy of the plan where it is not closed, and what was not covered', () => {
    const plan = [
      uncheckedPath('refresh_tokens', 'Not listed.', { remedy: 'Use a database context.' }),
      uncheckedPath('sessions', 'Not listed.', { remedy: 'Use a database context.' }),
      ...covering([uncheckedPath('authorization_codes', 'Not listed.', { lifetime: 600 })], []),
    ];
    const found = [closedPath('sessions', 'Verified.'), uncheckedPath('refresh_tokens', 'Still not listed.')];
    expect(afterAct(plan, found, NOW)).toEqual([
      closedPath('sessions', 'Verified.'),
      uncheckedPath('refresh_tokens', 'Still not listed.', { remedy: 'Use a database context.' }),
      ...covering(
        [uncheckedPath('authorization_codes', 'Not listed.', { until: '2026-11-20T10:10:00.000Z' })],
        [],
      ),
    ]);
  });
});

describe('the audit log', () => {
  test('has what an outcome of this version states', () => {
    const paths = [
      openPath('refresh_tokens', '2 are live.', { count: 2 }),
      ...covering([uncheckedPath('gateway', 'Not checked.')], []),
    ];
    expect(recordedPaths({ accessPaths: recordOf(paths) })).toEqual([
      { path: 'refresh_tokens', state: 'open', covered: true, count: 2, until: null },
      { path: 'gateway', state: 'not_checked', covered: false, count: null, until: null },
    ]);
  });

  test('has what outcomes of earlier versions state', () => {
    const until = '2026-11-20T10:10:00.000Z';
    const lockdown = {
      accessPaths: [{ path: 'authorization_codes', state: 'not_checked', until }],
      manualSteps: ['refresh tokens', 'logging in'],
    };
    const found = recordedPaths(lockdown);
    expect(found).toEqual([
      { path: 'authorization_codes', state: 'not_checked', covered: true, count: null, until },
      { path: 'refresh_tokens', state: 'not_checked', covered: false, count: null, until: null },
      { path: 'logging in', state: 'not_checked', covered: false, count: null, until: null },
    ]);
    expect(pathNames(found)).toBe('authorization codes, refresh tokens, logging in');
    const revocation = {
      staysAlive: [
        { what: 'refresh_tokens', count: 3 },
        { what: 'sessions', count: null },
      ],
    };
    expect(recordedPaths(revocation).map(({ path, count }) => [path, count])).toEqual([
      ['refresh_tokens', 3],
      ['sessions', null],
    ]);
    expect(recordedPaths({ staysAlive: ['sessions'] })).toMatchObject([{ path: 'sessions', covered: false }]);
    expect(recordedPaths({ accessPaths: [{ state: 'open' }, null, 7], staysAlive: 'x' })).toEqual([]);
  });
});
