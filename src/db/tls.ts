import { readFileSync } from 'node:fs';
import { type ConnectionOptions, checkServerIdentity } from 'node:tls';
import { TokenctlError } from '../domain/errors.ts';

const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'] as const;

/** libpq's `sslmode`, and pg's own `no-verify`: TLS without a check of the certificate. */
export type TlsMode = (typeof MODES)[number];

/** Whether a word is a {@link TlsMode}. */
export function isTlsMode(word: string): word is TlsMode {
  return (MODES as readonly string[]).includes(word);
}

/** How to encrypt a connection, as libpq's keywords say it. Files are given by their paths. */
export interface TlsParameters {
  readonly mode: TlsMode;
  /** Who signs the server's certificate; `system` for the authorities that Node.js knows. */
  readonly rootCertificate: string | undefined;
  /** The client's certificate and key. */
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

/** One way to try a connection. */
export interface TlsAttempt {
  readonly transport: 'tls' | 'tls_unverified' | 'plain';
  readonly ssl: false | ConnectionOptions;
}

const PLAIN: TlsAttempt = { transport: 'plain', ssl: false };

/**
 * The ways to try, one after the other, with libpq's meaning of `sslmode`
 * (https://www.postgresql.org/docs/current/libpq-ssl.html): pg 8 by itself takes `require` for
 * `verify-full`, and never goes on without TLS.
 *
 * @param host The name that the certificate must be for.
 * @throws TokenctlError `configuration` where a certificate is missing or cannot be read.
 */
export function tlsAttempts(parameters: TlsParameters, host: string): readonly TlsAttempt[] {
  const { mode, rootCertificate } = parameters;
  if (mode === 'disable') return [PLAIN];
  const unverified: TlsAttempt = {
    transport: 'tls_unverified',
    ssl: { ...own(parameters), rejectUnauthorized: false },
  };
  if (mode === 'allow') return [PLAIN, unverified];
  if (mode === 'prefer') return [unverified, PLAIN];
  // With a root certificate at hand `require` is `verify-ca`, as in libpq.
  if (mode === 'no-verify' || (mode === 'require' && rootCertificate === undefined)) return [unverified];
  if (mode === 'verify-ca' && rootCertificate === undefined) {
    throw new TokenctlError('configuration', 'sslmode verify-ca needs to know who signs the certificate', {
      hint: 'Give sslrootcert, or use sslmode verify-full.',
    });
  }
  return [
    {
      transport: 'tls',
      ssl: {
        ...own(parameters),
        rejectUnauthorized: true,
        ...(rootCertificate !== undefined &&
          rootCertificate !== 'system' && { ca: content(rootCertificate, 'sslrootcert') }),
        checkServerIdentity: (_name, certificate) =>
          mode === 'verify-full' ? checkServerIdentity(host, certificate) : undefined,
      },
    },
  ];
}

function own({ certificate, key }: TlsParameters): ConnectionOptions {
  return {
    ...(certificate !== undefined && { cert: content(certificate, 'sslcert') }),
    ...(key !== undefined && { key: content(key, 'sslkey') }),
  };
}

function content(file: string, keyword: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new TokenctlError('configuration', `The file ${file} (${keyword}) cannot be read`, { cause });
  }
}
