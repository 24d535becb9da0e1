import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the repository. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

/** What is needed of an entry of package-lock.json. */
interface LockEntry {
  readonly version?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
}

/** The entries of package-lock.json, by path (`node_modules/pg`). */
export function lockEntries(): ReadonlyMap<string, LockEntry> {
  const lock = jsonIn(join(root, 'package-lock.json')) as { packages: Record<string, LockEntry> };
  return new Map(Object.entries(lock.packages).filter(([path]) => path !== ''));
}

export function packageVersion(): string {
  return (jsonIn(join(root, 'package.json')) as { version: string }).version;
}

/**
 * Writes the program as it is installed into an empty folder: the files that are published on npm, with the installed
 * production dependencies. It is the same for all processors, and needs a Node.js to run. `npm ci` and the build come
 * before it.
 *
 * @throws Error if an installed package is not the one in package-lock.json, or has code for one processor
 */
export function writeProgram(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const file of publishedFiles()) cpSync(join(root, file), join(folder, file));
  for (const [path, { version, dev, optional }] of lockEntries()) {
    if (dev === true || (optional === true && !existsSync(join(root, path)))) continue;
    copyPackage(path, { folder, version });
  }
  const [binary] = globSync('**/*.node', { cwd: folder });
  if (binary !== undefined) throw new Error(`${binary} runs on one kind of processor only`);
}

/** The files that `npm publish` takes. */
function publishedFiles(): readonly string[] {
  const output = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const packed = JSON.parse(output) as
    | { files: { path: string }[] }[]
    | Record<string, { files: { path: string }[] }>;
  return Object.values(packed).flatMap(({ files }) => files.map(({ path }) => path));
}

function copyPackage(
  path: string,
  { folder, version }: { readonly folder: string; readonly version: string | undefined },
): void {
  const source = join(root, path);
  const installed = (jsonIn(join(source, 'package.json')) as { version: string }).version;
  if (installed !== version) {
    throw new Error(`${path} is version ${installed}, and package-lock.json has ${version}: run npm ci`);
  }
  // Packages inside it have entries of their own.
  const inner = join(source, 'node_modules');
  cpSync(source, join(folder, path), {
    recursive: true,
    dereference: true,
    filter: (file) => file !== inner,
  });
  rmSync(join(folder, path, 'node_modules'), { recursive: true, force: true });
}

/** The value in a JSON file. */
export function jsonIn(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}
