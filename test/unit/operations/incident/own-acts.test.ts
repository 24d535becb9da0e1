import { expect, test } from 'vitest';
import { OwnActs, ownActOf } from '../../../../src/operations/journal/own-acts.ts';
import type { Entry } from '../../../../src/operations/ports/audit-log.ts';

/** Intent and outcome of each act, two seconds apart. */
function recorded(...acts: readonly (readonly [operation: string, intent: object, outcome: object])[]) {
  const own = new OwnActs();
  acts.forEach(([operation, intent, outcome], index) => {
    const common = { operation, run: `run-${index}`, actor: { user: 'root' }, target: {} };
    const at = (second: number) => `2026-11-25T10:0${index}:0${second}.000Z`;
    const rest = { v: 1 as const, previous: '', open: [] };
    const seq = index * 2 + 1;
    own.add({ ...common, ...rest, kind: 'intent', seq, at: at(0), data: { ...intent } } satisfies Entry);
    const closing = { kind: 'outcome' as const, seq: seq + 1, closes: seq, at: at(2), data: { ...outcome } };
    own.add({ ...common, ...rest, ...closing } satisfies Entry);
  });
  return own;
}

const { all } = recorded(
  ['incident.lockdown', { step: 'users', active: false }, { step: 'users', changed: [42] }],
  ['tokens.revoke', { step: 'batch' }, { step: 'batch', revoked: [181, 182] }],
  [
    'incident.clean',
    { item: 'user:44', act: 'disable', field: 'is_active', object: { kind: 'user', id: 44 } },
    { item: 'user:44', result: 'done' },
  ],
  [
    'incident.clean',
    { item: 'o_auth2_application:6', act: 'delete', object: { kind: 'o_auth2_application', id: 6 } },
    { item: 'o_auth2_application:6', result: 'failed' },
  ],
  [
    'incident.clean',
    {
      ...{ item: 'role:32:user:7', act: 'disassociate', object: { kind: 'role', id: 32 } },
      about: { object: { kind: 'user', id: 7 }, other: { kind: 'organization', id: 2 }, role: { id: 32 } },
    },
    { item: 'role:32:user:7', result: 'done' },
  ],
);

/** The entry of a role that a user lost. */
function removal(user: number, organization: number) {
  return {
    ...entry('04:01', 'disassociate', 'user', user),
    other: { kind: 'organization', id: organization },
  };
}

function entry(at: string, operation: string, kind: string, id: number, ...fields: string[]) {
  return { at: `2026-11-25T10:${at}.000Z`, operation, fields, object: { kind, id } };
}

test.each([
  ['the deactivation of a lockdown', entry('00:01', 'update', 'user', 42, 'is_active'), 'run-0'],
  ['a revoked token', entry('01:01', 'delete', 'o_auth2_access_token', 182), 'run-1'],
  ['the deactivation of a cleaning', entry('02:02', 'update', 'user', 44, 'is_active'), 'run-2'],
  ['a role that a cleaning removed', removal(7, 2), 'run-4'],
])('%s is known as an act of tokenctl', (_what, given, run) => {
  expect(ownActOf(given, all)?.run).toBe(run);
});

test.each([
  ['at another time', entry('05:01', 'update', 'user', 42, 'is_active')],
  ['of another object', entry('00:01', 'update', 'user', 43, 'is_active')],
  ['of another kind', entry('00:01', 'update', 'team', 42, 'is_active')],
  ['of another field', entry('00:01', 'update', 'user', 42, 'is_active', 'is_superuser')],
  ['of no field that is known', entry('00:01', 'update', 'user', 42)],
  ['about a role on another object', removal(7, 3)],
  ["about another user's role", removal(8, 2)],
  ['about a role on an unknown object', entry('04:01', 'disassociate', 'user', 7)],
  ['of another act', entry('00:01', 'delete', 'user', 42)],
  ['that the cleaning did not do', entry('03:01', 'delete', 'o_auth2_application', 6)],
])("an entry %s may be the intruder's", (_what, given) => {
  expect(ownActOf(given, all)).toBeNull();
});

test('a user is told as switched off or on by what was done', () => {
  expect(all.filter(({ active }) => active === false).map(({ id }) => id)).toEqual([42, 44]);
});
