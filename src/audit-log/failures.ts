import { TokenctlError } from '../domain/errors.ts';

/**
 * The audit log cannot be used: in words for the errors of the file system that happen, with the path.
 *
 * @param doing What was tried, completing "The audit log … cannot be …": `written`, `read`.
 */
export function auditUnavailable(path: string, doing: string, cause: unknown): TokenctlError {
  if (cause instanceof TokenctlError) return cause;
  const code = errorCode(cause);
  const known = code === undefined ? undefined : reasons[code];
  return new TokenctlError(
    'audit_unavailable',
    `The audit log ${path} cannot be ${doing}: ${known?.why ?? code ?? 'unknown reason'}`,
    {
      hint: known?.hint ?? 'Without a log nothing is changed. Make it writable, or configure another path.',
      cause,
    },
  );
}

/** The same, for what is wrong with the file itself. */
export function auditRefused(path: string, why: string, hint: string): TokenctlError {
  return new TokenctlError('audit_unavailable', `The audit log ${path} is not used: ${why}`, { hint });
}

/** A line, counted from 1, that no entry stands on; with the name of its file where the log has several. */
export function notAnEntry(
  path: string,
  { file, line }: { readonly file?: string; readonly line: number },
): TokenctlError {
  return new TokenctlError('log_broken', `Line ${line} of the audit log ${path} is not an entry`, {
    hint: 'Find out more with `tokenctl log verify`.',
    details: { line, ...(file !== undefined && { file }) },
  });
}

function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

const reasons: Readonly<Record<string, { why: string; hint: string }>> = {
  EACCES: { why: 'permission denied', hint: 'Check who owns the file and its folder, and run as that user.' },
  EPERM: {
    why: 'the operation is not permitted',
    hint: 'Check the attributes of the file (append-only, immutable).',
  },
  EROFS: { why: 'the file system is read-only', hint: 'Configure a path on one that can be written.' },
  ENOSPC: { why: 'the disk is full', hint: 'Make room.' },
  EDQUOT: { why: 'the disk quota is used up', hint: 'Make room.' },
  EFBIG: { why: 'the file may not grow further', hint: 'Raise the limit on file sizes.' },
  EIO: { why: 'the disk failed', hint: 'Check the disk before changing anything else.' },
  ELOOP: { why: 'it is a symbolic link', hint: 'Configure the path of the file itself.' },
  ENOTDIR: { why: 'a part of the path is not a folder', hint: 'Check the configured path.' },
  EISDIR: { why: 'it is a folder', hint: 'Configure the path of a file.' },
  ENOENT: { why: 'it does not exist', hint: 'Check the configured path.' },
  ENXIO: { why: 'it is not a regular file', hint: 'Configure the path of a regular file.' },
  ERR_SQLITE_ERROR: {
    why: 'the lock file beside it cannot be used',
    hint: 'Check who owns the files beside the log.',
  },
  EMFILE: { why: 'this process has too many open files', hint: 'Raise the limit (`ulimit -n`).' },
};
