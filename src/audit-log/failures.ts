import { TokenctlError } from '@tokenctl/common/errors.ts';

/** The error for an unusable log file. `action` completes "Could not … the audit log". */
export function logUnavailable(path: string, action: string, cause: unknown): TokenctlError {
  if (cause instanceof TokenctlError) return cause;
  const code =
    cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
  const known = code === undefined ? undefined : reasons[code];
  return new TokenctlError(
    'audit_unavailable',
    `Could not ${action} the audit log ${path}: ${known?.why ?? code ?? 'unknown reason'}`,
    {
      hint:
        known?.hint ??
        'Make the audit log writable, or configure another path. Nothing is changed without it.',
      cause,
    },
  );
}

export function logRefused(name: string, why: string, hint: string): TokenctlError {
  return new TokenctlError('audit_unavailable', `Refused to use the audit log ${name}: ${why}`, { hint });
}

/** The error for a second outcome of an intent. */
export function intentClosed(name: string, intent: number): TokenctlError {
  return new TokenctlError(
    'intent_closed',
    `Intent ${intent} already has an outcome in the audit log ${name}`,
    {
      hint: 'Run the command again. It reads the target and finishes the remaining work.',
      details: { intent },
    },
  );
}

/** The error for a line, counted from 1, that is not an entry. With its file if the log has several. */
export function invalidLine(name: string, { file, line }: { file?: string; line: number }): TokenctlError {
  return new TokenctlError('log_broken', `Line ${line} of the audit log ${name} is not a valid entry`, {
    hint: 'Run `tokenctl log verify`.',
    details: { line, ...(file !== undefined && { file }) },
  });
}

interface TimeoutOptions {
  readonly timeoutMs: number;
  readonly onTimeout: () => Error;
}

/** Waits for work, but no longer than a timeout. The work itself is not stopped. */
export async function withTimeout<T>(work: Promise<T>, { timeoutMs, onTimeout }: TimeoutOptions): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(onTimeout()), timeoutMs);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

const reasons: Readonly<Record<string, { why: string; hint: string }>> = {
  EACCES: {
    why: 'permission denied',
    hint: 'Check the owner of the file and its directory, and run tokenctl as that user.',
  },
  EPERM: {
    why: 'operation not permitted',
    hint: 'Check the attributes of the file (append-only, immutable).',
  },
  EROFS: { why: 'the file system is read-only', hint: 'Configure a path on a writable file system.' },
  ENOSPC: { why: 'the disk is full', hint: 'Free some disk space.' },
  EDQUOT: { why: 'the disk quota is exceeded', hint: 'Free some disk space.' },
  EFBIG: { why: 'the file has reached the maximum size', hint: 'Raise the limit on file sizes.' },
  EIO: { why: 'the disk reported an I/O error', hint: 'Check the disk before you change anything else.' },
  ELOOP: { why: 'it is a symbolic link', hint: 'Configure the path of the file itself.' },
  ENOTDIR: { why: 'a part of the path is not a directory', hint: 'Check the configured path.' },
  EISDIR: { why: 'it is a directory', hint: 'Configure the path of a file.' },
  ENOENT: { why: 'it does not exist', hint: 'Check the configured path.' },
  ENXIO: { why: 'it is not a regular file', hint: 'Configure the path of a regular file.' },
  ERR_SQLITE_ERROR: {
    why: 'its lock file cannot be used',
    hint: 'Check the owner of the files next to the log.',
  },
  EMFILE: { why: 'this process has too many open files', hint: 'Raise the limit (`ulimit -n`).' },
};
