import { dirname, join } from 'node:path';
import type { Secret } from '../domain/secret.ts';
import { replaceFile } from './replace-file.ts';

/**
 * Keeps a secret of a context in a file of its own, which only the owner can read, beside the
 * configuration file. An earlier secret of that context is replaced in one step.
 *
 * @returns the file's path
 */
export function storeSecret(
  secret: Secret,
  { configurationFile, context, kind }: { configurationFile: string; context: string; kind: string },
): string {
  const path = join(dirname(configurationFile), 'secrets', `${context}.${kind}`);
  replaceFile(path, `${secret.reveal()}\n`);
  return path;
}
