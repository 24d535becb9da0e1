import { TokenctlError } from '@tokenctl/common/errors.ts';
import { kinds, runs } from '@tokenctl/testing/runs.ts';
import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { openDirectory } from '../../../../src/app/open-directory.ts';
import { directoriesSchema } from '../../../../src/config/directories.ts';
import { DirectoryUsers } from '../../../../src/domain/directory-users.ts';
import type { DirectoryAnswer } from '../../../../src/operations/directories/answer-history.ts';
import { askDirectory } from '../../../../src/operations/directories/ask-directory.ts';
import { confirmAbsence } from '../../../../src/operations/directories/confirm-absence.ts';
import type { Entry } from '../../../../src/operations/ports/audit-log.ts';
import { CASES, ChangingStaff, courses, type Round } from '../../../support/directory-changes.ts';
import { PROVIDERS } from '../../../support/directory-providers.ts';
import type { Provided, Source, Tie } from '../../../support/directory-source.ts';
import { LDAP_DIRECTORIES } from '../../../support/ldap-directory.ts';
import { MemoryTarget, user } from '../../../support/memory-target.ts';

/** The same changes each time, so that no other change fails by chance; DIRECTORY_SEED=N makes others. */
const SEED = Number(process.env['DIRECTORY_SEED'] ?? 46);
const NOW = new Date('2026-11-25T12:00:00Z');
/** How many courses are tried with each source: each has one answer or two, so that all of them have ten thousand. */
const RUNS = 850;

/** A directory that is asked about the users of a controller. */
async function asking(source: Source) {
  let provided: Provided = { people: [], listed: [] };
  const settings = await source.serve(() => provided);
  const { staff } = directoriesSchema.parse({
    staff: { ...settings, accounts: ['idp'], stopAbovePercent: 100, stopBelowPercent: 100 },
  });
  if (staff === undefined) throw new Error('no settings');
  const directory = openDirectory('staff', { staff }, { SECRET: 'hidden' });
  return async (staff: ChangingStaff, round: Round) => {
    provided = staff.provided(round);
    const target = new MemoryTarget();
    const isDn = staff.tie.kind === 'dn';
    const external = staff.accounts.map(({ id, username }) =>
      user(id, username, { externalAccount: isDn ? 'ldap' : 'social' }),
    );
    target.people.splice(1, Number.POSITIVE_INFINITY, ...external);
    target.identities = staff.accounts.map(({ id, tied }) => ({
      id,
      email: null,
      ldapDn: isDn ? tied : null,
      accounts: isDn ? [] : [{ provider: 'idp', uid: tied }],
    }));
    const description = await target.describe();
    const entries = staff.known.map(({ userId, entry }) => [userId, entry]);
    const note = { kind: 'note', operation: 'directory.entries', target: description };
    const log = {
      async *entries() {
        yield { ...note, data: { directory: 'staff', entries } } as unknown as Entry;
      },
    };
    return await askDirectory({ directory, target, description, log, now: () => NOW });
  };
}

/** What became of the users in all answers of a source. */
class Figures {
  answers = 0;
  /** Answers that ended with an error. */
  ended = 0;
  /** Active users, of whom none is offboarded. */
  active = 0;
  offboarded = 0;
  doubtful = 0;
  /** Users who are taken for another one with their name. */
  mistaken = 0;

  /** Counts an answer. */
  add(staff: ChangingStaff, round: Round, { gone, doubtful }: DirectoryAnswer): void {
    for (const account of staff.accounts) {
      const isIn = (some: readonly { readonly id: number }[]) => some.some(({ id }) => id === account.id);
      const said = { isGone: isIn(gone), isDoubtful: isIn(doubtful) };
      this.offboarded += Number(said.isGone);
      this.doubtful += Number(said.isDoubtful);
      const { isThere, isMistaken, isCertain } = staff.truthOf(account);
      this.mistaken += Number(isMistaken);
      if (isMistaken) continue;
      this.active += Number(isThere);
      const told = { account, isThere, ...said };
      expect(told).toMatchObject(isThere ? { isGone: false } : { isDoubtful: !said.isGone });
      if (isCertain && isHonest(round)) expect(told).toMatchObject({ isGone: !isThere });
    }
  }
}

const HONEST: Round = {
  ...{ changes: [], cut: 'none', keep: 1, total: 'all', paging: 'no fault', replies: 'no fault' },
};

const isHonest = ({ cut, total, paging, replies }: Round) =>
  cut === 'none' && total !== 'page' && paging === 'no fault' && replies === 'no fault';

const SOURCES = Object.entries({ ...PROVIDERS, ...LDAP_DIRECTORIES });

describe.each(SOURCES)('%s', (name, source) => {
  test('offboards no one who is active, and misses no one who left without a word', async () => {
    const ask = await asking(source);
    const figures = new Figures();
    const property = fc.asyncProperty(courses, async ({ tie, size, isKnown, rounds }) => {
      const staff = new ChangingStaff(source, source.ties[tie % source.ties.length] as Tie, size);
      if (isKnown) staff.learn((await ask(staff, HONEST)).learned);
      for (const round of rounds) {
        staff.change(round);
        figures.answers += 1;
        try {
          const { answer, learned } = await ask(staff, round);
          figures.add(staff, round, answer);
          staff.learn(learned);
        } catch (error) {
          if (!(error instanceof TokenctlError) || (isHonest(round) && staff.isFamiliar)) throw error;
          figures.ended += 1;
        }
      }
    });
    // Each source has other courses.
    const seed = SEED + SOURCES.findIndex(([each]) => each === name);
    await fc.assert(property, { numRuns: runs(RUNS), seed });
    if (inject('longTests')) process.stderr.write(`${name}: ${JSON.stringify(figures)}\n`);
    expect(Object.values(figures)).not.toContain(0);
  });
});

describe.each(kinds(SOURCES))('in the table of cases, by %s', (_, source) => {
  /** What becomes of one of three users. */
  async function verdictOn(changes: Parameters<ChangingStaff['changeOne']>[0], tie: Tie, isKnown: boolean) {
    const ask = await asking(source);
    const staff = new ChangingStaff(source, tie, 3);
    if (isKnown) staff.learn((await ask(staff, HONEST)).learned);
    staff.changeOne(changes);
    const { gone, doubtful, present } = (await ask(staff, HONEST)).answer;
    expect({ present, others: gone.length + doubtful.length }).toEqual(
      present === 3 ? { present: 3, others: 0 } : { present: 2, others: 1 },
    );
    return present === 3 ? 'stays' : gone.length === 1 ? 'offboarded' : 'in doubt';
  }

  const isOfGroup = (changes: readonly string[]) => changes.some((each) => each.includes('group'));
  const cases = CASES.filter(([changes]) => source.hasGroup || !isOfGroup(changes));
  test.each(cases)('%j', async (changes, byId, byEntry, byName) => {
    for (const tie of source.ties) {
      expect([tie.name, await verdictOn(changes, tie, true)]).toEqual([tie.name, tie.isId ? byId : byEntry]);
      expect([tie.name, await verdictOn(changes, tie, false)]).toEqual([tie.name, tie.isId ? byId : byName]);
    }
  });
});

test('an answer counts only where the same question finds a user of the list', async () => {
  const users = new DirectoryUsers();
  users.add({ id: 'a', logins: ['a'], emails: ['a@example.org'], disabled: null });
  // The last of the list has no address to try the question with.
  users.add({ id: 'b', logins: ['b'], emails: [], disabled: null });
  const carol = { id: 3, username: 'carol', basis: 'email address', evidence: 'not in the list' };
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
    doubtful: [
      { why: expect.stringContaining('the directory lists email address a@example.org, but does not find') },
    ],
  });
  expect(await verdict('dn')).toMatchObject({
    gone: [],
    doubtful: [{ why: expect.stringContaining('no one in the list has a value of the kind') }],
  });
});

test('the state of a user is evidence only if the user has the value that is asked for', async () => {
  const users = new DirectoryUsers();
  const alice = { id: 'a', logins: ['alice'], emails: [], disabled: null };
  const dave = {
    ...{ id: 'd', logins: ['dave'], emails: [] },
    disabled: { attribute: 'active', value: 'false', since: null },
  };
  users.add(alice);
  const asked = async (value: string) => {
    const { gone, doubtful } = await confirmAbsence(
      { gone: [{ id: 3, username: value, basis: 'account', evidence: 'not in the list' }], doubtful: [] },
      {
        ...{ name: 'staff', users, before: new Set() },
        unproven: new Map([[3, { isMissing: true, asks: [{ kind: 'login', value, isStrong: true }] }]]),
        // A server that finds the nearest name.
        lookUp: async (questions) =>
          questions.map((each) => ({ found: [each.value === 'alice' ? alice : dave] })),
      },
    );
    return [...gone.map(({ evidence }) => evidence), ...doubtful.map(({ why }) => why)];
  };
  expect(await asked('Dave')).toEqual([
    'not in the list, but when asked for the login name Dave: active is false',
  ]);
  expect(await asked('david')).toEqual([
    'not in the list, but when asked for the login name david: user dave (d)',
  ]);
});
