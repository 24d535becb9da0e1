// Compiles the program into dist/ and writes oclif.manifest.json, which lets the program start without
// loading every command. With --check it leaves the manifest alone and fails where it is out of date.
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Plugin } from '@oclif/core';

const root = fileURLToPath(new URL('..', import.meta.url));
const manifestFile = join(root, 'oclif.manifest.json');

/** Emits what the sources say, and removes what no source stands behind any more. */
function compile(): void {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const options = ['-p', join(root, 'tsconfig.build.json')];
  execFileSync(process.execPath, [compiler, ...options], { stdio: 'inherit' });
  const sources = new Set(
    globSync('{src,commands,jobs}/**/*.ts', { cwd: root }).map((file) => file.slice(0, -3)),
  );
  for (const file of globSync('dist/**/*.{js,js.map}', { cwd: root })) {
    if (!sources.has(file.replace(/^dist\//, '').replace(/\.js(\.map)?$/, ''))) rmSync(join(root, file));
  }
}

async function manifest(): Promise<string> {
  const plugin = new Plugin({ root, type: 'core', ignoreManifest: true, errorOnManifestCreate: true });
  await plugin.load();
  return `${JSON.stringify(plugin.manifest, null, 2)}\n`;
}

compile();
const current = await manifest();
if (!process.argv.includes('--check')) {
  writeFileSync(manifestFile, current);
} else if (readFileSync(manifestFile, 'utf8') !== current) {
  console.error('oclif.manifest.json does not describe the commands as they are: run `npm run build`');
  process.exitCode = 1;
}
