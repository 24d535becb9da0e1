// Compiles the program into dist/, and writes what is made from the commands: oclif.manifest.json, which lets
// the program start without loading every command, and docs/commands.md. With --check it leaves these two
// alone and fails where they are out of date.
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Plugin } from '@oclif/core';
import { commandReference } from './command-reference.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Compiles the sources, and removes outputs whose source was deleted. */
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

/** What is made from the commands, by file. */
async function generated(): Promise<ReadonlyMap<string, string>> {
  const plugin = new Plugin({ root, type: 'core', ignoreManifest: true, errorOnManifestCreate: true });
  await plugin.load();
  // Commands are found in the order in which their files happen to be read.
  const commands = Object.entries(plugin.manifest.commands).sort(([one], [other]) => (one < other ? -1 : 1));
  const manifest = { ...plugin.manifest, commands: Object.fromEntries(commands) };
  return new Map([
    ['oclif.manifest.json', `${JSON.stringify(manifest, null, 2)}\n`],
    ['docs/commands.md', commandReference(manifest)],
  ]);
}

compile();
for (const [file, content] of await generated()) {
  const path = join(root, file);
  if (!process.argv.includes('--check')) {
    writeFileSync(path, content);
  } else if (readFileSync(path, 'utf8') !== content) {
    console.error(`${file} does not describe the commands as they are: run \`npm run build\``);
    process.exitCode = 1;
  }
}
