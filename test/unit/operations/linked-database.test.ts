import { TokenctlError } from '@tokenctl/common/errors.ts';
import { expect, test } from 'vitest';
import { linkedDatabase } from '../../../src/app/linked-database.ts';
import type { Runtime } from '../../../src/app/runtime.ts';
import { covering, uncheckedPath } from '../../../src/domain/access.ts';
import type { Selector } from '../../../src/domain/selector.ts';
import type { ReadTarget, TargetDescription } from '../../../src/operations/ports/target.ts';
import { readLinked } from '../../../src/operations/revocation/read-linked.ts';
import { databaseDescription, description, MemoryTarget } from '../../support/memory-target.ts';

const PATHS = covering(
  [
    uncheckedPath('refresh_tokens', 'Not listed.', { count: 1 }),
    uncheckedPath('authorization_codes', 'Not listed.', { lifetime: 600 }),
    uncheckedPath('sessions', 'Not listed.'),
    uncheckedPath('basic_authentication', 'Not known.'),
  ],
  [],
);

/** A database with two refresh tokens of alice, one beside token 7, and one of bob. */
function database(other: Partial<TargetDescription> = {}): MemoryTarget {
  const at = new MemoryTarget();
  at.self = { ...databaseDescription(), ...other };
  at.programs.push({ id: 1, name: 'CI', clientType: 'public', grantType: 'password', created: at.now() });
  for (const [id, user, accessTokenId] of [
    [31, { id: 2, username: 'alice' }, 7],
    [32, { id: 2, username: 'alice' }, null],
    [33, { id: 3, username: 'bob' }, 9],
  ] as const) {
    const row = { id, user, accessTokenId, application: { id: 1, name: 'CI' }, fingerprint: null };
    at.refresh.rows.set(id, { ...row, created: at.now(), revoked: null });
  }
  return at;
}

/** The run of a context over REST that names a database context. */
function runtime(open: () => Promise<ReadTarget>, installUuid: string | null = 'one'): Runtime {
  const at = { ...description({ installUuid }), databaseContext: 'db' };
  return { description: async () => at, in: () => ({ readTarget: open }) } as unknown as Runtime;
}

async function found(
  at: MemoryTarget | TokenctlError,
  options: { selector?: Selector; ownerIds?: Record<string, number>; isDone?: boolean } = {},
) {
  const { selector, ownerIds = { alice: 2 }, isDone = false } = options;
  const open = async () => {
    if (at instanceof TokenctlError) throw at;
    return { target: at, description: await at.describe(), clock: { now: at.now } };
  };
  const linked = await linkedDatabase(runtime(open));
  if (linked === undefined) throw new Error('none is linked');
  const revoked = { plan: { tokenIds: [7], ownerIds }, selector, isDone };
  const paths = await readLinked(PATHS, linked, revoked);
  return paths.map(({ state, count, how }) => [state, count, how.replace(/^.*(Not read)/, '$1')]);
}

test.each<[string, Parameters<typeof found>[1], number]>([
  ['all of a user', { selector: { users: ['alice'] } }, 2],
  ['all of an application', { selector: { applications: ['CI'] } }, 3],
  ['everything', { selector: { all: true } }, 3],
  ['what is beside the tokens of a narrower selection', { selector: { users: ['alice'], scope: 'read' } }, 1],
  ['what is beside the tokens of findings', {}, 1],
])('the linked database counts refresh tokens: %s', async (_, options, count) => {
  const [refresh, codes, , basic] = await found(database(), options);
  const how = `The database context db lists ${count}, which the REST API leaves unchanged.`;
  expect(refresh).toEqual(['open', count, how]);
  expect(codes).toEqual(['closed', undefined, 'The database context db lists none.']);
  expect(basic).toEqual(['not_checked', undefined, 'Not known.']);
});

test('after the act, what was beside a token is not counted again: it is beside none any more', async () => {
  const [refresh] = await found(database(), { isDone: true });
  expect(refresh).toEqual(['not_checked', 1, 'Not listed.']);
  const [whole] = await found(database(), { isDone: true, selector: { users: ['alice'] } });
  expect(whole?.slice(0, 2)).toEqual(['open', 2]);
});

test.each<[string, MemoryTarget | TokenctlError, Parameters<typeof found>[1], RegExp]>([
  ['does not answer', new TokenctlError('target_unreachable', 'It is away'), {}, /It is away/],
  ['is of another controller', database({ installUuid: 'two' }), {}, /it belongs to another controller, two/],
  ['does not know the user', database(), { selector: { users: ['carol'] } }, /No user named "carol"/],
  [
    'has another user of the name',
    database(),
    { ownerIds: { alice: 3 } },
    /"alice" is the user 2 there and 3 here/,
  ],
  [
    'shows only part',
    database({
      visibility: { kind: 'part', tokens: 'some', users: 'some', applications: 'some', organizations: [] },
    }),
    {},
    /can see only some/,
  ],
])('a linked database that %s closes nothing, and is no error', async (_, at, options, why) => {
  const paths = await found(at, options);
  expect(paths.map(([state]) => state)).toEqual(Array(4).fill('not_checked'));
  for (const [, , how] of paths.slice(0, 3)) expect(how).toMatch(why);
});
