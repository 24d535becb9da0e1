// Builds the documentation as a site of static files in release/docs, with a search that needs no server. Its generator has
// a package.json of its own in scripts/docs-site, which this installs: nothing else needs it.
// Run: npm run docs
import { execFileSync } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
const site = join(import.meta.dirname, 'docs-site');
const output = join(root, 'release/docs');
const pages = join(site, 'pages');

/** The pages, and the pictures in them. */
const FILES = ['CHANGELOG.md', 'SECURITY.md', '{docs,service/docs}/**/*.{md,svg,png}'];
/** What they link to, or name, as it is. */
const BESIDE = ['docs/schemas/*.json', 'deploy/examples/**/*.{yml,yaml}'];

function run(program: string, ...args: string[]): void {
  execFileSync(program, args, { cwd: site, stdio: 'inherit' });
}

rmSync(pages, { recursive: true, force: true });
function copy(file: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(join(root, file), to);
}

/** Without the comments on how a page is made, and with links to what a folder begins with here. */
function pageText(text: string): string {
  return text
    .replaceAll(/^<!--.*?-->\n/gms, '')
    .replaceAll(/(?<=\]\((?:[^()\s]*\/)?)README\.md(?=[)#])/g, 'index.md');
}

for (const file of globSync(FILES, { cwd: root })) {
  // What a folder begins with.
  const page = join(pages, file.replace(/README\.md$/, 'index.md'));
  copy(file, page);
  if (page.endsWith('.md')) writeFileSync(page, pageText(readFileSync(page, 'utf8')));
}
const decisions = globSync('docs/decisions/*.md', { cwd: root })
  .toSorted()
  .map((file) => {
    const [, title = ''] = /^# (.*)$/m.exec(readFileSync(join(root, file), 'utf8')) ?? [];
    return `- [${title}](${basename(file)})\n`;
  });
writeFileSync(join(pages, 'docs/decisions/index.md'), `# Decisions\n\n${decisions.join('')}`);
run('npm', 'ci', '--no-audit', '--no-fund', '--ignore-scripts');
run(process.execPath, 'node_modules/vitepress/bin/vitepress.js', 'build', '.', '--outDir', output);
for (const file of globSync(BESIDE, { cwd: root })) copy(file, join(output, file));
writeFileSync(
  join(output, 'index.html'),
  '<!doctype html><meta http-equiv="refresh" content="0; url=docs/"><a href="docs/">Documentation</a>\n',
);
console.log(`Serve the files of ${output}, for example: npx http-server ${output}`);
