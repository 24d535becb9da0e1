// Builds the documentation as a site of static files in release/docs, with a search that needs no server. Its generator has
// a package.json of its own in scripts/docs-site, which this installs: nothing else needs it.
// Run: npm run docs
import { execFileSync } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
const site = join(import.meta.dirname, 'docs-site');
const output = join(root, 'release/docs');
const pages = join(site, 'pages');

/** The pages, and the pictures in them. */
const FILES = ['CHANGELOG.md', 'SECURITY.md', '{docs,service/docs}/**/*.{md,svg,png}'];

function run(program: string, ...args: string[]): void {
  execFileSync(program, args, { cwd: site, stdio: 'inherit' });
}

rmSync(pages, { recursive: true, force: true });
for (const file of globSync(FILES, { cwd: root })) {
  const copy = join(pages, file);
  mkdirSync(dirname(copy), { recursive: true });
  copyFileSync(join(root, file), copy);
}
run('npm', 'ci', '--no-audit', '--no-fund', '--ignore-scripts');
run(process.execPath, 'node_modules/vitepress/bin/vitepress.js', 'build', '.', '--outDir', output);
writeFileSync(
  join(output, 'index.html'),
  '<!doctype html><meta http-equiv="refresh" content="0; url=docs/"><a href="docs/">Documentation</a>\n',
);
console.log(`Serve the files of ${output}, for example: npx http-server ${output}`);
