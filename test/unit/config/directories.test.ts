import { expect, test } from 'vitest';
import { directoriesSchema } from '../../../src/config/directories.ts';
import { plainIssue } from '../../../src/config/setting-errors.ts';

const LDAP = {
  kind: 'ldap',
  url: 'ldaps://ldap.example.org',
  bindDn: 'cn=reader,dc=example,dc=org',
  bindPassword: { file: '/secrets/bind' },
  base: 'ou=people,dc=example,dc=org',
};

/** What is wrong with a directory, as one text; empty for a valid one. */
function problems(directory: unknown): string {
  const result = directoriesSchema.safeParse({ staff: directory }, { error: plainIssue });
  return result.success
    ? ''
    : result.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; ');
}

const KINDS = 'ldap, active-directory, scim, entra, okta, google, keycloak';

test.each([
  ['no address', { ...LDAP, url: undefined }, 'staff.url is missing'],
  [
    'the address of a web server',
    { ...LDAP, url: 'https://x' },
    'staff.url.0 must be a URL that starts with ldaps:// or ldap://',
  ],
  [
    'one wrong address of two',
    { ...LDAP, url: ['ldaps://x', 'ldaps://x/dc=y'] },
    'staff.url.1 must be a URL with only a host and a port',
  ],
  [
    'a base that is a word',
    { ...LDAP, base: 'people' },
    'staff.base.0 is not the name of an entry, such as ou=people,dc=example,dc=org',
  ],
  ['a provider without an address', { kind: 'scim', token: { file: 'x' } }, 'staff.url is missing'],
  ['no kind', { url: 'ldaps://x' }, `staff.kind is missing: it is one of: ${KINDS}`],
  ['a kind that there is not', { ...LDAP, kind: 'lpad' }, `staff.kind must be one of: ${KINDS}`],
  ['a text', 'ldaps://x', 'staff must be a mapping'],
])('%s is refused by name', (_, directory, problem) => {
  expect(problems(directory)).toBe(problem);
});

test('one address and several are the same form', () => {
  const read = (url: unknown) => directoriesSchema.parse({ staff: { ...LDAP, url } })['staff'];
  expect(read('ldaps://x')).toMatchObject({ url: ['ldaps://x'], base: [LDAP.base], loginAttribute: ['uid'] });
  expect(read(['ldaps://x', 'ldaps://y'])).toMatchObject({ url: ['ldaps://x', 'ldaps://y'] });
});
