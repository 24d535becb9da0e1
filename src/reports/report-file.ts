import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  createReadStream,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { createInterface } from 'node:readline';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Baseline } from '../domain/policy/judge.ts';

/** Characters to collect before a write. */
const CHUNK = 65_536;

/** A file being written: it appears under its name only when complete. */
export interface PendingFile {
  write(text: string): void;
  /** Moves it into place, replacing an existing file. */
  commit(): void;
  /** Keeps the existing file. Does nothing after `commit`. */
  discard(): void;
}

/** Only the owner may read files with names of users and tokens. Only the umask limits files for others. */
const MODES = { private: 0o600, public: 0o666 } as const;

/** Who may read a file. A replaced file keeps its mode. */
export type FileReaders = keyof typeof MODES;

/** Checks, before anything is read, that a file does not exist or may be replaced. Throws `usage`. */
export function requireNewOrReplaced(path: string, replace: boolean): void {
  if (replace || lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
  throw new TokenctlError('usage', `The file ${path} already exists and is not overwritten`, {
    hint: 'Specify another file with --output, or add --replace.',
  });
}

/**
 * Creates a file next to its final path, so that readers find either the old file or the complete new one.
 * @param what The file's name in errors: `The report`.
 * @throws TokenctlError `configuration` if it cannot be written
 */
export function pendingFile(path: string, what: string, readers: FileReaders = 'private'): PendingFile {
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
  const descriptor = attempt(() => openSync(temporary, 'wx', MODES[readers]));
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
        const replaced = lstatSync(path, { throwIfNoEntry: false });
        if (replaced?.isFile() === true) chmodSync(temporary, replaced.mode & 0o777);
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
 * Writes a document to a file as it arrives, replacing an existing one.
 * @throws TokenctlError `configuration` if it cannot be written, and whatever the document throws; the
 * existing file is then unchanged.
 */
export async function writeReport(
  path: string,
  chunks: AsyncIterable<string> | Iterable<string>,
  readers: FileReaders = 'private',
): Promise<void> {
  const file = pendingFile(path, 'The report', readers);
  try {
    for await (const chunk of chunks) file.write(chunk);
    file.commit();
  } finally {
    file.discard();
  }
}

/** The first line of a baseline. */
const HEADING = '# tokenctl baseline 1';

/**
 * Reads a baseline: one finding per line after the heading, such as `never-used token:17`; lines that start
 * with `#` are comments.
 * @param keepsKeys As for `Baseline`.
 * @throws TokenctlError `configuration` if it cannot be read or is not a baseline
 */
export async function readBaseline(path: string, keepsKeys = false): Promise<Baseline> {
  try {
    const input = createReadStream(path, 'utf8');
    return await parseBaseline(createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }), {
      name: path,
      keepsKeys,
    });
  } catch (cause) {
    if (cause instanceof TokenctlError) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    throw new TokenctlError('configuration', `The baseline ${path} ${why}`, { cause });
  }
}

/** The baseline in these lines, which errors call `name`. Throws `configuration` if it is not one. */
export async function parseBaseline(
  lines: AsyncIterable<string> | Iterable<string>,
  { name, keepsKeys }: { name: string; keepsKeys: boolean },
): Promise<Baseline> {
  const baseline = new Baseline(keepsKeys);
  let number = 0;
  for await (const line of lines) {
    number += 1;
    if (number === 1 && !line.startsWith(HEADING)) throw notBaseline(name, 1);
    if (line === '' || line.startsWith('#')) continue;
    // The rule may be from an earlier or later version.
    if (!/^[a-z0-9-]+ [a-z-]+:\S+$/.test(line)) throw notBaseline(name, number);
    baseline.add(line);
  }
  if (number === 0) throw notBaseline(name, 1);
  return baseline;
}

function notBaseline(path: string, line: number): TokenctlError {
  return new TokenctlError('configuration', `${path}:${line}: not a baseline of this version of tokenctl`, {
    hint: 'Create one with tokenctl tokens audit --write-baseline FILE.',
  });
}

/** The heading of a baseline written at an instant. */
export function baselineHeading(now: Date): string {
  return `${HEADING}, written ${now.toISOString()}\n# One finding per line. These findings are not counted. Delete a line to count its finding again.\n`;
}
