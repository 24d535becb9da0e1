import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { SearchEntry } from 'ldapts';
import type { DirectoryUser } from '../domain/directory-users.ts';

/** The attributes that mark disabled accounts. Operational attributes are sent only if requested by name. */
export const DISABLED_ATTRIBUTES = [
  'userAccountControl',
  'accountExpires',
  'nsAccountLock',
  'pwdAccountLockedTime',
  'pwdEndTime',
  'shadowExpire',
  'krbPrincipalExpiration',
  'loginDisabled',
  'loginExpirationTime',
] as const;

/** The attributes of an entry. Their names are case-insensitive (RFC 4512 §2.5). */
export class LdapAttributes {
  readonly #values = new Map<string, readonly Buffer[]>();

  constructor(entry: SearchEntry) {
    for (const { type, parsedBuffers } of entry.attributes)
      this.#values.set(type.toLowerCase(), parsedBuffers);
  }

  bytes(name: string): readonly Buffer[] {
    return this.#values.get(name.toLowerCase()) ?? [];
  }

  texts(name: string): readonly string[] {
    return this.bytes(name).map((value) => value.toString('utf8'));
  }

  /** The names of all attributes in lowercase, with their options. */
  get names(): readonly string[] {
    return [...this.#values.keys()];
  }
}

export function firstText(attributes: LdapAttributes, name: string): string | null {
  return attributes.texts(name)[0] ?? null;
}

/** `ADS_UF_ACCOUNTDISABLE` of [MS-ADTS] §2.2.16. */
const ACCOUNT_DISABLE = 0x2;
/** Locked until an administrator unlocks it (draft-behera-ldap-password-policy §5.3.3). Other locks may expire. */
const LOCKED_FOR_GOOD = /^000001010000(?:00)?Z$/;
const DAY_MS = 86_400_000;

/** The first attribute that disables an account at this time, or null. Throws `target_misbehaved` for a bad value. */
export function disabledBy(entry: string, attributes: LdapAttributes, now: Date): DirectoryUser['disabled'] {
  let disabled: DirectoryUser['disabled'] = null;
  for (const attribute of DISABLED_ATTRIBUTES) {
    const value = firstText(attributes, attribute);
    if (value === null) continue;
    const since = RULES[attribute](value, now);
    if (since === undefined) {
      throw new TokenctlError('target_misbehaved', `${attribute} of ${entry} has an unexpected format`, {
        hint: 'Correct the value in the directory, or exclude the entry with `filter`.',
      });
    }
    if (since !== false) disabled ??= { attribute, value, since };
  }
  return disabled;
}

/** Since when a value disables an account, or null if unknown; false if it does not, undefined if invalid. */
type Rule = (value: string, now: Date) => string | null | false | undefined;

const isTrue: Rule = (value) => (/^true$/i.test(value) ? null : /^false$/i.test(value) ? false : undefined);
const isPast: Rule = (value, now) => passed(generalizedTime(value), now);

const RULES: Readonly<Record<(typeof DISABLED_ATTRIBUTES)[number], Rule>> = {
  // A signed 32-bit number.
  userAccountControl: (value) =>
    !/^-?\d+$/.test(value) ? undefined : (Number(value) & ACCOUNT_DISABLE) !== 0 ? null : false,
  accountExpires: (value, now) => passed(fileTime(value), now),
  nsAccountLock: isTrue,
  pwdAccountLockedTime: (value) =>
    LOCKED_FOR_GOOD.test(value) ? null : generalizedTime(value) === undefined ? undefined : false,
  // shadow(5): days since 1970. A negative value means never. 0 is ambiguous, so it does not count.
  shadowExpire: (value, now) => {
    if (!/^-?\d{1,10}$/.test(value)) return undefined;
    return passed(Number(value) > 0 ? new Date(Number(value) * DAY_MS) : null, now);
  },
  // slapo-ppolicy (draft-behera-ldap-password-policy §5.3.10).
  pwdEndTime: isPast,
  // FreeIPA.
  krbPrincipalExpiration: isPast,
  // eDirectory.
  loginDisabled: isTrue,
  loginExpirationTime: isPast,
};

/** RFC 4517 §3.3.13, with a fraction of the last unit. Undefined if invalid; null for 1970, Kerberos's never. */
function generalizedTime(value: string): Date | null | undefined {
  const [, date, hour, minute, second, fraction = 0, zone, sign, hours = 0, minutes = 0] =
    /^(\d{8})(\d\d)(?:(\d\d)(?:(\d\d))?)?(?:[.,](\d{1,9}))?(Z|([+-])(\d\d)(\d\d)?)$/.exec(value) ?? [];
  if (date === undefined || zone === undefined) return undefined;
  const start = Date.parse(
    `${date.replace(/(....)(..)(..)/, '$1-$2-$3')}T${hour}:${minute ?? '00'}:${second ?? '00'}Z`,
  );
  const unit = second !== undefined ? 1000 : minute !== undefined ? 60_000 : 3_600_000;
  const offset = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -60_000 : 60_000);
  const time = start + Number(`0.${fraction}`) * unit - offset;
  if (Number.isNaN(time)) return undefined;
  return time === 0 ? null : new Date(time);
}

function passed(end: Date | null | undefined, now: Date): string | false | undefined {
  if (end === undefined) return undefined;
  return end !== null && end.getTime() <= now.getTime() ? end.toISOString() : false;
}

/** Steps of 100 ns since 1601. 0 and the largest number mean never ([MS-ADA1] §2.2). */
function fileTime(value: string): Date | null | undefined {
  if (!/^\d{1,19}$/.test(value)) return undefined;
  const steps = BigInt(value);
  if (steps === 0n || steps === 0x7fff_ffff_ffff_ffffn) return null;
  const end = new Date(Number(steps / 10_000n) - 11_644_473_600_000);
  return Number.isNaN(end.getTime()) ? null : end;
}
