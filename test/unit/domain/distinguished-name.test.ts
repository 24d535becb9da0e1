import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isBelow, normalizedName } from '../../../src/domain/distinguished-name.ts';

describe('a distinguished name', () => {
  test.each([
    ['uid=alice,ou=people,dc=example,dc=org', ' UID = Alice , OU=People,DC=Example,  dc=ORG '],
    ['cn=Doe\\, Jane,dc=x', 'CN=doe\\2C  jane,DC=X'],
    ['cn=a+sn=b,dc=x', 'SN=B + CN=A,DC=X'],
    ['2.5.4.3=a,dc=x', 'cn=a;OID.0.9.2342.19200300.100.1.25=x'],
    ['cn=Lučić,dc=x', 'cn=Lu\\C4\\8Di\\C4\\87,dc=x'],
    ['cn=caf\u00e9,dc=x', 'cn=cafe\u0301,dc=x'],
    ['cn=a\\=b,dc=x', 'cn=a=b,dc=x'],
    ['cn=x\\ ,dc=x', 'cn=x,dc=x'],
  ])('%s is the same as %s', (one, other) => {
    expect(normalizedName(one)).not.toBeNull();
    expect(normalizedName(other)).toBe(normalizedName(one));
  });

  test.each([
    ['cn=a,dc=x', 'cn=b,dc=x'],
    ['cn=a\\,dc=x', 'cn=a,dc=x'],
    ['cn=a\\+sn=b,dc=x', 'cn=a+sn=b,dc=x'],
    ['cn=ab,dc=x', 'cn=a b,dc=x'],
  ])('%s is not the same as %s', (one, other) => {
    expect(normalizedName(other)).not.toBe(normalizedName(one));
  });

  test.each(['alice', 'cn=a,', 'cn=a\\', 'cn=a\\zz', '=a', 'c n=a', 'cn=a,,dc=x'])('%s is none', (text) => {
    expect(normalizedName(text)).toBeNull();
  });

  test('with an escaped comma is not below what stands behind it', () => {
    const [base, outside] = [normalizedName('dc=org') ?? '', normalizedName('cn=x\\,dc=org') ?? ''];
    expect(isBelow(outside, base)).toBe(false);
    expect(isBelow(normalizedName('cn=x, DC=org') ?? '', base)).toBe(true);
    expect(isBelow(base, base)).toBe(true);
    expect(isBelow(base, '')).toBe(true);
  });

  test('of any value is the same with every character escaped', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (value) => {
        const plain = value.replace(/[\\,+;="#<>]/g, (character) => `\\${character}`);
        const hex = [...Buffer.from(value)].map((byte) => `\\${byte.toString(16).padStart(2, '0')}`).join('');
        expect(normalizedName(`cn=${plain},dc=x`)).toBe(normalizedName(`CN=${hex} , DC=X`));
      }),
    );
  });
});
