import { createPrivateKey, X509Certificate } from 'node:crypto';
import { z } from 'zod';
import type { Backend } from '../sso/backends.ts';

/** The groups that settings are read and written in. */
export type SettingCategory = 'authentication' | 'system' | Backend;

/** How one setting is described, checked and presented. */
export interface SettingDefinition {
  readonly key: string;
  readonly category: SettingCategory;
  readonly type: 'integer' | 'boolean' | 'string' | 'nested object' | 'list';
  readonly label: string;
  readonly helpText: string;
  readonly defaultValue: unknown;
  /** Must be given in a PUT, which replaces the whole category. */
  readonly required?: true;
  /** What this version of the service does not let anybody change. */
  readonly readOnly?: true;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly unit?: string;
  readonly warningText?: string;
  /** Stored encrypted, and never shown. */
  readonly secret?: true;
  /** May be null: then it is not set. */
  readonly nullable?: true;
  /** An example of a value. */
  readonly placeholder?: unknown;
  /** What a list or an object is made of: two levels of objects with any values, for a map. */
  readonly child?: 'strings' | 'map';
  /** Checks and normalises a value, where the type alone does not say how. */
  readonly check?: (value: unknown) => Checked;
}

/** The three lifetimes of OAUTH2_PROVIDER, in seconds. */
export interface OAuth2Lifetimes {
  readonly ACCESS_TOKEN_EXPIRE_SECONDS: number;
  readonly AUTHORIZATION_CODE_EXPIRE_SECONDS: number;
  readonly REFRESH_TOKEN_EXPIRE_SECONDS: number;
}

/** The keys of OAUTH2_PROVIDER, and the defaults of the controller 24.6.1. */
export const DEFAULT_LIFETIMES: OAuth2Lifetimes = {
  ACCESS_TOKEN_EXPIRE_SECONDS: 31_536_000_000,
  AUTHORIZATION_CODE_EXPIRE_SECONDS: 600,
  REFRESH_TOKEN_EXPIRE_SECONDS: 2_628_000,
};

/**
 * The longest lifetime that is accepted, in seconds: some 7,900 years, so that an expiry made today stays
 * within the four-digit years of RFC 3339. The controller accepts more and then answers 500.
 */
export const MAX_LIFETIME = 250_000_000_000;

/** What is wrong with a value: messages, or for an object messages by key. */
export type SettingProblem = readonly string[] | Readonly<Record<string, readonly string[]>>;

/** A value as it is to be stored, or what is wrong with it. */
export type Checked = { readonly value: unknown } | { readonly problem: SettingProblem };

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Whether a URL may be used without TLS: only on this machine. */
export function isLoopback(url: URL): boolean {
  return LOOPBACK.test(url.hostname);
}

/** The address of an identity provider: https, or http on this machine; without a slash at the end. */
export function checkAddress(value: unknown): Checked {
  const checked = checkIssuer(value);
  return 'value' in checked ? { value: String(checked.value).replace(/\/+$/, '') } : checked;
}

/** The same, letter by letter: an issuer with a slash at its end is another one than without. */
export function checkIssuer(value: unknown): Checked {
  if (typeof value !== 'string' || !URL.canParse(value)) return { problem: ['Enter a valid URL.'] };
  const url = new URL(value);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    return { problem: ['A URL without user name, query and fragment is wanted.'] };
  }
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url))) {
    return { value };
  }
  return { problem: ['The URL must begin with https://.'] };
}

/** An identifier of this service at a provider, or a name there: a line of text. */
export function checkLine(value: unknown): Checked {
  if (typeof value !== 'string') return { problem: ['Not a valid string.'] };
  if (/\p{Cc}/u.test(value)) return { problem: ['Control characters are not allowed.'] };
  return value.length > 1024
    ? { problem: ['Ensure this field has no more than 1024 characters.'] }
    : { value: value.trim() };
}

/** A list of names that are compared without regard to case. */
export function checkNames(value: unknown): Checked {
  const parsed = z.array(z.string().trim().toLowerCase().min(1).max(253)).max(1000).safeParse(value);
  return parsed.success ? { value: parsed.data } : { problem: ['A list of names is wanted.'] };
}

/** What a schema accepts; its complaints name the place. `null` is no map at all. */
export function checkedBy(schema: z.ZodType): (value: unknown) => Checked {
  return (value) => {
    const parsed = schema.safeParse(value);
    if (parsed.success) return { value: parsed.data };
    return {
      problem: parsed.error.issues.map(({ path, message }) => {
        return path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`;
      }),
    };
  };
}

/** A certificate in PEM, or its base64 alone; empty for none. */
export function checkCertificate(value: unknown): Checked {
  if (value === '') return { value };
  if (typeof value !== 'string') return { problem: ['Not a valid string.'] };
  const pem = certificatePem(value);
  return pem === null ? { problem: ['Not a certificate in PEM.'] } : { value: pem };
}

/** A private key in PEM; empty for none. */
export function checkPrivateKey(value: unknown): Checked {
  if (value === '') return { value };
  if (typeof value !== 'string') return { problem: ['Not a valid string.'] };
  try {
    return { value: createPrivateKey(value).export({ type: 'pkcs8', format: 'pem' }).toString() };
  } catch {
    return { problem: ['Not a private key in PEM, without a passphrase.'] };
  }
}

/** A certificate as PEM, whether it came so or as base64 alone; null where it is none. */
export function certificatePem(text: string): string | null {
  const base64 = text.replace(/-----(BEGIN|END) CERTIFICATE-----/g, '').replace(/\s+/g, '');
  try {
    return new X509Certificate(Buffer.from(base64, 'base64')).toString();
  } catch {
    return null;
  }
}

/** Checks and normalises one value. `current` is what the setting holds now; OAUTH2_PROVIDER merges with it. */
export function checkSetting(definition: SettingDefinition, value: unknown, current: unknown): Checked {
  if (value === null) {
    return definition.nullable ? { value } : { problem: ['This field may not be null.'] };
  }
  if (definition.check !== undefined) return definition.check(value);
  switch (definition.type) {
    case 'boolean':
      return checkBoolean(value);
    case 'integer':
      return checkInteger(value, definition.minimum ?? 0, definition.maximum ?? 2_147_483_647);
    case 'string':
      return typeof value === 'string' ? checkText(value) : { problem: ['Not a valid string.'] };
    case 'nested object':
      return checkLifetimes(value, current as OAuth2Lifetimes);
    case 'list':
      return { problem: ['This setting cannot be changed.'] };
  }
}

const TRUE: readonly unknown[] = [true, 'true', 'True', 'TRUE', 't', 'T', 'yes', 'on', '1', 1];
const FALSE: readonly unknown[] = [false, 'false', 'False', 'FALSE', 'f', 'F', 'no', 'off', '0', 0];

function checkBoolean(value: unknown): Checked {
  if (TRUE.includes(value)) return { value: true };
  if (FALSE.includes(value)) return { value: false };
  return { problem: ['Must be a valid boolean.'] };
}

function checkInteger(value: unknown, minimum: number, maximum: number): Checked {
  const number = typeof value === 'string' && /^\s*-?\d{1,15}\s*$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isSafeInteger(number))
    return { problem: ['A valid integer is required.'] };
  if (number < minimum) return { problem: [`Ensure this value is greater than or equal to ${minimum}.`] };
  if (number > maximum) return { problem: [`Ensure this value is less than or equal to ${maximum}.`] };
  return { value: number };
}

function checkText(value: string): Checked {
  return value.includes('\0') ? { problem: ['Null characters are not allowed.'] } : { value };
}

/**
 * The controller stores a partial object as it is, and then refuses every refresh, or answers 500; here the
 * keys that are left out keep their value, and what cannot be added to today's date is refused.
 */
function checkLifetimes(value: unknown, current: OAuth2Lifetimes): Checked {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { problem: [`Expected an object with the keys ${Object.keys(DEFAULT_LIFETIMES).join(', ')}.`] };
  }
  const unknown = Object.keys(value).filter((key) => !Object.hasOwn(DEFAULT_LIFETIMES, key));
  if (unknown.length > 0) return { problem: [`Invalid key(s): ${unknown.join(', ')}.`] };
  const problems: Record<string, readonly string[]> = {};
  const merged: Record<string, unknown> = { ...DEFAULT_LIFETIMES, ...current };
  for (const [key, seconds] of Object.entries(value)) {
    const checked: Checked =
      seconds === null
        ? { problem: ['This field may not be null.'] }
        : checkInteger(seconds, 1, MAX_LIFETIME);
    if ('value' in checked) merged[key] = checked.value;
    else problems[key] = checked.problem as readonly string[];
  }
  return Object.keys(problems).length > 0 ? { problem: problems } : { value: merged };
}
