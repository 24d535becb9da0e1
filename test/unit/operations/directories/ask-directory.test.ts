import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { openDirectory } from '../../../../src/app/open-directory.ts';
import { directoriesSchema } from '../../../../src/config/directories.ts';
import { DirectoryUsers } from '../../../../src/domain/directory-users.ts';
import { TokenctlError } from '../../../../src/domain/errors.ts';
import type { DirectoryAnswer } from '../../../../src/operations/directories/answer-history.ts';
import { askDirectory } from '../../../../src/operations/directories/ask-directory.ts';
import { confirmAbsence } from '../../../../src/operations/directories/confirm-absence.ts';
import type { Entry } from '../../../../src/operations/ports/audit-log.ts';
import { ChangingStaff, courses, type Round } from '../../../support/directory-changes.ts';
import { PROVIDERS } from '../../../support/directory-providers.ts';
import type { Provided, Source, Tie } from '../../../support/directory-source.ts';
import { LDAP_DIRECTORIES } from '../../../support/ldap-directory.ts';
import { MemoryTarget, user } from '../../../support/memory-target.ts';
import { runs } from '../../../support/runs.ts';

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

describe.each(Object.entries({ ...PROVIDERS, ...LDAP_DIRECTORIES }))('%s', (name, source) => {
  test('offboards nobody who is active, and misses nobody who left without a word', async () => {
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
    await fc.assert(property, { numRuns: runs(RUNS), seed: SEED });
    if (inject('longTests')) process.stderr.write(`${name}: ${JSON.stringify(figures)}\n`);
    expect(Object.values(figures)).not.toContain(0);
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
