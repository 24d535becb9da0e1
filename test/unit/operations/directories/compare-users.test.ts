import { describe, expect, test } from 'vitest';
import { type DirectoryUser, DirectoryUsers } from '../../../../src/domain/directory-users.ts';
import type { User } from '../../../../src/domain/token.ts';
import { compareUsers } from '../../../../src/operations/directories/compare-users.ts';
import type { MatchRules } from '../../../../src/operations/ports/directory.ts';
import type { UserIdentities } from '../../../../src/operations/ports/target-parts.ts';

const RULES: MatchRules = {
  accounts: [],
  loginName: '{username}',
  byEmail: false,
  unmatched: false,
  except: [],
  stopBelowPercent: 10,
  stopAbovePercent: 10,
};
const OFF = { attribute: 'active', value: 'false', since: null };

function user(username: string, fields: Partial<User> & Partial<Omit<UserIdentities, 'id'>> = {}) {
  const { email = null, ldapDn = null, accounts = [], ...rest } = fields;
  const id = username.length;
  const base = { id, username, isSuperuser: false, isSystemAuditor: false, isActive: true, lastLogin: null };
  return {
    user: { ...base, externalAccount: 'social', ...rest },
    identities: { id, email, ldapDn, accounts },
  };
}

function entry(id: string, fields: Partial<DirectoryUser> = {}): DirectoryUser {
  return { id, logins: [id], emails: [`${id}@example.org`], disabled: null, ...fields };
}

/** The users of a directory. */
function listed(entries: readonly DirectoryUser[]): DirectoryUsers {
  const users = new DirectoryUsers();
  for (const each of entries) users.add(each);
  return users;
}

/** The entries that earlier answers had, as they are found in this one. */
function earlier(users: DirectoryUsers, entries: ReadonlyMap<number, string> | undefined) {
  return entries && new Map([...entries].map(([user, id]) => [user, users.find('id', id)[0] ?? id]));
}

/** The verdict on the first user. */
async function verdict(
  of: ReturnType<typeof user>,
  directory: readonly DirectoryUser[],
  rules: Partial<MatchRules> = {},
  others: readonly ReturnType<typeof user>[] = [],
  entries?: ReadonlyMap<number, string>,
) {
  const merged = { ...RULES, ...rules };
  const users = listed(directory);
  const { gone, doubtful, present, kept } = await compareUsers([of, ...others], {
    directory: users,
    rules: merged,
    own: 99,
    entries: earlier(users, entries),
  });
  const [left] = gone.filter(({ id }) => id === of.user.id);
  const [doubt] = doubtful.filter(({ id }) => id === of.user.id);
  if (left !== undefined) return `left: ${left.evidence} (${left.basis})`;
  if (doubt !== undefined) return `doubt: ${doubt.why}`;
  return present > kept ? 'there' : 'kept';
}

const oidc = (uid: string) => ({ accounts: [{ provider: 'oidc', uid }] });

describe('a user of the controller', () => {
  test.each([
    [
      'by the account id, whatever the name',
      user('ally', oidc('00u1')),
      [entry('00u1', { logins: ['alice'], disabled: OFF })],
      {},
      'left: active is false (account 00u1 of oidc)',
    ],
    [
      'whose account id someone else has as a name',
      user('x', oidc('00u1')),
      [entry('00u1', { logins: ['alice'], disabled: OFF }), entry('2', { logins: ['00u1'] })],
      {},
      'doubt: active is false, but user 2 has the account ID 00u1 as a name',
    ],
    [
      'who is there by the account id, whatever name someone disabled has',
      user('x', oidc('00u1')),
      [entry('00u1'), entry('2', { logins: ['00u1'], disabled: OFF })],
      {},
      'there',
    ],
    [
      'who has another account that may sign in',
      user('x', { accounts: [...oidc('00u1').accounts, ...oidc('00u2').accounts] }),
      [entry('00u1', { disabled: OFF }), entry('00u2')],
      { accounts: ['oidc'] },
      'there',
    ],
    [
      'whose name, which is the account id, someone else has as an address',
      user('x', oidc('alice@x.org')),
      [
        entry('1', { logins: ['alice@x.org'], disabled: OFF }),
        entry('2', { logins: ['bob'], emails: ['alice@x.org'] }),
      ],
      {},
      'doubt: active is false, but user 2 has the account ID alice@x.org as a name',
    ],
    [
      'by the login name, and not by one that looks like it',
      user('kim'),
      [entry('1', { logins: ['kim'], disabled: OFF }), entry('2', { logins: ['\u212aim'] })],
      {},
      'left: active is false (login name kim)',
    ],
    [
      'whose look-alike is disabled',
      user('kim'),
      [entry('1', { logins: ['\u212aim'], disabled: OFF })],
      {},
      'doubt: matches no user in the directory',
    ],
    [
      'who is there with accents written in another way, where a missing user is gone',
      user('josé'.normalize('NFC')),
      [entry('1', { logins: ['José'.normalize('NFD')] })],
      { unmatched: true },
      'there',
    ],
    [
      'by the name that SAML keeps as the id',
      user('x', { accounts: [{ provider: 'saml', uid: 'idp:Alice' }] }),
      [entry('7', { logins: ['alice'], disabled: OFF })],
      {},
      'left: active is false (account idp:Alice of saml)',
    ],
    [
      'by the subject after the issuer, as the bundled service keeps it',
      user('x', { accounts: [{ provider: 'oidc', uid: 'https://idp.example.org:8443/realms/staff|7' }] }),
      [entry('7', { disabled: OFF })],
      {},
      'left: active is false (account https://idp.example.org:8443/realms/staff|7 of oidc)',
    ],
    [
      'by the LDAP name in any letter case',
      user('x', { ldapDn: 'UID=a,DC=x' }),
      [entry('7', { dn: 'uid=a,dc=x', disabled: OFF })],
      {},
      'left: active of uid=a,dc=x is false (LDAP name UID=a,DC=x)',
    ],
    [
      'by the login name',
      user('Alice'),
      [entry('alice', { disabled: { ...OFF, since: '2026-11-01' } })],
      {},
      'left: active is false since 2026-11-01 (login name Alice)',
    ],
    [
      'by the login name with a domain',
      user('alice'),
      [entry('alice@x.org', { disabled: OFF })],
      { loginName: '{username}@x.org' },
      'left: active is false (login name alice@x.org)',
    ],
    ['who is there', user('alice'), [entry('alice')], {}, 'there'],
    [
      'who is there and has an old account',
      user('alice'),
      [entry('a', { logins: ['alice'], disabled: OFF }), entry('b', { logins: ['alice'] })],
      {},
      'there',
    ],
    [
      'who matches two disabled ones',
      user('alice'),
      [entry('a', { logins: ['alice'], disabled: OFF }), entry('b', { logins: ['alice'], disabled: OFF })],
      {},
      'doubt: matches 2 disabled users by login name alice',
    ],
    ['who matches nobody', user('alice'), [entry('bob')], {}, 'doubt: matches no user in the directory'],
    [
      'who matches no one, if that counts',
      user('alice'),
      [entry('bob')],
      { unmatched: true },
      'left: not in the list (external user without a match)',
    ],
    [
      'with an account that the directory lacks',
      user('alice', oidc('00u9')),
      [entry('alice')],
      { accounts: ['oidc'] },
      'doubt: account 00u9 of oidc is not in the directory: deleted, or renamed before its entry was known',
    ],
    [
      'the same, if that counts',
      user('alice', oidc('00u9')),
      [entry('alice')],
      { accounts: ['oidc'], unmatched: true },
      'left: not in the list (account 00u9 of oidc)',
    ],
    [
      'with an account of another provider',
      user('alice', { accounts: [{ provider: 'github', uid: '1' }] }),
      [entry('alice', { disabled: OFF })],
      { accounts: ['oidc'] },
      'kept',
    ],
    [
      'by email address only',
      user('x', { email: 'alice@example.org' }),
      [entry('alice', { disabled: OFF })],
      {},
      'doubt: matches by email address alice@example.org only',
    ],
    [
      'by email address, if that counts',
      user('x', { email: 'ALICE@example.org' }),
      [entry('alice', { disabled: OFF })],
      { byEmail: true },
      'left: active is false (email address ALICE@example.org)',
    ],
    [
      'with a missing account and the address of another',
      user('x', { ...oidc('00u9'), email: 'alice@example.org' }),
      [entry('alice')],
      { accounts: ['oidc'] },
      'doubt: matches by email address alice@example.org only',
    ],
    [
      'who is local',
      user('alice', { externalAccount: null }),
      [entry('alice', { disabled: OFF })],
      {},
      'kept',
    ],
    [
      'who is an exception',
      user('svc-ci'),
      [entry('svc-ci', { disabled: OFF })],
      { except: ['svc-*'] },
      'kept',
    ],
  ])('%s', async (_, of, directory, rules, expected) => {
    expect(await verdict(of, directory, rules)).toBe(expected);
  });

  test('with a missing account has left only where the others of its provider have ids', async () => {
    const missing = user('alice', oidc('00u9'));
    const directory = [entry('00u1', { logins: ['bob'] }), entry('00u2', { logins: ['carol'] })];
    const besides = (...uids: readonly string[]) =>
      verdict(
        missing,
        directory,
        { accounts: ['oidc', 'saml'] },
        uids.map((uid) => user('b', { accounts: [{ provider: uid === 'idp:00u1' ? 'saml' : 'oidc', uid }] })),
      );
    expect(await besides('00u1', 'https://idp.example.org|00u2')).toBe(
      'left: not in the list (account 00u9 of oidc)',
    );
    const doubt =
      'doubt: account 00u9 of oidc is not in the directory: deleted, or renamed before its entry was known';
    expect(await besides('00u1', 'carol')).toBe(doubt);
    expect(await besides('carol@example.org')).toBe(doubt);
    expect(await besides('idp:00u1')).toBe(doubt);
  });

  test('who is the last active superuser stays', async () => {
    const alice = user('alice', { isSuperuser: true });
    const directory = [entry('alice', { disabled: OFF })];
    expect(await verdict(alice, directory)).toMatch(/^doubt: active is false, but no other active superuser/);
    const retired = user('root', { isSuperuser: true, isActive: false, externalAccount: null });
    expect(await verdict(alice, directory, {}, [retired])).toMatch(/^doubt/);
    const admin = user('administrator', { isSuperuser: true, externalAccount: null });
    expect(await verdict(alice, directory, {}, [admin])).toMatch(/^left/);
  });

  test('who is the caller stays', async () => {
    const caller = user('a'.repeat(99));
    expect(await verdict(caller, [entry(caller.user.username, { disabled: OFF })])).toBe('kept');
  });
});

describe('a user whose LDAP directory has bases', () => {
  const bases = ['ou=people,dc=x'];
  const ldap = (name: string, dn: string | null = `uid=${name},ou=people,dc=x`) =>
    user(name, { externalAccount: 'ldap', ldapDn: dn });
  const at = (id: string, uid: string, fields: Partial<DirectoryUser> = {}) =>
    entry(id, { dn: `uid=${uid},ou=people,dc=x`, logins: [uid], ...fields });
  const NAME = 'LDAP name uid=ann,ou=people,dc=x';

  test.each<[string, ReturnType<typeof user>, readonly DirectoryUser[], Partial<MatchRules>, string]>([
    ['by a name in another form', ldap('ann', 'UID=Ann , OU=people,DC=x'), [at('1', 'ann')], {}, 'there'],
    [
      'whose entry has another name',
      ldap('ann'),
      [at('1', 'bob')],
      {},
      `doubt: ${NAME} is not in the directory: deleted, or renamed before its entry was known`,
    ],
    [
      'the same, if that counts',
      ldap('ann'),
      [at('1', 'bob')],
      { unmatched: true },
      `left: not in the list (${NAME})`,
    ],
    [
      'of another directory',
      ldap('ann', 'uid=ann,ou=people,dc=y'),
      [at('1', 'ann', { disabled: OFF })],
      {},
      'kept',
    ],
    [
      'with a social account of the same name',
      user('ann', oidc('1')),
      [at('1', 'ann', { disabled: OFF })],
      {},
      'kept',
    ],
    [
      'with an account of a named authenticator that was renamed there',
      user('ann', { accounts: [{ provider: 'corp', uid: 'ann' }] }),
      [at('1', 'bob')],
      { accounts: ['corp'] },
      'doubt: account ann of corp is not in the directory: deleted, or renamed before its entry was known',
    ],
    [
      'moved and disabled',
      ldap('ann'),
      [entry('1', { dn: 'uid=ann,ou=left,dc=x', logins: ['ann'], disabled: OFF })],
      {},
      'left: active of uid=ann,ou=left,dc=x is false (login name ann)',
    ],
    [
      'disabled, while another entry has the login name',
      ldap('ann'),
      [at('1', 'ann', { logins: ['old'], disabled: OFF }), at('2', 'new', { logins: ['ann'] })],
      {},
      'doubt: active of uid=ann,ou=people,dc=x is false, but uid=new,ou=people,dc=x has the login name',
    ],
  ])('%s', async (_, of, directory, rules, expected) => {
    expect(await verdict(of, directory, { bases, ...rules })).toBe(expected);
  });

  test('with an LDAP name is not compared with a provider that has accounts', async () => {
    expect(await verdict(ldap('ann'), [at('1', 'ann', { disabled: OFF })], { accounts: ['oidc'] })).toBe(
      'kept',
    );
  });

  test.each<[string, readonly DirectoryUser[], string]>([
    ['renamed', [at('1', 'new')], 'there'],
    [
      'renamed and disabled',
      [at('1', 'new', { disabled: OFF })],
      'left: active of uid=new,ou=people,dc=x is false (entry 1, known from an earlier response)',
    ],
    [
      'renamed and disabled, with the name at another',
      [at('1', 'new', { disabled: OFF }), at('2', 'ann')],
      `doubt: active of uid=new,ou=people,dc=x is false, but ${NAME} now belongs to uid=ann,ou=people,dc=x`,
    ],
    ['renamed, with the name at another', [at('1', 'new'), at('2', 'ann', { disabled: OFF })], 'there'],
    ['deleted', [at('2', 'bob')], 'left: not in the list (entry 1, known from an earlier response)'],
    [
      'deleted, with the name at another',
      [at('2', 'ann')],
      `doubt: matches a different entry than before by ${NAME}: 1 is not in the directory any more`,
    ],
    [
      'deleted, with the email address at another',
      [at('2', 'bob', { emails: ['ann@example.org'] })],
      'doubt: matches a different entry than before by email address ann@example.org: 1 is not in the directory any more',
    ],
  ])('and whose known entry was %s', async (_, directory, expected) => {
    const ann = user('ann', {
      externalAccount: 'ldap',
      ldapDn: 'uid=ann,ou=people,dc=x',
      email: 'ann@example.org',
    });
    expect(await verdict(ann, directory, { bases }, [], new Map([[ann.user.id, '1']]))).toBe(expected);
  });

  test('is known from then on by the entry that matches alone', async () => {
    const learned = async (entries: readonly DirectoryUser[], known?: ReadonlyMap<number, string>) => {
      const directory = listed(entries);
      const options = {
        directory,
        rules: { ...RULES, bases },
        own: null,
        entries: earlier(directory, known),
      };
      return [...(await compareUsers([ldap('ann')], options)).learned];
    };
    expect(await learned([at('1', 'ann')])).toEqual([{ userId: 3, entry: '1' }]);
    expect(await learned([at('2', 'ann')], new Map([[3, '1']]))).toEqual([]);
    expect(await learned([entry('1', { logins: ['ann'] }), entry('2', { logins: ['ann'] })])).toEqual([]);
  });
});

// Comparing each with each would take longer than a test may.
test('compares 100,000 users', { tags: ['long'] }, async () => {
  const many = Array.from({ length: 100_000 }, (_, index) => index);
  const users = many.map((index) => ({
    ...user(`user${index}`),
    identities: { id: index, email: `user${index}@example.org`, ldapDn: null, accounts: [] },
  }));
  const directory = listed(
    many.map((index) => entry(`user${index}`, { disabled: index % 1000 === 0 ? OFF : null })),
  );
  expect((await compareUsers(users, { directory, rules: RULES, own: null })).gone).toHaveLength(100);
});
