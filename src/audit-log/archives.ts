import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** A file that rotation closed: `audit.jsonl.1-5000`. */
export interface Archive {
  readonly path: string;
  /** The number of its first entry. */
  readonly first: number;
  /** The number of its last entry. */
  readonly last: number;
}

/** What an archive with some entries of a log is called. */
export function archivePath(logPath: string, { first, last }: Omit<Archive, 'path'>): string {
  return `${logPath}.${first}-${last}`;
}

/** The archives beside a log, in the order of their entries. */
export async function archivesOf(logPath: string): Promise<readonly Archive[]> {
  const folder = dirname(logPath);
  const prefix = `${basename(logPath)}.`;
  const names = await readdir(folder).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  });
  return names
    .flatMap((name): Archive[] => {
      const range = name.startsWith(prefix)
        ? /^(\d{1,15})-(\d{1,15})$/.exec(name.slice(prefix.length))
        : null;
      if (range === null) return [];
      return [{ path: join(folder, name), first: Number(range[1]), last: Number(range[2]) }];
    })
    .sort((one, other) => one.first - other.first || one.last - other.last);
}
