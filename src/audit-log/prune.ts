import { unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { AuditLog, LogActor, Pruning } from '../operations/ports/audit-log.ts';
import type { Archive } from './archives.ts';
import { parseEntry } from './entry.ts';
import { tailOf } from './lines.ts';
import { openForReading, syncFolder } from './log-folder.ts';
import { PRUNE } from './rotation-note.ts';
import type { Segments } from './segments.ts';

/** What is removed from which log. */
export interface PruneArchives {
  readonly segments: Segments;
  /** Files with an entry at or after this instant stay. */
  readonly before: Date;
  readonly actor: LogActor;
  readonly log: Pick<AuditLog, 'append'>;
}

/**
 * Removes the oldest archives, as far as all their entries are old enough and have an outcome. An entry
 * says so before: without it, verification counts them as lost.
 *
 * @returns Null where no archive is old enough.
 */
export async function pruneArchives({
  segments,
  before,
  actor,
  log,
}: PruneArchives): Promise<Pruning | null> {
  const old: Archive[] = [];
  const open = await openAfter(segments);
  for (const archive of segments.archives) {
    const isNeeded = open.some((seq) => seq <= archive.last);
    if (isNeeded || !(await isOlder(archive, before))) break;
    old.push(archive);
  }
  const last = old.at(-1);
  if (last === undefined) return null;
  const files = old.map(({ path }) => basename(path));
  const entry = await log.append({
    kind: 'note',
    operation: PRUNE,
    ...actor,
    target: {},
    data: { upTo: last.last, files },
  });
  for (const { path } of old) await unlink(path);
  await syncFolder(dirname(last.path));
  return { files, entry };
}

/** The intents without an outcome, as the last entry lists them. */
async function openAfter({ current }: Segments): Promise<readonly number[]> {
  if (current === null) return [];
  const { line } = await tailOf(current, (await current.stat()).size);
  return (line === null ? null : parseEntry(line))?.open ?? [];
}

async function isOlder({ path }: Archive, before: Date): Promise<boolean> {
  await using file = await openForReading(path);
  if (file === null) return false;
  const { line } = await tailOf(file, (await file.stat()).size);
  const entry = line === null ? null : parseEntry(line);
  return entry !== null && Date.parse(entry.at) < before.getTime();
}
