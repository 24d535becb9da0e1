import { expect, test } from 'vitest';
import { type DirectoryUser, DirectoryUsers } from '../../../src/domain/directory-users.ts';

const OFF = { attribute: 'active', value: 'false', since: null };

function user(id: string, fields: Partial<DirectoryUser> = {}): DirectoryUser {
  return { id, logins: [], emails: [], disabled: null, ...fields };
}

function listed(...entries: readonly DirectoryUser[]): DirectoryUsers {
  const users = new DirectoryUsers();
  for (const each of entries) users.add(each);
  return users;
}

test('returns what was added', () => {
  const entries = [
    user('1', {
      dn: 'uid=Zoë,dc=x',
      logins: ['Zoë', 'ζωή'],
      emails: ['zoe@x.org', 'Z@X.org'],
      disabled: OFF,
    }),
    user('', { logins: ['nobody'] }),
    user('2'),
  ];
  expect([...listed(...entries)]).toEqual(entries);
});

test('finds by names and addresses in any letter case, by ids in the same only', () => {
  const users = listed(
    user('a', { dn: 'UID=Ann\\2c B, DC=x', logins: ['Ann'], emails: ['ann@x.org', 'ANN@x.org'] }),
    user('A', { dn: 'uid=a,dc=x', logins: ['ann'] }),
  );
  expect(users.find('id', 'a')).toEqual([0]);
  expect(users.find('id', 'A')).toEqual([1]);
  expect(users.find('dn', 'uid=ann\\, b,dc=X')).toEqual([0]);
  expect(users.find('login', 'ANN')).toEqual([0, 1]);
  expect(users.find('email', 'Ann@X.org')).toEqual([0]);
  // A value of another kind is not one of this kind.
  expect(users.find('email', 'ann')).toEqual([]);
  expect(users.find('login', 'bob')).toEqual([]);
});

test('finds by names and addresses with accents as one character or as two', () => {
  const [composed, decomposed] = ['José@x.org'.normalize('NFC'), 'JOSÉ@x.org'.normalize('NFD')];
  for (const [there, here] of [
    [composed, decomposed],
    [decomposed, composed],
  ] as const) {
    const users = listed(user('1', { logins: [there], emails: [there] }));
    expect([users.find('login', here), users.find('email', here)]).toEqual([[0], [0]]);
  }
});

test('takes no sign for the letter that it looks like', () => {
  // Kelvin, ohm, ångström, a letter of another script, and one of another width.
  const pairs = ['\u212aim kim', '\u2126mega ωmega', '\u212bsa åsa', 'аnn ann', 'ａnn ann'];
  for (const [sign = '', letter = ''] of pairs.map((pair) => pair.split(' '))) {
    const users = listed(user('1', { logins: [sign], emails: [`${sign}@x.org`] }));
    expect([users.find('login', sign), users.find('login', letter)]).toEqual([[0], []]);
    expect(users.find('email', `${letter}@x.org`)).toEqual([]);
  }
});

test('keeps the first of two users with the same id', () => {
  const users = listed(user('1', { logins: ['ann'] }));
  expect(users.add(user('1', { logins: ['bob'], disabled: OFF }))).toBe(false);
  expect([...users]).toEqual([user('1', { logins: ['ann'] })]);
  expect(users.disabledCount).toBe(0);
});

test('keeps what disabled a user first', () => {
  const users = listed(user('1', { disabled: OFF }), user('2'));
  for (const number of [0, 1]) users.disable(number, { ...OFF, attribute: 'membership' });
  expect(users.disabledOf(0)).toEqual(OFF);
  expect(users.disabledOf(1)).toMatchObject({ attribute: 'membership' });
  expect(users.disabledCount).toBe(2);
});

// Each in a block of its own, and all with the same address: neither may cost more for each further user.
test('finds each of 50,000 users, who share an address', { tags: ['long'] }, () => {
  const users = new DirectoryUsers();
  for (let index = 0; index < 50_000; index += 1)
    users.add(
      user(`id-${index}`, { dn: `uid=u${index},dc=x`, logins: [`u${index}`], emails: ['all@x.org'] }),
    );
  for (const index of [0, 1, 16_383, 16_384, 49_999]) {
    expect(users.find('login', `U${index}`)).toEqual([index]);
    expect(users.dnOf(index)).toBe(`uid=u${index},dc=x`);
    expect(users.idOf(index)).toBe(`id-${index}`);
  }
  expect(users.find('email', 'all@x.org')).toHaveLength(50_000);
});

test('refuses a user with more names than any directory has', () => {
  const logins = Array.from({ length: 2_000 }, (_, index) => `${index}${'x'.repeat(200)}`);
  expect(() => listed(user('1', { logins }))).toThrow(
    'lists a user whose names and addresses are longer than 1 MB',
  );
});
