import { randomBytes } from 'node:crypto';
import { closeSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { TokenctlError } from '../domain/errors.ts';

/** Characters gathered before they are written. */
const CHUNK = 65_536;

/** A file being written: it appears under its name only when it is complete. */
export interface PendingFile {
  write(text: string): void;
  /** Puts it in place of what may be there. */
  commit(): void;
  /** Leaves what is there as it is. Does nothing after `commit`. */
  discard(): void;
}

/**
 * Begins a file next to its final path, so that readers find either the old file or the complete new one.
 *
 * @param what How the file is called in errors: `The report`.
 * @throws TokenctlError `configuration` where it cannot be written
 */
export function pendingFile(path: string, what: string): PendingFile {
  const temporary = `${path}.${randomBytes(4).toString('hex')}.part`;
  const attempt = <T>(act: () => T): T => {
    try {
      return act();
    } catch (cause) {
      rmSync(temporary, { force: true });
      const { code } = cause as NodeJS.ErrnoException;
      throw new TokenctlError('configuration', `${what} cannot be written to ${path} (${code})`, { cause });
    }
  };
  const descriptor = attempt(() => openSync(temporary, 'wx', 0o666));
  let open = true;
  let gathered = '';
  const flush = () => {
    if (gathered !== '') writeSync(descriptor, gathered);
    gathered = '';
  };
  const close = () => {
    if (open) closeSync(descriptor);
    open = false;
  };
  return {
    write(text) {
      gathered += text;
      if (gathered.length >= CHUNK) attempt(flush);
    },
    commit() {
      attempt(() => {
        flush();
        close();
        renameSync(temporary, path);
      });
    },
    discard() {
      close();
      rmSync(temporary, { force: true });
    },
  };
}

/**
 * Writes a document to a file as it comes.
 *
 * @throws TokenctlError `configuration` where it cannot be written, and whatever the document throws; the file
 * is as it was then.
 */
export async function writeReport(path: string, chunks: AsyncIterable<string>): Promise<void> {
  const file = pendingFile(path, 'The report');
  try {
    for await (const chunk of chunks) file.write(chunk);
    file.commit();
  } finally {
    file.discard();
  }
}
