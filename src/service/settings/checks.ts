import { createPrivateKey, X509Certificate } from 'node:crypto';
import { z } from 'zod';
import type { Checked } from './validation.ts';

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
