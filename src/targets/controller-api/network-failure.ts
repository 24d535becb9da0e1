import { TokenctlError } from '../../domain/errors.ts';
import { OversizedAnswer } from './receiver.ts';

/** Breaks of a connection after which the same request may well succeed. */
const PASSING = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** Whether an error of the network may pass when the request is made again. */
export function mayPass(error: unknown): boolean {
  return PASSING.has(codeOf(error));
}

/** Whether nothing listens there (just now). */
export function isRefused(error: unknown): boolean {
  return codeOf(error) === 'ECONNREFUSED';
}

/** Says in words why a controller could not be reached. Holds the address, never the credential. */
export function networkFailure(cause: unknown, origin: string): TokenctlError {
  if (cause instanceof TokenctlError) return cause;
  if (cause instanceof OversizedAnswer) {
    return new TokenctlError(
      'target_misbehaved',
      `${origin} gave an answer longer than any of a controller's`,
    );
  }
  const code = codeOf(cause);
  const { message, hint } = explain(code);
  return new TokenctlError('target_unreachable', inWords(message, origin, code), { hint, cause });
}

/** `{host}` stands for name and port, `{name}` for the name, `{code}` for the code of the system. */
interface Explanation {
  readonly message: string;
  readonly hint: string;
}

function inWords(message: string, origin: string, code: string): string {
  const { host, hostname } = new URL(origin);
  return message.replace('{host}', host).replace('{name}', hostname).replace('{code}', code);
}

const notFound = {
  message: 'The name {name} was not found',
  hint: 'Check the spelling of the address, and that this machine can look up names.',
};
const noWay = {
  message: 'There is no way to {host} from here',
  hint: 'Check the network, VPN and firewall.',
};
const notTaken = {
  message: '{host} did not take the connection in time',
  hint: 'Check the address and the firewalls on the way.',
};
const silent = {
  message: '{host} did not answer in time',
  hint: 'Check how the controller is doing, and try again.',
};
const brokenOff = {
  message: '{host} broke the connection off',
  hint: 'Check the port, whether it takes https or http, and how the controller is doing.',
};
const untrusted = {
  message: 'The certificate of {host} is not signed by an authority that is trusted here',
  hint: "Give the controller's certificate authority as the context's CA file.",
};
const notHttp = {
  message: '{host} does not speak http on this port',
  hint: 'Check the port, and whether the address should begin with https.',
};
const notTls = {
  message: 'No encrypted connection to {host} could be made ({code})',
  hint: 'Check the port, and whether the address should begin with http.',
};
const unknown = { message: '{host} could not be reached ({code})', hint: 'Check the address.' };

/** By the codes of the system, of undici, and of Node.js and OpenSSL for TLS. */
const explanations: Readonly<Record<string, Explanation>> = {
  ENOTFOUND: notFound,
  EAI_AGAIN: notFound,
  ECONNREFUSED: {
    message: 'Nothing answers at {host}: the connection was refused',
    hint: 'Check the port, and that the controller is running.',
  },
  EHOSTUNREACH: noWay,
  ENETUNREACH: noWay,
  EHOSTDOWN: noWay,
  UND_ERR_CONNECT_TIMEOUT: notTaken,
  ETIMEDOUT: notTaken,
  UND_ERR_HEADERS_TIMEOUT: silent,
  UND_ERR_BODY_TIMEOUT: silent,
  ECONNRESET: brokenOff,
  EPIPE: brokenOff,
  UND_ERR_SOCKET: brokenOff,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  ERR_TLS_CERT_ALTNAME_INVALID: {
    message: 'The certificate of {host} is for another name',
    hint: 'Use the name that the certificate is for.',
  },
  CERT_HAS_EXPIRED: { message: 'The certificate of {host} has expired', hint: 'Have it renewed.' },
  CERT_NOT_YET_VALID: {
    message: 'The certificate of {host} is not valid yet',
    hint: "Check this machine's clock.",
  },
};

function explain(code: string): Explanation {
  const known = explanations[code];
  if (known !== undefined) return known;
  if (/^(HPE_|HTTPParserError)/.test(code)) return notHttp;
  return /^(EPROTO|ERR_SSL_|ERR_TLS_|CERT_)/.test(code) ? notTls : unknown;
}

/** The code of an error, or of the first within one that tells of several addresses tried. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  if ('code' in error && typeof error.code === 'string') return error.code;
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  return error.cause === undefined ? error.name : codeOf(error.cause);
}
