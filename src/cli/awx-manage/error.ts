import { TokenctlError, type TokenctlErrorCode } from '../../domain/errors.ts';

/**
 * A failure in the words of one of the controller's management commands, which end with 1 after it: scripts
 * that were written for those compare both.
 */
export class ManagementError extends TokenctlError {
  /** What a management command puts before its message on stderr. */
  static readonly label = 'CommandError';
}

/**
 * Waits for what is done, and puts another message in the place of one kind of failure.
 *
 * @throws ManagementError where it fails with that code, and whatever else it fails with
 */
export async function inManagementWords<Result>(
  done: Promise<Result>,
  { code, message }: { readonly code: TokenctlErrorCode; readonly message: string },
): Promise<Result> {
  try {
    return await done;
  } catch (cause) {
    if (!(cause instanceof TokenctlError) || cause.code !== code) throw cause;
    throw new ManagementError(code, message, { cause });
  }
}
