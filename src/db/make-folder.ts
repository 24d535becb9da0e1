import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it, of mode 0700. Node.js does so too (`recursive`), but never ends where the
 * file system answers that a folder whose parent exists cannot be made, as `/proc` does.
 *
 * @returns The topmost folder that was made, or undefined where all were there.
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
    // Somebody else made it meanwhile.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  });
  return above ?? path;
}
