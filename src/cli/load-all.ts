import { existsSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/**
 * Loads every module that a command may ever import, so that later imports need no files: an upgrade replaces
 * or removes them under a process that runs for months. Resolving an import needs its file even if the module
 * is loaded.
 * @param id The command, as the framework names it: `jobs:start`. The build lists its imports, next to the
 * file that contains this module
 */
export async function loadAll(id: string): Promise<void> {
  const list = new URL(`./all-of-${id.replaceAll(':', '-')}.json`, import.meta.url);
  const names = JSON.parse(readFileSync(list, 'utf8')) as readonly string[];
  const loaded = new Map(names.map((name) => [name, import.meta.resolve(name)]));
  await Promise.all([...loaded.values()].map((url) => import(url)));
  const [urls, own] = [new Set(loaded.values()), new URL('..', list).href];
  registerHooks({
    resolve(specifier, context, next) {
      const { parentURL = '' } = context;
      const isOwn = parentURL.startsWith(own);
      const url =
        specifier.startsWith('.') && isOwn ? new URL(specifier, parentURL).href : loaded.get(specifier);
      return isOwn && url !== undefined && urls.has(url)
        ? { url, shortCircuit: true }
        : next(specifier, context);
    },
  });
}

/** The commit that this program was built from, with `-dirty` if sources were modified; null if unknown. */
export function builtFrom(): string | null {
  const file = new URL('../commit', import.meta.url);
  return (existsSync(file) && readFileSync(file, 'utf8')) || null;
}
