import { readFileSync } from 'node:fs';
import { Secret } from '@tokenctl/common/secret.ts';
import { Attribute, Change } from 'ldapts';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { LdapConnection, type LdapServer } from '../../../src/directories/ldap-connection.ts';
import {
  findLdapUsers,
  type LdapSource,
  readFilter,
  readLdapUsers,
} from '../../../src/directories/ldap-users.ts';
import type { DirectoryUser, FoundBy } from '../../../src/domain/directory-users.ts';
import {
  GROUPS,
  LIMITED,
  ldif,
  NO_SLAPD,
  OLD,
  PEOPLE,
  person,
  READER,
  RESET,
  type Slapd,
  SUFFIX,
  startSlapd,
} from '../../support/slapd.ts';

const NOW = new Date('2026-11-25T12:00:00Z');
const many = inject('directoryEntries');

let slapd: Slapd;

const SOURCE: Omit<LdapSource, 'filter'> = {
  name: 'The directory staff',
  isActiveDirectory: false,
  bases: [PEOPLE],
  idAttribute: 'entryUUID',
  loginAttributes: ['uid'],
  mailAttribute: 'mail',
  groups: [],
};

async function reading(
  source: Partial<LdapSource> = {},
  server: Partial<LdapServer> & { account?: typeof READER } = {},
): Promise<readonly DirectoryUser[]> {
  return await asking(source, server, async (connection, from) => [
    ...(await readLdapUsers(connection, from, NOW)),
  ]);
}

async function asking<Result>(
  source: Partial<LdapSource>,
  { account = READER, ...server }: Partial<LdapServer> & { account?: typeof READER },
  ask: (connection: LdapConnection, source: LdapSource) => Promise<Result>,
): Promise<Result> {
  const connection = await LdapConnection.open({
    name: 'The directory staff',
    url: new URL(slapd.url),
    startTls: false,
    ...server,
  });
  try {
    await connection.bind(account.dn, new Secret(account.password));
    const filter = readFilter('(objectClass=person)', 'filter');
    return await ask(connection, { ...SOURCE, filter, ...source });
  } finally {
    connection.close();
  }
}

/** Why each user who is disabled is, by login name. */
function disabled(users: readonly DirectoryUser[]): Record<string, string> {
  return Object.fromEntries(
    users.flatMap(({ logins: [login], disabled: why }) =>
      why === null
        ? []
        : [[login, `${why.attribute} ${why.value}${why.since === null ? '' : ` since ${why.since}`}`]],
    ),
  );
}

/** A user of Unix systems, who is no person: the other tests do not count it. */
const account = (uid: string, gidNumber: string, { description = uid, base = PEOPLE } = {}) =>
  ldif(`uid=${uid},${base}`, {
    objectClass: ['account', 'posixAccount'],
    uid,
    cn: uid,
    uidNumber: '1000',
    gidNumber,
    homeDirectory: `/home/${uid}`,
    description,
  });

const group = (cn: string, member: readonly string[]) =>
  ldif(`cn=${cn},${GROUPS}`, { objectClass: 'groupOfNames', cn, member });

describe.skipIf(NO_SLAPD !== null)('OpenLDAP', () => {
  beforeAll(async () => {
    const plain = Array.from({ length: many }, (_, index) => person(`u${index}`));
    const inGroups = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, index) => `uid=u${from + index},${PEOPLE}`);
    slapd = await startSlapd(
      [
        ...plain,
        person('expired', { shadowExpire: '20000' }),
        person('later', { shadowExpire: '40000' }),
        person('never', { shadowExpire: '-1' }),
        person('guest', { employeeType: 'left' }),
        ldif(`cn=Doe\\, Jane \\+ co,${PEOPLE}`, {
          objectClass: 'inetOrgPerson',
          uid: 'jane',
          cn: 'Doe, Jane + co',
          sn: 'Doe',
        }),
        // Each in the other, and a member that no longer exists.
        group('staff', [`CN=Berlin,${GROUPS}`, `cn=nobody,${SUFFIX}`, ...inGroups(0, 10)]),
        group('berlin', [`cn=staff,${GROUPS}`, `cn=core,${GROUPS}`, `CN=doe\\2c Jane \\2B co, ${PEOPLE}`]),
        group('core', inGroups(10, many)),
        ldif(`cn=posix,${GROUPS}`, {
          objectClass: 'posixGroup',
          cn: 'posix',
          gidNumber: '1',
          memberUid: ['u1', 'U2'],
        }),
        // The primary group of a user is not in memberUid (RFC 2307).
        account('anna', '5000'),
        account('ben', '4000', { description: 'anna' }),
        account('cleo', '4000', { description: 'Ben' }),
        account('dora', '4000'),
        account('emil', '6000'),
        account('outside', '6000', { base: SUFFIX }),
        ldif(`cn=primary,${GROUPS}`, {
          objectClass: 'posixGroup',
          cn: 'primary',
          gidNumber: '5000',
          memberUid: ['Ben'],
        }),
        // The primary group of a member is no group here.
        ldif(`cn=role,${GROUPS}`, {
          objectClass: 'organizationalRole',
          cn: 'role',
          roleOccupant: [`uid=dora,${PEOPLE}`, `uid=outside,${SUFFIX}`],
        }),
        group('empty', [`cn=nobody,${SUFFIX}`]),
        // The account may not read the members of groups that are called so.
        group('unread', inGroups(0, 10)),
        group('within', [`cn=unread,${GROUPS}`, ...inGroups(10, 20)]),
        ldif(`cn=unread posix,${GROUPS}`, {
          objectClass: 'posixGroup',
          cn: 'unread posix',
          gidNumber: '7000',
        }),
        group('hollow', [`cn=none,${GROUPS}`, ...inGroups(0, 10)]),
        ldif(`cn=none,${GROUPS}`, { objectClass: 'posixGroup', cn: 'none', gidNumber: '7001' }),
      ].join(''),
    );
  });
  afterAll(() => slapd.stop());

  test('lists every user page by page, with what disables them', async () => {
    const users = await reading({ disabledFilter: readFilter('(employeeType=left)', 'disabledFilter') });
    expect(users).toHaveLength(many + 5);
    expect(new Set(users.map(({ id }) => id)).size).toBe(many + 5);
    expect(users.find(({ logins: [login] }) => login === 'u7')).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      dn: `uid=u7,${PEOPLE}`,
      logins: ['u7'],
      emails: ['u7@example.org'],
      disabled: null,
    });
    expect(disabled(users)).toEqual({
      expired: 'shadowExpire 20000 since 2024-10-04T00:00:00.000Z',
      guest: 'disabledFilter true',
    });
  });

  test('who is locked for good is disabled, who is locked for a while is not', async () => {
    const lock = (uid: string, value: string) =>
      slapd.admin.modify(`uid=${uid},${PEOPLE}`, [
        new Change({
          operation: 'replace',
          modification: new Attribute({ type: 'pwdAccountLockedTime', values: [value] }),
        }),
      ]);
    await lock('u3', '000001010000Z');
    await lock('u4', '20261125110000Z');
    expect(disabled(await reading())).toMatchObject({ u3: 'pwdAccountLockedTime 000001010000Z' });
    expect(disabled(await reading())).not.toHaveProperty('u4');
  });

  test('who is in no required group, nor in one within it, is disabled', async () => {
    const out = disabled(await reading({ groups: [`cn=staff,${GROUPS}`] }));
    expect(Object.keys(out).sort()).toEqual(['expired', 'guest', 'later', 'never', 'u3']);
    expect(out['guest']).toBe('membership outside the required groups');
    const posix = await reading({ groups: [`cn=posix,${GROUPS}`] });
    expect(posix.filter((user) => user.disabled === null).map(({ logins: [login] }) => login)).toEqual([
      'u1',
      'u2',
    ]);
  });

  test('knows an empty group from one whose members it may not read', async () => {
    const users = await reading({ groups: [`cn=hollow,${GROUPS}`] });
    expect(users.filter((user) => user.disabled === null).length).toBeGreaterThan(0);
  });

  test.each([
    ['primary', ['anna', 'ben']],
    ['role', ['dora']],
  ])('counts the members of the group %s, whatever users log in with', async (cn, members) => {
    const filter = readFilter('(objectClass=posixAccount)', 'filter');
    const loginAttributes = ['description'];
    const users = await reading({ groups: [`cn=${cn},${GROUPS}`], filter, loginAttributes });
    const inside = users.filter((user) => user.disabled === null).map(({ dn }) => dn);
    expect(inside).toEqual(members.map((uid) => `uid=${uid},${PEOPLE}`));
  });

  test.each([
    [
      'a base that does not exist',
      { bases: [`ou=peple,${SUFFIX}`] },
      {},
      /noSuchObject, code 32 for ou=peple,/,
    ],
    ['a group that does not exist', { groups: [`cn=stuff,${GROUPS}`] }, {}, /cn=stuff,.* does not exist/],
    [
      'a group whose members it may not read',
      { groups: [`cn=core,${GROUPS}`, `cn=unread,${GROUPS}`] },
      {},
      /The group cn=unread,.* does not show its member, so its members would count as outside it/,
    ],
    [
      'such a group in another one',
      { groups: [`cn=within,${GROUPS}`] },
      {},
      /cn=unread,.* does not show its member,/,
    ],
    [
      'a group that may have no members at all',
      { groups: [`cn=core,${GROUPS}`, `cn=unread posix,${GROUPS}`] },
      {},
      /cn=unread posix,.* does not show its memberUid,/,
    ],
    ['a group without users', { groups: [`cn=empty,${GROUPS}`] }, {}, /No user is in a required group/],
    ['an account that may read 100 entries', {}, { account: LIMITED }, /sizeLimitExceeded, code 4/],
    ['an id that no entry has', { idAttribute: 'objectGUID' }, {}, /does not show objectGUID of uid=/],
    [
      'an id that two entries have',
      { idAttribute: 'objectClass' },
      {},
      /shows the same objectClass for two entries: uid=u0,.* and uid=u1,/,
    ],
    [
      'a wrong password',
      {},
      { account: { ...READER, password: 'wrong-hidden' } },
      /invalidCredentials, code 49/,
    ],
    ['a password that has expired', {}, { account: OLD }, /invalidCredentials, code 49/],
    ['a password that has to be changed', {}, { account: RESET }, /insufficientAccessRights, code 50/],
  ])('%s ends it', async (_, source, server, message) => {
    const error = await reading(source, server).catch((thrown: unknown) => thrown);
    expect(String(error)).toMatch(message);
    expect(String(error)).not.toMatch(/hidden/);
  });

  test('an entry below two bases is one user', async () => {
    expect(await reading({ bases: [PEOPLE, SUFFIX] })).toHaveLength(many + 5);
  });

  test('is asked for users by id, name and address, each where its list has users', async () => {
    const [first] = await reading();
    const jane = `cn=Doe\\2C Jane \\2B co, ${PEOPLE}`;
    const asked: readonly (readonly [FoundBy, string])[] = [
      ['id', first?.id ?? ''],
      ['id', '00000000-0000-0000-0000-000000000000'],
      ['id', 'no id'],
      ['login', 'U7'],
      ['login', '*'],
      ['login', 'a)(uid=*'],
      // The filter and the base of the list leave these out.
      ['login', 'anna'],
      ['dn', READER.dn],
      ['dn', jane],
      ['dn', `uid=nobody,${PEOPLE}`],
      ['dn', 'no name'],
      ['email', 'U7@Example.org'],
      ...Array.from({ length: 40 }, (_, index) => ['login', `nobody${index}`] as const),
      ['login', 'u8'],
    ];
    const questions = asked.map(([kind, value]) => ({ kind, value }));
    const answers = await asking({}, {}, (connection, source) =>
      findLdapUsers(connection, source, { asked: questions, now: NOW }),
    );
    const logins = answers.map((answer) =>
      'why' in answer ? answer.why : answer.found.flatMap((user) => user.logins).join(),
    );
    expect(logins.filter((text) => text !== '')).toEqual([
      first?.logins[0],
      'u7',
      'jane',
      expect.stringContaining('code 34 for no name'),
      'u7',
      'u8',
    ]);
    expect(answers).toHaveLength(asked.length);
  });

  test('a filter that matches nothing gives no users', async () => {
    expect(await reading({ filter: readFilter('(uid=nobody)', 'filter') })).toEqual([]);
  });

  test('connections are encrypted with a certificate of the authority that is given, or refused', async () => {
    const ca = readFileSync(slapd.ca, 'utf8');
    const secure = { url: new URL(slapd.secureUrl) };
    expect(await reading({}, { ...secure, ca })).toHaveLength(many + 5);
    expect(await reading({}, { startTls: true, ca })).toHaveLength(many + 5);
    for (const server of [
      secure,
      { startTls: true },
      { url: new URL(slapd.secureUrl.replace('localhost', '127.0.0.1')), ca },
    ])
      await expect(reading({}, server)).rejects.toMatchObject({ code: 'target_unreachable' });
    await expect(reading({}, { url: new URL('ldap://ldap.example.invalid') })).rejects.toMatchObject({
      code: 'configuration',
    });
  });
});
