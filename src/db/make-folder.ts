import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Creates a folder and its parents with mode 0700. With `recursive`, Node.js never returns if the file system reports
 * ENOENT for a folder whose parent exists, as `/proc` does.
 *
 * @returns The topmost new folder, or undefined if all existed.
 * @throws The file system's error.
 */
export async function makeFolder(path: string): Promise<string | undefined> {
  try {
    await mkdir(path, { mode: 0o700 });
    return path;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EEXIST') return undefined;
    if (code !== 'ENOENT' || dirname(path) === path) throw error;
  }
  const above = await makeFolder(dirname(path));
  await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
    // Another process created it in the meantime.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  });
  return above ?? path;
}
