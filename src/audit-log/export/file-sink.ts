import { constants } from 'node:fs';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from '@tokenctl/common/db/file-system.ts';
import { codeOf, TokenctlError } from '@tokenctl/common/errors.ts';
import { z } from 'zod';
import type { ExportCursor, ExportPosition, LogSink } from '../../operations/ports/log-sink.ts';
import { syncFolder } from '../log-files.ts';
import { reasonOf } from './network-sinks.ts';

/** With O_NONBLOCK, opening a pipe without a reader fails at once. */
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

/** Appends records to a file, one per line, synced. Opens it each time, for rotation. A failed write is undone. */
export function fileSink(path: string): LogSink {
  return {
    name: `The file ${path}`,
    async send(records) {
      try {
        await append(path, Buffer.from(`${records.join('\n')}\n`));
      } catch (cause) {
        throw new TokenctlError('partly_done', `Could not write the file ${path}: ${reasonOf(cause)}`, {
          hint: 'Free some disk space or choose another file, and export again. The export continues where it stopped.',
          cause,
        });
      }
    },
    close: () => Promise.resolve(),
  };
}

async function append(path: string, bytes: Buffer): Promise<void> {
  await using file = await open(path, FLAGS, 0o600);
  const status = await file.stat();
  try {
    for (let done = 0; done < bytes.length; ) {
      done += (await file.write(bytes, done, bytes.length - done)).bytesWritten;
    }
    if (status.isFile()) await file.sync();
  } catch (error) {
    if (status.isFile()) await file.truncate(status.size).catch(() => undefined);
    throw error;
  }
}

const schema = z.strictObject({
  v: z.literal(1),
  seq: z.number().int().nonnegative(),
  previous: z.string().nullable(),
});

/** Keeps the position of an export in a file with one line, which is replaced atomically. */
export function fileCursor(path: string): ExportCursor {
  return {
    async load() {
      const text = await readIfExists(path);
      return text === null ? null : parse(path, text);
    },
    async save(position) {
      try {
        await replace(path, `${JSON.stringify({ v: 1, ...position })}\n`);
      } catch (cause) {
        throw new TokenctlError('partly_done', `Could not write the cursor ${path}: ${reasonOf(cause)}`, {
          hint: `The next export sends entries up to ${position.seq} again.`,
          details: { exported: position.seq },
          cause,
        });
      }
    },
  };
}

async function readIfExists(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return null;
    throw new TokenctlError('configuration', `Could not read the cursor ${path}: ${reasonOf(cause)}`, {
      cause,
    });
  }
}

function parse(path: string, text: string): ExportPosition {
  try {
    const { seq, previous } = schema.parse(JSON.parse(text));
    return { seq, previous };
  } catch (cause) {
    throw new TokenctlError('configuration', `${path} is not an export cursor`, {
      hint: 'Specify another file with --cursor. It is created if it does not exist.',
      cause,
    });
  }
}

async function replace(path: string, text: string): Promise<void> {
  const fresh = `${path}.${process.pid}.new`;
  await makeFolder(dirname(path));
  try {
    await using file = await open(fresh, 'w', 0o600);
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
  await rename(fresh, path);
  await syncFolder(dirname(path));
}
