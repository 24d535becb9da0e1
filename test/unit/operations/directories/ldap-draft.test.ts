import { expect, test } from 'vitest';
import { directoriesSchema } from '../../../../src/config/directories.ts';
import { LDAP_SETTINGS, ldapDrafts } from '../../../../src/operations/directories/ldap-draft.ts';

const drafts = (settings: object) => ldapDrafts(new Map(Object.entries(settings)));
const OPENLDAP = {
  AUTH_LDAP_SERVER_URI: 'ldaps://ldap1.example.org:636 ldaps://ldap2.example.org',
  AUTH_LDAP_BIND_DN: 'cn=awx,dc=example,dc=org',
  AUTH_LDAP_USER_SEARCH: ['ou=people,dc=example,dc=org', 'SCOPE_SUBTREE', '(uid=%(user)s)'],
  AUTH_LDAP_USER_ATTR_MAP: { first_name: 'givenName', email: 'mail' },
  AUTH_LDAP_REQUIRE_GROUP: 'cn=awx,ou=groups,dc=example,dc=org',
};
const DOMAIN = {
  AUTH_LDAP_2_SERVER_URI: 'ldap://dc1.ad.example.org',
  AUTH_LDAP_2_START_TLS: true,
  AUTH_LDAP_2_BIND_DN: 'awx@ad.example.org',
  AUTH_LDAP_2_USER_SEARCH: [
    ['OU=A,DC=ad,DC=example,DC=org', 'SCOPE_SUBTREE', '(&(objectClass=user)(sAMAccountName=%(user)s))'],
    ['OU=B,DC=ad,DC=example,DC=org', 'SCOPE_SUBTREE', '(&(objectClass=user)(sAMAccountName=%(user)s))'],
  ],
};

test('the settings of a controller make a draft for each of its servers, which the configuration accepts', () => {
  const made = drafts({ ...OPENLDAP, ...DOMAIN });
  expect(made).toEqual([
    {
      name: 'ldap',
      kind: 'ldap',
      url: ['ldaps://ldap1.example.org:636', 'ldaps://ldap2.example.org'],
      bindDn: 'cn=awx,dc=example,dc=org',
      base: ['ou=people,dc=example,dc=org'],
      filter: '(uid=*)',
      loginAttribute: ['uid'],
      mailAttribute: 'mail',
      groups: ['cn=awx,ou=groups,dc=example,dc=org'],
    },
    {
      name: 'ldap-2',
      kind: 'active-directory',
      url: ['ldap://dc1.ad.example.org'],
      startTls: true,
      bindDn: 'awx@ad.example.org',
      base: ['OU=A,DC=ad,DC=example,DC=org', 'OU=B,DC=ad,DC=example,DC=org'],
      filter: '(&(objectClass=user)(sAMAccountName=*))',
      loginAttribute: ['sAMAccountName'],
    },
  ]);
  const section = Object.fromEntries(
    made.map(({ name, ...draft }) => [name, { ...draft, bindPassword: { file: 'x' } }]),
  );
  expect(directoriesSchema.safeParse(section).error).toBeUndefined();
});

test('a template of names says where the users are', () => {
  const { AUTH_LDAP_USER_SEARCH: _, ...rest } = OPENLDAP;
  expect(drafts({ ...rest, AUTH_LDAP_USER_DN_TEMPLATE: 'uid=%(user)s,ou=staff,dc=x' })).toMatchObject([
    { base: ['ou=staff,dc=x'], filter: '(uid=*)', loginAttribute: ['uid'] },
  ]);
});

test.each([
  ['no settings', {}],
  ['no address', { ...OPENLDAP, AUTH_LDAP_SERVER_URI: '' }],
  ['no account', { ...OPENLDAP, AUTH_LDAP_BIND_DN: '' }],
  ['no search', { ...OPENLDAP, AUTH_LDAP_USER_SEARCH: [] }],
  ['a search without a user', { ...OPENLDAP, AUTH_LDAP_USER_SEARCH: ['dc=x', 'SCOPE_SUBTREE', '(uid=*)'] }],
  [
    'searches that differ',
    {
      ...OPENLDAP,
      AUTH_LDAP_USER_SEARCH: [
        ['dc=x', 'SCOPE_SUBTREE', '(uid=%(user)s)'],
        ['dc=y', 'SCOPE_SUBTREE', '(cn=%(user)s)'],
      ],
    },
  ],
  ['values of other kinds', { ...OPENLDAP, AUTH_LDAP_SERVER_URI: 7, AUTH_LDAP_USER_SEARCH: [[7], null] }],
])('%s make none', (_, settings) => {
  expect(drafts(settings)).toEqual([]);
});

test('no password is among the settings that are read', () => {
  expect(LDAP_SETTINGS.filter((name) => /PASSWORD/.test(name))).toEqual([]);
  expect(LDAP_SETTINGS).toContain('AUTH_LDAP_5_SERVER_URI');
});
