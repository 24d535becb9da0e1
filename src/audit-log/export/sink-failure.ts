import { TokenctlError } from '../../domain/errors.ts';

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed',
  ENOTFOUND: 'the name is not known',
  ETIMEDOUT: 'nobody answered',
  ENOSPC: 'the disk is full',
  EFBIG: 'the file may not become larger',
  EDQUOT: 'the quota is used up',
};

/** Why something of the operating system failed, in words where they are known. */
export function reasonOf(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown reason';
  return reasons[code] ?? code;
}

/** A sink that could not be reached. */
export function unreachable(name: string, cause: unknown): TokenctlError {
  if (cause instanceof TokenctlError) return cause;
  return new TokenctlError('target_unreachable', `${name} did not take the records: ${reasonOf(cause)}`, {
    hint: 'Check the address, the port and the certificate, and whether it is up.',
    cause,
  });
}

/** A sink that took longer than it may. */
export function tooLate(name: string, milliseconds: number): TokenctlError {
  return new TokenctlError(
    'target_unreachable',
    `${name} did not take the records in ${milliseconds / 1000} s`,
    {
      hint: 'It hangs or is overloaded: look after it, and export again.',
    },
  );
}
