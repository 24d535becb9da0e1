import type { SearchEntry } from 'ldapts';
import { describe, expect, test } from 'vitest';
import { disabledBy, LdapAttributes } from '../../../src/directories/ldap-disabled.ts';

const NOW = new Date('2026-06-15T12:00:00Z');

/** What an attribute of an entry says of its account. */
function said(type: string, value: string) {
  const attributes = [{ type, parsedBuffers: [Buffer.from(value)] }];
  const disabled = disabledBy('uid=a', new LdapAttributes({ attributes } as unknown as SearchEntry), NOW);
  return disabled && { value: disabled.value, since: disabled.since };
}

describe('an account is disabled', () => {
  test.each([
    ['eDirectory', 'loginDisabled', 'TRUE', null],
    ['eDirectory, expired', 'loginExpirationTime', '20260101000000Z', '2026-01-01T00:00:00.000Z'],
    ['FreeIPA, expired', 'krbPrincipalExpiration', '20260615115959Z', '2026-06-15T11:59:59.000Z'],
    ['slapo-ppolicy, ended', 'pwdEndTime', '20260615115959Z', '2026-06-15T11:59:59.000Z'],
    ['a time in another zone', 'pwdEndTime', '202606151300+0200', '2026-06-15T11:00:00.000Z'],
    ['a time with a fraction, without minutes', 'pwdEndTime', '2026061511,5Z', '2026-06-15T11:30:00.000Z'],
    ['389 Directory Server', 'nsAccountLock', 'true', null],
  ])('by %s', (_, type, value, since) => {
    expect(said(type, value)).toEqual({ value, since });
  });

  test.each([
    ['eDirectory', 'loginDisabled', 'FALSE'],
    ['a time to come', 'krbPrincipalExpiration', '20260615120001Z'],
    ['the time by which Kerberos says never', 'krbPrincipalExpiration', '19700101000000Z'],
    ['a lock that may pass', 'pwdAccountLockedTime', '20261125110000Z'],
    ['never', 'shadowExpire', '-1'],
    ['an ordinary account', 'userAccountControl', '512'],
    ['never in Active Directory', 'accountExpires', '9223372036854775807'],
    ['a start', 'pwdStartTime', '20260101000000Z'],
  ])('not by %s', (_, type, value) => {
    expect(said(type, value)).toBeNull();
  });
  test.each([
    ['loginDisabled', 'yes'],
    ['nsAccountLock', '1'],
    ['userAccountControl', '0x202'],
    ['accountExpires', 'soon'],
    ['shadowExpire', ''],
    ['pwdAccountLockedTime', 'locked'],
    ['pwdEndTime', '20261301000000Z'],
    ['krbPrincipalExpiration', '2026-06-15'],
    ['loginExpirationTime', '20260615'],
  ])('or no one knows: %s "%s" ends the run', (type, value) => {
    expect(() => said(type, value)).toThrow(`${type} of uid=a has an unexpected format`);
  });
});
