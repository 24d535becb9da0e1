import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openDirectory } from '../../../../src/app/open-directory.ts';
import { directoriesSchema } from '../../../../src/config/directories.ts';
import { DirectoryUsers } from '../../../../src/domain/directory-users.ts';
import type { DirectoryAnswer } from '../../../../src/operations/directories/answer-history.ts';
import { askDirectory } from '../../../../src/operations/directories/ask-directory.ts';
import type { KnownEntry } from '../../../../src/operations/directories/compare-users.ts';
import { confirmAbsence } from '../../../../src/operations/directories/confirm-absence.ts';
import type { Entry } from '../../../../src/operations/ports/audit-log.ts';
import {
  type Person,
  PROVIDERS,
  type Provided,
  type Provider,
} from '../../../support/directory-providers.ts';
import { MemoryTarget, user } from '../../../support/memory-target.ts';
import { type Answer, type Asked, providerServer } from '../../../support/provider-server.ts';
import { kinds, runs } from '../../../support/runs.ts';

/** The same changes each time, so that no other change fails by chance; DIRECTORY_SEED=N makes others. */
const SEED = Number(process.env['DIRECTORY_SEED'] ?? 46);
const NOW = new Date('2026-11-25T12:00:00Z');

/** What a provider answers instead: null as it should; `as` answers as if it had other people. */
type Distort = (asked: Asked, as: (people?: readonly Person[]) => Answer) => Answer | null;

/** A directory of a provider, and a controller whose users have an account each. */
async function world(provider: Provider) {
  let provided: Provided = { people: [], listed: [] };
  let distort: Distort = () => null;
  const server = await providerServer((asked) => {
    const as = (people?: readonly Person[]) =>
      provider.answer(asked, people === undefined ? provided : { people, listed: people });
    return distort(asked, as) ?? as();
  });
  const settings = { ...provider.settings(server.url), accounts: ['idp'] };
  const { staff } = directoriesSchema.parse({
    staff: { ...settings, stopAbovePercent: 100, stopBelowPercent: 100 },
  });
  if (staff === undefined) throw new Error('no settings');
  const directory = openDirectory('staff', { staff }, { SECRET: 'hidden' });
  return {
    /** Asks about users by the ids of their accounts, with what an earlier answer learned. */
    async ask(
      now: Provided,
      uids: ReadonlyMap<string, string>,
      { lie = () => null, learned = [] }: { lie?: Distort | undefined; learned?: readonly KnownEntry[] } = {},
    ) {
      [provided, distort] = [now, lie];
      const target = new MemoryTarget();
      const external = [...uids.keys()].map((name, index) =>
        user(10 + index, name, { externalAccount: 'social' }),
      );
      target.people.splice(1, Number.POSITIVE_INFINITY, ...external);
      target.identities = external.map(({ id, username }) => ({
        id,
        email: null,
        ldapDn: null,
        accounts: [{ provider: 'idp', uid: uids.get(username) ?? '' }],
      }));
      const description = await target.describe();
      const entries = learned.map(({ userId, entry }) => [userId, entry]);
      const note = { kind: 'note', operation: 'directory.entries', target: description };
      const log = {
        async *entries() {
          yield { ...note, data: { directory: 'staff', entries } } as unknown as Entry;
        },
      };
      return await askDirectory({ directory, target, description, log, now: () => NOW });
    },
  };
}

const person = (id: string, name = `${id}@example.com`, isActive = true): Person => ({ id, name, isActive });

/** Ways in which a list is not whole and looks as if it were. */
const CUTS: Readonly<Record<string, (people: readonly Person[], keep: number) => readonly Person[]>> = {
  none: (people) => people,
  'ends early': (people, keep) => people.slice(0, keep),
  'leaves out every third': (people, keep) => people.filter((_, index) => index % 3 !== keep % 3),
  'begins late': (people, keep) => people.slice(Math.min(keep, people.length - 1)),
};

const FILTERS = ['filter', '$filter', 'username', 'email'];
const isList = ({ url }: Asked) => url.searchParams.has('startIndex') || /users$/i.test(url.pathname);
/** Whether a request asks for one user. Okta's list of deactivated users has a filter as well. */
const isQuestion = (asked: Asked) =>
  asked.method === 'GET' &&
  !/\/count$|filter=status/.test(asked.url.href) &&
  (!isList(asked) || FILTERS.some((name) => asked.url.searchParams.has(name)));

/** What a provider does with questions for one user. */
const LIES: Readonly<Record<string, Distort>> = {
  none: () => null,
  'knows nobody': (asked, as) => (isQuestion(asked) ? as([]) : null),
  'refuses questions': (asked) => (isQuestion(asked) ? { status: 403 } : null),
  'does not understand filters': (asked) => (isQuestion(asked) && isList(asked) ? { status: 400 } : null),
  'takes no notice of filters': (asked) => {
    if (isQuestion(asked)) for (const name of FILTERS) asked.url.searchParams.delete(name);
    return null;
  },
  'answers in another form': (asked) => (isQuestion(asked) ? { body: 'hello' } : null),
};

const courses = fc.record({
  people: fc.uniqueArray(
    fc.record({
      number: fc.integer({ min: 1, max: 40 }),
      state: fc.constantFrom('active', 'active', 'renamed', 'disabled', 'deleted'),
      byName: fc.boolean(),
    }),
    { selector: ({ number }) => number, minLength: 3, maxLength: 12 },
  ),
  isKnown: fc.boolean(),
  cut: fc.constantFrom(...Object.keys(CUTS)),
  keep: fc.integer({ min: 1, max: 8 }),
  lie: fc.constantFrom('none', 'none', ...Object.keys(LIES)),
});

describe.each(kinds(PROVIDERS))('%s', (_, provider) => {
  test('offboards nobody who is active, and misses nobody who left without a word', async () => {
    const at = await world(provider);
    const property = fc.asyncProperty(courses, async ({ people, isKnown, cut, keep, lie }) => {
      const all = [{ number: 0, state: 'active', byName: false }, ...people].map((each) => {
        const { id, name } = person(`p${each.number}`);
        // Whose account is known by the name only, and whose entry is not known, cannot be told from another person.
        const isRenamed = each.state === 'renamed' && (isKnown || !each.byName);
        const now = person(id, isRenamed ? `new-${name}` : name, each.state !== 'disabled');
        return { ...each, id, uid: each.byName ? name : id, first: person(id), now };
      });
      const uids = new Map(all.map(({ id, uid }) => [id, uid]));
      const first = all.map((each) => each.first);
      const learned = isKnown ? [...(await at.ask({ people: first, listed: first }, uids)).learned] : [];
      const here = all.filter(({ state }) => state !== 'deleted').map(({ now }) => now);
      const listed = CUTS[cut]?.(here, keep) ?? here;
      const left = all.filter(({ state }) => /disabled|deleted/.test(state)).map(({ id }) => id);
      const isWhole = here.every((each) => !each.isActive || listed.includes(each));
      let answer: DirectoryAnswer;
      try {
        ({ answer } = await at.ask({ people: here, listed }, uids, { lie: LIES[lie], learned }));
      } catch (error) {
        // It names who is there and not in the list; with nobody in its list, or with nobody of before, it ends as well.
        expect(error).toMatchObject({ code: 'target_misbehaved' });
        expect(String(error)).toMatch(/its list is not whole|lists no users|its ids are others than before/);
        expect(isWhole).toBe(false);
        return;
      }
      const names = (some: readonly { username: string }[]) => some.map(({ username }) => username).sort();
      expect(names(answer.gone).filter((name) => !left.includes(name))).toEqual([]);
      expect(names([...answer.gone, ...answer.doubtful])).toEqual(expect.arrayContaining(left));
      if (lie !== 'none') return;
      expect(isWhole).toBe(true);
      expect(names(answer.gone)).toEqual(left.sort());
    });
    await fc.assert(property, { numRuns: runs(1000), seed: SEED });
  });
});

test('an answer counts only where the same question finds a user of the list', async () => {
  const users = new DirectoryUsers();
  users.add({ id: 'a', logins: ['a'], emails: ['a@example.org'], disabled: null });
  // The last of the list has no address to try the question with.
  users.add({ id: 'b', logins: ['b'], emails: [], disabled: null });
  const carol = { id: 3, username: 'carol', basis: 'mail address', evidence: 'not in the list' };
  const verdict = (kind: 'email' | 'dn') =>
    confirmAbsence(
      { gone: [carol], doubtful: [] },
      {
        ...{ name: 'staff', users, before: new Set() },
        unproven: new Map([[3, { isMissing: true, asks: [{ kind, value: 'carol', isStrong: true }] }]]),
        lookUp: async (asked) => asked.map(() => ({ found: [] })),
      },
    );
  expect(await verdict('email')).toMatchObject({
    gone: [],
    doubtful: [{ why: expect.stringContaining('does not find mail address a@example.org either') }],
  });
  expect(await verdict('dn')).toMatchObject({
    gone: [],
    doubtful: [{ why: expect.stringContaining('nobody in the list has a value of the kind') }],
  });
});
