import type { FileHandle } from 'node:fs/promises';
import type { Entry } from '../operations/ports/audit-log.ts';
import { findEntry } from './find-entry.ts';
import { stateAfter } from './group-append.ts';
import { tailOf } from './lines.ts';
import { openForReading } from './log-folder.ts';
import type { Segments } from './segments.ts';

/** The intents that a log's last entry lists as open, from whichever file they are in. */
export async function openIntents(path: string, { current, archives }: Segments): Promise<readonly Entry[]> {
  if (current === null) return [];
  const { size } = await current.stat();
  const { line, torn } = await tailOf(current, size);
  const { open } = stateAfter(path, line);
  const find = async (seq: number): Promise<Entry | null> => {
    const archive = archives.find(({ first, last }) => first <= seq && seq <= last);
    if (archive === undefined) return await findEntry(current, size - torn.length, seq);
    await using file = await openForReading(archive.path);
    return file === null ? null : await findInWhole(file, seq);
  };
  const intents: Entry[] = [];
  for (const seq of open) {
    const intent = await find(seq);
    if (intent !== null) intents.push(intent);
  }
  return intents;
}

async function findInWhole(file: FileHandle, seq: number): Promise<Entry | null> {
  return await findEntry(file, (await file.stat()).size, seq);
}
