// Bundles the program and its web interface into dist/, and writes what is made from the jobs and the commands: the list
// of the jobs; oclif.manifest.json, which lets the program start without loading every command; docs/commands.md; and the
// schemas in docs/schemas. With --check it makes no schemas, leaves the list and docs/commands.md alone and fails where
// they are out of date. --program builds all but the web interface and the schemas, --web only the web interface. Types
// are checked by `npm run check:types`.
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, globSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { Plugin } from '@oclif/core';
import { rolldown } from 'rolldown';
import type { DescribedCommand } from '../src/cli/shell-completion.ts';
import { buildWeb } from './build-web.ts';
import { commandReference, usageLine } from './command-reference.ts';
import { INSTALLED, root } from './release/published-package.ts';
import { manualPage } from './release/shell-files.ts';

const dist = join(root, 'dist');
/** The licences of the bundled packages. */
const LICENSES = 'third-party-licenses.txt';

/** What dist/ contains by name: each command, which the framework finds by its path, and the program. */
function entries(): Record<string, string> {
  const commands = globSync('commands/**/*.ts', { cwd: root });
  return {
    ...Object.fromEntries(commands.map((file) => [file.slice(0, -'.ts'.length), file])),
    'src/cli/main': 'src/cli/main.ts',
  };
}

/** Packages that the driver of PostgreSQL loads only if it is told to, or elsewhere than in Node.js. */
const OPTIONAL = ['pg-native', 'pg-cloudflare'];

/**
 * Modules that a change of a controller loads, each with all that it imports statically and no earlier one has, in one
 * file: to find, read and link a hundred small files takes longer than all that they do.
 */
const LOADED_TOGETHER = {
  base: [
    'src/cli/main.ts',
    'src/cli/base-command.ts',
    'src/cli/management/management-command.ts',
    'src/cli/flags/flags.ts',
  ],
  runtime: ['src/app/runtime.ts'],
  database: ['src/targets/database/database-target.ts'],
  'file-log': ['src/audit-log/file-log.ts'],
  change: [
    'src/cli/change/change.ts',
    'src/cli/change/confirmation.ts',
    'src/cli/management/awx-manage.ts',
    'src/cli/revocation/revocation-flow.ts',
  ],
};

/**
 * Bundles the sources and the command framework, so that a start reads a few files instead of two hundred. Every
 * command, and whatever is imported dynamically, is loaded when it is needed. Packages that are installed stay in node_modules.
 */
async function bundle(): Promise<Chunks> {
  const bundler = await bundlerOf(entries(), INSTALLED);
  const { output } = await bundler.write({
    dir: dist,
    sourcemap: true,
    chunkFileNames: 'chunks/[name].js',
    codeSplitting: {
      groups: Object.entries(LOADED_TOGETHER).map(([name, files], index) => ({
        name,
        test: (id) => files.includes(relative(root, id)),
        priority: Object.keys(LOADED_TOGETHER).length - index,
      })),
    },
  });
  await bundler.close();
  const chunks = output.filter((file) => file.type === 'chunk');
  const modules = [...chunks.flatMap(({ moduleIds }) => moduleIds), ...(await bundleSamlWorker())];
  writeFileSync(join(dist, LICENSES), licensesOf(modules));
  removeAllBut(new Set([LICENSES, ...output.map(({ fileName }) => fileName)]));
  return new Map(
    chunks.map(({ fileName, imports, dynamicImports }) => [fileName, [...imports, ...dynamicImports]]),
  );
}

/**
 * Bundles the thread that verifies SAML responses, with all that it imports, into one file beside the chunk that runs it: an
 * upgrade replaces packages as well.
 *
 * @returns Its modules.
 */
async function bundleSamlWorker(): Promise<readonly string[]> {
  const bundler = await bundlerOf({ 'saml-worker': 'service/src/sso/saml-worker.ts' }, []);
  const { output } = await bundler.write({
    file: join(dist, 'chunks/saml-worker.cjs'),
    format: 'cjs',
    codeSplitting: false,
  });
  await bundler.close();
  return output[0].moduleIds;
}

/** A bundler of entries by name, which leaves packages where they are installed. */
function bundlerOf(input: Record<string, string>, installed: readonly string[]) {
  return rolldown({
    cwd: root,
    input,
    platform: 'node',
    // The oldest Node.js that the package supports.
    transform: { target: 'node22.19' },
    // The framework imports TypeScript for plugins of a source tree, which this program has none of.
    external: (id) =>
      id === 'typescript' ||
      isBuiltin(id) ||
      OPTIONAL.includes(id) ||
      installed.some((name) => id === name || id.startsWith(`${name}/`)),
    onLog(level, { code, message }) {
      // A needless dynamic import makes the start slower, but not wrong.
      if (code === 'INEFFECTIVE_DYNAMIC_IMPORT') console.warn(message);
      else if (level === 'warn') throw new Error(message);
    },
  });
}

/** What each file of dist/ imports, at once or when it needs it: files of dist/, and packages. */
type Chunks = ReadonlyMap<string, readonly string[]>;

/**
 * Lists for a command that stays running all that it may ever import, by which it loads that at its start (`src/cli/load-all.ts`).
 *
 * @param id as in the manifest: `jobs:start`
 */
function listAllOf(id: string, chunks: Chunks): void {
  const needed = new Set([`commands/${id.replaceAll(':', '/')}.js`, 'src/cli/main.js']);
  for (const file of needed) for (const each of chunks.get(file) ?? []) needed.add(each);
  const names = [...needed]
    .filter((name) => !isBuiltin(name))
    .map((name) => (chunks.has(name) ? `../${name}` : name));
  writeFileSync(join(dist, `chunks/all-of-${id.replaceAll(':', '-')}.json`), JSON.stringify(names));
}

/** The licences of the packages that modules are from, with their texts, as these licences demand. */
function licensesOf(modules: readonly string[]): string {
  const folders = modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []);
  return [...new Set(folders)]
    .toSorted()
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
        name: string;
        version: string;
        license: string;
      };
      const text = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
      const terms = text === undefined ? '' : `\n\n${readFileSync(join(folder, text), 'utf8').trim()}`;
      return `${name} ${version} (${license})${terms}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}

/** Removes outputs whose source was deleted. */
function removeAllBut(written: ReadonlySet<string>): void {
  for (const file of globSync('**/*.{js,map,json}', { cwd: dist, exclude: ['web/**', 'web-console/**'] })) {
    if (!written.has(file)) rmSync(join(dist, file));
  }
}

/** A command as its definition has it. */
type BuiltCommand = DescribedCommand &
  Partial<Record<'saysJson' | 'staysRunning', boolean> & Record<'exitCodes', string>>;

/** A command for the manifest: with its usage and its whole description. */
function described({ saysJson, staysRunning: _, exitCodes, ...command }: BuiltCommand) {
  const name = command.id.replaceAll(':', ' ');
  const json =
    saysJson !== true && `With --json, prints what \`tokenctl docs --schema "${name}"\` describes.`;
  const description = [command.description, json, exitCodes].filter(Boolean).join('\n\n');
  return { ...command, description, usage: usageLine(command) };
}

/** Writes what is made from the commands. */
async function describeCommands(chunks: Chunks): Promise<void> {
  const plugin = new Plugin({ root, type: 'core', ignoreManifest: true, errorOnManifestCreate: true });
  await plugin.load();
  // Commands are found in the order in which their files happen to be read.
  const commands = Object.entries(plugin.manifest.commands)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([id, command]) => [id, described(command as BuiltCommand)] as const);
  const manifest = { ...plugin.manifest, commands: Object.fromEntries(commands) };
  for (const [id, { staysRunning }] of Object.entries(
    plugin.manifest.commands as Record<string, BuiltCommand>,
  ))
    if (staysRunning === true) listAllOf(id, chunks);
  // npm installs it as a manual page.
  writeFileSync(join(dist, 'tokenctl.1'), manualPage(commands.map(([, command]) => command)));
  writeFileSync(join(root, 'oclif.manifest.json'), JSON.stringify(manifest));
  keep('docs/commands.md', commandReference(manifest));
}

/** The list of the jobs: each file of `jobs/` exports one, under its name in camel case. */
function jobList(): string {
  const names = globSync('jobs/*.ts', { cwd: root })
    .map((file) => basename(file, '.ts'))
    .toSorted();
  const exported = (name: string) => name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  return [
    '// Written by `npm run build` from the files in jobs/.',
    ...names.map((name) => `import { ${exported(name)} } from '../../../jobs/${name}.ts';`),
    "import type { AnyJob } from '../../operations/jobs/job.ts';",
    '',
    '/** Every kind of job. */',
    'export const jobKinds: readonly AnyJob[] = [',
    ...names.map((name) => `  ${exported(name)},`),
    '];',
    '',
  ].join('\n');
}

/** Writes a file, or with --check fails where it is out of date. */
function keep(file: string, content: string): void {
  const path = join(root, file);
  if (!process.argv.includes('--check')) {
    writeFileSync(path, content);
  } else if (readFileSync(path, 'utf8') !== content) {
    console.error(`${file} is out of date: run \`npm run build\``);
    process.exitCode = 1;
  }
}

/** The commit of the sources, for --version; empty without git. */
function commit(): string {
  if (!existsSync(join(root, '.git'))) return '';
  try {
    const words = ['describe', '--always', '--dirty', '--exclude=*'];
    return execFileSync('git', words, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return '';
  }
}

async function buildProgram(): Promise<void> {
  keep('src/app/jobs/job-kinds.ts', jobList());
  const chunks = await bundle();
  writeFileSync(join(dist, 'commit'), commit());
  await describeCommands(chunks);
}

/** In a process of its own, since it takes most of the time. */
async function makeSchemas(): Promise<void> {
  await promisify(execFile)(process.execPath, [join(root, 'scripts/schemas.ts')]);
}

const [program, web, check] = ['--program', '--web', '--check'].map((flag) => process.argv.includes(flag));
await Promise.all([
  web || buildProgram(),
  program || buildWeb(root, licensesOf),
  program || web || check || makeSchemas(),
]);
