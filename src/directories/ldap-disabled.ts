import type { SearchEntry } from 'ldapts';
import type { DirectoryUser } from '../domain/directory-users.ts';

/** What servers mark accounts with that may not sign in any more. Operational attributes are sent only where they are named. */
export const DISABLED_ATTRIBUTES = [
  'userAccountControl',
  'accountExpires',
  'nsAccountLock',
  'pwdAccountLockedTime',
  'shadowExpire',
] as const;

/** The attributes of an entry. Their names are the same in any letter case (RFC 4512 §2.5). */
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

  /** The names of all attributes, in lower case, with their options. */
  get names(): readonly string[] {
    return [...this.#values.keys()];
  }
}

export function firstText(attributes: LdapAttributes, name: string): string | null {
  return attributes.texts(name)[0] ?? null;
}

/** `ADS_UF_ACCOUNTDISABLE` of [MS-ADTS] §2.2.16. */
const ACCOUNT_DISABLE = 0x2;
/** Locked until an administrator unlocks it (draft-behera-ldap-password-policy §5.3.3). Any other time is a lock that may pass. */
const LOCKED_FOR_GOOD = /^000001010000(?:00)?Z$/;
const DAY_MS = 86_400_000;

/** The first attribute by which an account may not sign in any more at a time; null if there is none. */
export function disabledBy(attributes: LdapAttributes, now: Date): DirectoryUser['disabled'] {
  for (const attribute of DISABLED_ATTRIBUTES) {
    const value = firstText(attributes, attribute);
    if (value === null) continue;
    const since = RULES[attribute](value, now);
    if (since !== false) return { attribute, value, since };
  }
  return null;
}

/** Since when a value disables an account, null where it does not tell; false if it does not disable it. */
type Rule = (value: string, now: Date) => string | null | false;

const RULES: Readonly<Record<(typeof DISABLED_ATTRIBUTES)[number], Rule>> = {
  // A signed number of 32 bits.
  userAccountControl: (value) =>
    /^-?\d+$/.test(value) && (Number(value) & ACCOUNT_DISABLE) !== 0 ? null : false,
  accountExpires: (value, now) => passed(fileTime(value), now),
  nsAccountLock: (value) => (value.toLowerCase() === 'true' ? null : false),
  pwdAccountLockedTime: (value) => (LOCKED_FOR_GOOD.test(value) ? null : false),
  // shadow(5): days since 1970. Negative is never, and 0 is read in both ways: it is no evidence.
  shadowExpire: (value, now) =>
    passed(/^\d{1,7}$/.test(value) && Number(value) > 0 ? new Date(Number(value) * DAY_MS) : null, now),
};

function passed(end: Date | null, now: Date): string | false {
  return end !== null && end.getTime() <= now.getTime() ? end.toISOString() : false;
}

/** Steps of 100 ns since 1601; 0 and the largest number are never ([MS-ADA1] §2.2). */
function fileTime(value: string): Date | null {
  if (!/^\d{1,19}$/.test(value)) return null;
  const steps = BigInt(value);
  if (steps === 0n || steps === 0x7fff_ffff_ffff_ffffn) return null;
  const end = new Date(Number(steps / 10_000n) - 11_644_473_600_000);
  return Number.isNaN(end.getTime()) ? null : end;
}
