import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from '../db/make-folder.ts';
import { archivesOf } from './archives.ts';
import { auditRefused } from './failures.ts';

const { O_RDONLY, O_NOFOLLOW, O_DIRECTORY, O_NONBLOCK, O_RDWR, O_CREAT, O_APPEND, O_EXCL } = constants;

/** Whether others may write: they could replace or rewrite what stands there. */
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;

/**
 * Makes the folder of a log where it is missing (mode 0700, durably), and refuses one that everybody may
 * write to: anybody could put another file in the log's place.
 */
export async function prepareFolder(path: string): Promise<void> {
  const folder = dirname(path);
  const made = await makeFolder(folder);
  if (made !== undefined) await syncFolder(dirname(made));
  const { mode } = await lstat(folder);
  if ((mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0) {
    throw auditRefused(
      path,
      `everybody may write to its folder ${folder}`,
      `Take that away: chmod o-w ${folder}`,
    );
  }
}

/** Opens the log for appending, made where it is missing (mode 0600, durably). Follows no symbolic link. */
export async function openForAppending(path: string) {
  const flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK;
  try {
    return await checked(path, flags);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  await prepareFolder(path);
  const [archive] = await archivesOf(path);
  if (archive !== undefined) {
    throw auditRefused(
      path,
      `it is gone, and ${archive.path} shows that it was there`,
      'Restore it from a copy.',
    );
  }
  const file = await checked(path, flags | O_CREAT | O_EXCL);
  await syncFolder(dirname(path));
  return file;
}

/** Opens the log for reading; null where there is none yet. Follows no symbolic link. */
export async function openForReading(path: string) {
  try {
    return await checked(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

async function checked(path: string, flags: number) {
  const file = await open(path, flags, 0o600);
  try {
    const status = await file.stat();
    if (!status.isFile()) {
      throw auditRefused(path, 'it is not a regular file', 'Configure the path of a regular file.');
    }
    if ((status.mode & OTHERS_WRITE) !== 0) {
      throw auditRefused(path, 'everybody may write to it', `Take that away: chmod o-w ${path}`);
    }
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Puts a folder's list of files on stable storage. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, O_RDONLY | O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
