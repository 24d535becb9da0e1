import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { makeFolder } from '../../db/make-folder.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { ExportCursor, ExportPosition } from '../../operations/ports/log-sink.ts';
import { syncFolder } from '../log-files.ts';
import { reasonOf } from './sink-failure.ts';

const schema = z.strictObject({
  v: z.literal(1),
  seq: z.number().int().nonnegative(),
  previous: z.string().nullable(),
});

/** Keeps the position of an export in a file of one line, replaced in one step. */
export function fileCursor(path: string): ExportCursor {
  return {
    async load() {
      const text = await readIfThere(path);
      return text === null ? null : parse(path, text);
    },
    async save(position) {
      try {
        await replace(path, `${JSON.stringify({ v: 1, ...position })}\n`);
      } catch (cause) {
        throw new TokenctlError('partly_done', `The cursor ${path} cannot be written: ${reasonOf(cause)}`, {
          hint: `What was handed over up to entry ${position.seq} is handed over again by the next export.`,
          details: { exported: position.seq },
          cause,
        });
      }
    },
  };
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return null;
    throw new TokenctlError('configuration', `The cursor ${path} cannot be read: ${reasonOf(cause)}`, {
      cause,
    });
  }
}

function parse(path: string, text: string): ExportPosition {
  try {
    const { seq, previous } = schema.parse(JSON.parse(text));
    return { seq, previous };
  } catch (cause) {
    throw new TokenctlError('configuration', `${path} is no cursor of an export`, {
      hint: 'Name another file with --cursor: one that does not exist is made.',
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
