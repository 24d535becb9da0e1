import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isProtected } from '@tokenctl/common/network-address.ts';
import { z } from 'zod';
import type { Backend } from '../sso/backends.ts';

/** The categories for reading and writing settings. */
export type SettingCategory = 'authentication' | 'system' | Backend;

export interface SettingDefinition {
  readonly key: string;
  readonly category: SettingCategory;
  readonly type: 'integer' | 'boolean' | 'string' | 'nested object' | 'list';
  readonly label: string;
  readonly helpText: string;
  readonly defaultValue: unknown;
  /** Required in a PUT, which replaces the whole category. */
  readonly required?: true;
  /** Cannot be changed in this version of the service. */
  readonly readOnly?: true;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly unit?: string;
  readonly warningText?: string;
  /** Stored encrypted and never shown. */
  readonly secret?: true;
  /** May be null, which means unset. */
  readonly nullable?: true;
  readonly placeholder?: unknown;
  /** The element type of a list; or `map`, two levels of objects with any values. */
  readonly child?: 'strings' | 'map';
  /** Validates and normalizes a value, instead of the check by type. */
  readonly check?: (value: unknown) => Checked;
}

/** A setting without its name and category. */
export type SettingPart = Omit<SettingDefinition, 'key' | 'category'>;

/** The settings of a category by name. Their keys may share a prefix. */
export function definitions(
  category: SettingCategory,
  parts: Readonly<Record<string, SettingPart>>,
  beginning = '',
): readonly SettingDefinition[] {
  return Object.entries(parts).map(([name, part]) => ({ key: `${beginning}${name}`, category, ...part }));
}

/** The three lifetimes of OAUTH2_PROVIDER, in seconds. */
export interface OAuth2Lifetimes {
  readonly ACCESS_TOKEN_EXPIRE_SECONDS: number;
  readonly AUTHORIZATION_CODE_EXPIRE_SECONDS: number;
  readonly REFRESH_TOKEN_EXPIRE_SECONDS: number;
}

/** The keys of OAUTH2_PROVIDER with the defaults of controller 24.6.1. */
export const DEFAULT_LIFETIMES: OAuth2Lifetimes = {
  ACCESS_TOKEN_EXPIRE_SECONDS: 31_536_000_000,
  AUTHORIZATION_CODE_EXPIRE_SECONDS: 600,
  REFRESH_TOKEN_EXPIRE_SECONDS: 2_628_000,
};

/**
 * The maximum lifetime in seconds: about 7,900 years, so that expiry dates stay within the four-digit years
 * of RFC 3339. The controller accepts more and then answers 500.
 */
export const MAX_LIFETIME = 250_000_000_000;

/** The errors of a value: messages, or for an object messages by key. */
export type SettingProblem = readonly string[] | Readonly<Record<string, readonly string[]>>;

/** A valid value in the form to store, or its errors. */
export type Checked = { readonly value: unknown } | { readonly problem: SettingProblem };

/** The URL of an identity provider: https, or http on this machine. A trailing slash is removed. */
export function checkAddress(value: unknown): Checked {
  const checked = checkIssuer(value);
  return 'value' in checked ? { value: String(checked.value).replace(/\/+$/, '') } : checked;
}

/** Like {@link checkAddress}, but unchanged: a trailing slash makes a different issuer. */
export function checkIssuer(value: unknown): Checked {
  if (typeof value !== 'string' || !URL.canParse(value)) return { problem: ['Enter a valid URL.'] };
  const url = new URL(value);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    return { problem: ['The URL must not contain a user name, a query or a fragment.'] };
  }
  if (isProtected(url)) return { value };
  return { problem: ['The URL must start with https://.'] };
}

/** A line of text, such as an identifier at a provider. */
export function checkLine(value: unknown): Checked {
  if (typeof value !== 'string') return { problem: ['Not a valid string.'] };
  if (/\p{Cc}/u.test(value)) return { problem: ['Control characters are not allowed.'] };
  return value.length > 1024
    ? { problem: ['Ensure this field has no more than 1024 characters.'] }
    : { value: value.trim() };
}

/** The text of a button: one to a hundred characters. */
export function checkLabel(value: unknown): Checked {
  const checked = checkLine(value);
  if ('problem' in checked) return checked;
  const { length } = String(checked.value);
  return length >= 1 && length <= 100 ? checked : { problem: ['Expected 1 to 100 characters.'] };
}

/** A list of case-insensitive names. */
export function checkNames(value: unknown): Checked {
  const parsed = z.array(z.string().trim().toLowerCase().min(1).max(253)).max(1000).safeParse(value);
  return parsed.success ? { value: parsed.data } : { problem: ['Expected a list of names.'] };
}

/** A check by a schema. Its errors include the path in the value. */
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

/** A certificate in PEM or base64; empty for none. */
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

/** A certificate in PEM, from PEM or base64; null if it is invalid. */
export function certificatePem(text: string): string | null {
  const base64 = text.replace(/-----(BEGIN|END) CERTIFICATE-----/g, '').replace(/\s+/g, '');
  try {
    return new X509Certificate(Buffer.from(base64, 'base64')).toString();
  } catch {
    return null;
  }
}

/** Validates and normalizes a value. `current` is the current value, with which OAUTH2_PROVIDER is merged. */
export function checkSetting(definition: SettingDefinition, value: unknown, current: unknown): Checked {
  if (value === null) return definition.nullable ? { value } : { problem: ['This field may not be null.'] };
  if (definition.check !== undefined) return definition.check(value);
  switch (definition.type) {
    case 'boolean':
      return checkBoolean(value);
    case 'integer':
      return checkInteger(value, definition.minimum ?? 0, definition.maximum ?? 2_147_483_647);
    case 'string':
      return typeof value === 'string' ? checkText(value.trim()) : { problem: ['Not a valid string.'] };
    case 'nested object':
      return checkLifetimes(value, current as OAuth2Lifetimes);
    case 'list':
      return { problem: ['This setting cannot be changed.'] };
  }
}

const TRUE: readonly unknown[] = [true, 'true', 'True', 'TRUE', 't', 'T', 'yes', 'on', '1', 1];
const FALSE: readonly unknown[] = [false, 'false', 'False', 'FALSE', 'f', 'F', 'no', 'off', '0', 0];

export function checkBoolean(value: unknown): Checked {
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
 * The controller stores a partial object unchanged, and then refuses every refresh or answers 500. Here
 * omitted keys keep their value, and lifetimes beyond the supported dates are refused.
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
