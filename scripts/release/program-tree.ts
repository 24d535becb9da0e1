import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installedEntries, publishedManifest, root } from './published-package.ts';

export function packageVersion(): string {
  return (jsonIn(join(root, 'package.json')) as { version: string }).version;
}

/**
 * Writes the program as it is installed into an empty folder: the files that are published on npm, with the packages that
 * they need. It is the same for all processors, and needs a Node.js to run. `npm ci` and the build come
 * before it.
 *
 * @throws Error if an installed package is not the one in package-lock.json, or has code for one processor
 */
export function writeProgram(folder: string): void {
  writePackage(folder);
  for (const [path, { version, optional }] of installedEntries()) {
    if (optional === true && !existsSync(join(root, path))) continue;
    copyPackage(path, { folder, version });
  }
  const [binary] = globSync('**/*.node', { cwd: folder });
  if (binary !== undefined) throw new Error(`${binary} runs on one kind of processor only`);
}

/** Writes the files that are published on npm, with their package.json, into a folder. */
export function writePackage(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const file of publishedFiles()) cpSync(join(root, file), join(folder, file));
  writeFileSync(join(folder, 'package.json'), publishedManifest());
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

function copyPackage(path: string, { folder, version }: { folder: string; version: string | undefined }) {
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
