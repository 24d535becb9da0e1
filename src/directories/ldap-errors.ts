import { TokenctlError, type TokenctlErrorCode } from '@tokenctl/common/errors.ts';
import { directHint } from '@tokenctl/common/network/outgoing.ts';
import type { MessageResponse } from 'ldapts';

/** The meaning of a result code (RFC 4511 appendix A.2), and what to do. */
interface Meaning {
  readonly code: TokenctlErrorCode;
  readonly name: string;
  readonly hint: string;
}

const EARLY = 'Remove the search limit for the account that reads the directory: the response is incomplete.';
const MEANINGS: Readonly<Record<number, Meaning>> = {
  3: { code: 'target_misbehaved', name: 'timeLimitExceeded', hint: EARLY },
  4: { code: 'target_misbehaved', name: 'sizeLimitExceeded', hint: EARLY },
  8: { code: 'configuration', name: 'strongerAuthRequired', hint: 'Use ldaps:// or `startTls: true`.' },
  10: {
    code: 'target_misbehaved',
    name: 'referral',
    hint: 'Use the address of the server that it refers to.',
  },
  11: { code: 'target_misbehaved', name: 'adminLimitExceeded', hint: EARLY },
  12: {
    code: 'unsupported',
    name: 'unavailableCriticalExtension',
    hint: 'The server must support paged results (RFC 2696).',
  },
  13: { code: 'configuration', name: 'confidentialityRequired', hint: 'Use ldaps:// or `startTls: true`.' },
  32: {
    code: 'target_misbehaved',
    name: 'noSuchObject',
    hint: 'Check the name, and that the account has permission to read it.',
  },
  48: {
    code: 'credentials_refused',
    name: 'inappropriateAuthentication',
    hint: 'Check `bindDn` and its password.',
  },
  // RFC 4513 §5.1.3 has no other result for an expired password.
  49: {
    code: 'credentials_refused',
    name: 'invalidCredentials',
    hint: 'Check `bindDn` and its password, which may have expired.',
  },
  50: {
    code: 'permission_refused',
    name: 'insufficientAccessRights',
    hint: 'Give the account permission to read the users. After a bind, this can mean that the password must be changed first.',
  },
  51: { code: 'target_unreachable', name: 'busy', hint: 'Try again later.' },
  52: { code: 'target_unreachable', name: 'unavailable', hint: 'Try again later.' },
  53: { code: 'credentials_refused', name: 'unwillingToPerform', hint: 'Check `bindDn` and its password.' },
};

/** Active Directory's details for invalidCredentials, such as `data 532` in its message. */
const BIND_DETAILS: Readonly<Record<string, string>> = {
  '525': 'the user does not exist',
  '52e': 'the password is wrong',
  '530': 'not at this time',
  '531': 'not from this machine',
  '532': 'the password has expired',
  '533': 'the account is disabled',
  '701': 'the account has expired',
  '773': 'the password must be changed',
  '775': 'the account is locked',
};

/** The error for an unsuccessful result. The server's own text is not quoted: it may contain names and values. */
export function refusal(
  name: string,
  { status, errorMessage }: MessageResponse,
  base?: string,
): TokenctlError {
  const meaning = MEANINGS[status];
  const [, detail = ''] = /\bdata ([0-9a-f]{3,8})\b/i.exec(errorMessage) ?? [];
  const said = [
    `${meaning?.name ?? 'an error'}, code ${status}`,
    ...(status === 49 && BIND_DETAILS[detail] !== undefined ? [BIND_DETAILS[detail]] : []),
  ].join(': ');
  const about = base === undefined || base === '' ? '' : ` for ${base}`;
  return new TokenctlError(meaning?.code ?? 'target_misbehaved', `${name} answered ${said}${about}`, {
    hint: meaning?.hint ?? 'Check the address, the base and the filter of this source.',
    details: { result: status },
  });
}

/** OpenSSL's error codes for a certificate with an untrusted authority. */
const UNTRUSTED = /SELF_SIGNED_CERT|UNABLE_TO_(?:VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT)/;

export function unreachable(name: string, what: string, cause?: unknown): TokenctlError {
  return new TokenctlError('target_unreachable', `${name} ${what}`, {
    hint: UNTRUSTED.test(what)
      ? "Set the directory's `caFile` to the CA that signed the server's certificate."
      : (directHint('LDAP') ?? "Check the directory server's address, port and certificate."),
    cause,
  });
}
