import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { TokenctlError } from '../../domain/errors.ts';
import type { LogSink } from '../../operations/ports/log-sink.ts';
import { reasonOf } from './sink-failure.ts';

/** A pipe without a reader fails at once instead of waiting for one. */
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

/**
 * Appends records to a file, a line each, synced to the disk. It opens the file anew each time, so that it may be
 * rotated. A write that fails is taken back.
 */
export function fileSink(path: string): LogSink {
  return {
    name: `The file ${path}`,
    async send(records) {
      try {
        await append(path, Buffer.from(`${records.join('\n')}\n`));
      } catch (cause) {
        throw new TokenctlError('partly_done', `The file ${path} cannot be written: ${reasonOf(cause)}`, {
          hint: 'Make room or choose another file, and export again: it goes on behind what was written.',
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
