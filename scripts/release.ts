// Builds the program, and makes the npm package, the archives, and the Debian and RPM packages. Run `npm ci` first.
//   node scripts/release.ts              everything below, in release/
//   node scripts/release.ts x64          the same for one processor
//   node scripts/release.ts x64 deb      one kind of file: npm, archive, deb or rpm
//   node scripts/release.ts --image DIR  the files of a container image, without Node.js
// For each processor, release/ gets an archive with its own Node.js, a Debian and an RPM package. Beside them are the
// npm package, the bill of materials and the checksums. A package whose tool is missing is left out, and said so.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { billOfMaterials } from './release/bill-of-materials.ts';
import { buildDebianPackage, writeDebianTree } from './release/debian-package.ts';
import { PROCESSORS, type Processor, writeNode } from './release/node-runtime.ts';
import { packageVersion, writePackage, writeProgram } from './release/program-tree.ts';
import { root } from './release/published-package.ts';
import { RPM_PROCESSORS, writeRpmPackage } from './release/rpm-package.ts';
import { shellFiles } from './release/shell-files.ts';

const release = join(root, 'release');
const version = packageVersion();

/** Finds its folder through symbolic links, such as /usr/bin/tokenctl. */
const LAUNCHER = `#!/bin/sh
root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
exec "$root/lib/node/node" "$root/lib/tokenctl/bin/tokenctl.js" "$@"
`;

/** The archive's folder: \`bin\`, \`lib\` and \`share\`, as in a prefix such as /usr/local. */
function writePrefix(folder: string, processor: Processor): void {
  writeProgram(join(folder, 'lib/tokenctl'));
  writeNode(join(folder, 'lib/node'), processor);
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/tokenctl'), LAUNCHER, { mode: 0o755 });
  for (const [path, content] of shellFiles()) {
    mkdirSync(dirname(join(folder, 'share', path)), { recursive: true });
    writeFileSync(join(folder, 'share', path), content);
  }
  for (const file of ['LICENSE', 'README.md']) cpSync(join(root, file), join(folder, file));
}

/** The folder of an image: any user id can write /state in the group 0, as OpenShift runs containers. */
function writeImage(folder: string): void {
  writeProgram(join(folder, 'opt/tokenctl'));
  mkdirSync(join(folder, 'etc/tokenctl'), { recursive: true });
  // TOKENCTL_CONFIG names it: without one, the variables of the controller are enough.
  writeFileSync(
    join(folder, 'etc/tokenctl/tokenctl.yaml'),
    '# Mount a configuration in place of this one.\n',
  );
  // For a shell in the container, as CI systems start one.
  mkdirSync(join(folder, 'usr/local/bin'), { recursive: true });
  symlinkSync('/opt/tokenctl/bin/tokenctl.js', join(folder, 'usr/local/bin/tokenctl'));
  mkdirSync(join(folder, 'state'));
  chmodSync(join(folder, 'state'), 0o770);
}

/** The same input gives the same archive: names in order, no users, one date. */
function compress(folder: string, file: string): void {
  const [parent, name] = [dirname(folder), folder.slice(dirname(folder).length + 1)];
  const options = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', `--mtime=@${sourceDate()}`];
  // With several threads, the result does not depend on their number.
  const env = { ...process.env, XZ_OPT: '-T2' };
  execFileSync('tar', [...options, '-cJf', file, '-C', parent, name], { env });
}

/** The time of the last commit, in seconds, unless the environment has another (reproducible-builds.org). */
function sourceDate(): string {
  const given = process.env['SOURCE_DATE_EPOCH'];
  return given ?? execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' }).trim();
}

/** A program that a release needs: for everything, or for the packages of one kind. */
interface Tool {
  readonly program: string;
  /** The package of Debian that has it. */
  readonly from: string;
  /** What is left out without it; null if there is no release without it. */
  readonly makes: 'Debian packages' | 'RPM packages' | null;
}

/** What a release consists of, and what the tools of each kind make. */
const KINDS = { npm: null, archive: null, deb: 'Debian packages', rpm: 'RPM packages' } as const;

type Kind = keyof typeof KINDS;

const TOOLS: readonly Tool[] = [
  { program: 'tar', from: 'tar', makes: null },
  { program: 'xz', from: 'xz-utils', makes: null },
  { program: 'gzip', from: 'gzip', makes: null },
  { program: 'npm', from: 'npm', makes: null },
  { program: 'dpkg-deb', from: 'dpkg', makes: 'Debian packages' },
  { program: 'rpmbuild', from: 'rpm', makes: 'RPM packages' },
];

/** Gives the date of the last change, for times in the files that are the same each time. */
const GIT: Tool = { program: 'git', from: 'git', makes: null };

const started = performance.now();

function say(text: string): void {
  const seconds = Math.round((performance.now() - started) / 1000);
  process.stdout.write(`${String(seconds).padStart(4)} s  ${text}\n`);
}

function writeRelease(processors: readonly Processor[], kinds: readonly Kind[]): void {
  const wanted = new Set<Tool['makes']>([null, ...kinds.map((kind) => KINDS[kind])]);
  const tools = process.env['SOURCE_DATE_EPOCH'] === undefined ? [...TOOLS, GIT] : TOOLS;
  const missing = tools.filter(
    ({ program, makes }) =>
      wanted.has(makes) && spawnSync(program, ['--version'], { stdio: 'ignore' }).error !== undefined,
  );
  const needed = missing.filter(({ makes }) => makes === null);
  if (needed.length > 0) {
    const packages = needed.map(({ from }) => from).join(' ');
    throw new Error(
      `Missing: ${needed.map(({ program }) => program).join(', ')}. On Debian: apt install ${packages}`,
    );
  }
  const leftOut = missing.map(
    ({ program, from, makes }) => `${makes}: ${program} is missing. On Debian: apt install ${from}`,
  );
  for (const each of leftOut) say(`No ${each}`);
  say('Building the program');
  execFileSync(process.execPath, [join(root, 'scripts/build.ts')], { cwd: root, stdio: 'inherit' });
  rmSync(release, { recursive: true, force: true });
  mkdirSync(release);
  process.env['SOURCE_DATE_EPOCH'] = sourceDate();
  try {
    const possible = kinds.filter(
      (kind) => !missing.some(({ makes }) => makes !== null && makes === KINDS[kind]),
    );
    writeFiles(processors, new Set(possible));
  } finally {
    const sums = checksums();
    writeFileSync(join(release, 'SHA256SUMS'), sums);
    process.stdout.write(`\n${sums}`);
    if (leftOut.length > 0)
      process.stdout.write(`\nLeft out:\n${leftOut.map((each) => `  ${each}\n`).join('')}`);
  }
}

function writeFiles(processors: readonly Processor[], kinds: ReadonlySet<Kind>): void {
  if (kinds.has('npm')) writeNpmPackage();
  writeFileSync(join(release, `tokenctl-${version}.cdx.json`), billOfMaterials());
  if (!kinds.has('archive') && !kinds.has('deb') && !kinds.has('rpm')) return;
  for (const processor of processors) {
    const work = mkdtempSync(join(tmpdir(), 'tokenctl-release-'));
    try {
      const name = `tokenctl-${version}-linux-${processor}`;
      const unpacked = join(work, name);
      say(`Fetching Node.js for ${processor}`);
      writePrefix(unpacked, processor);
      if (kinds.has('archive')) {
        say(`Compressing the archive for ${processor}`);
        compress(unpacked, join(release, `${name}.tar.xz`));
      }
      const debian = join(work, 'debian');
      if (kinds.has('deb') || kinds.has('rpm')) writeDebianTree(debian, { unpacked, processor });
      if (kinds.has('deb')) {
        say(`Making the Debian package for ${processor}`);
        buildDebianPackage(join(release, `tokenctl_${version}_${PROCESSORS[processor]}.deb`), debian);
      }
      if (kinds.has('rpm')) {
        say(`Making the RPM package for ${processor}`);
        const rpm = join(release, `tokenctl-${version}-1.${RPM_PROCESSORS[processor]}.rpm`);
        writeRpmPackage(rpm, { debian, processor, work: join(work, 'rpm') });
      }
    } finally {
      rmSync(work, { recursive: true });
    }
  }
}

function writeNpmPackage(): void {
  say('Packing the npm package');
  const unpacked = mkdtempSync(join(tmpdir(), 'tokenctl-package-'));
  try {
    writePackage(unpacked);
    execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', release], {
      cwd: unpacked,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  } finally {
    rmSync(unpacked, { recursive: true });
  }
}

/** The checksums of what was made, as sha256sum reads them. */
function checksums(): string {
  return readdirSync(release)
    .map((file) => {
      const hash = createHash('sha256')
        .update(readFileSync(join(release, file)))
        .digest('hex');
      return `${hash}  ${file}\n`;
    })
    .join('');
}

// Everyone can read what is made, whatever the umask of the shell.
process.umask(0o022);
const given = process.argv.slice(2);
const known = Object.keys(PROCESSORS) as Processor[];
const kinds = Object.keys(KINDS) as Kind[];
const processors = known.filter((each) => given.includes(each));
const chosen = kinds.filter((each) => given.includes(each));
try {
  if (given[0] === '--image' && given[1] !== undefined) writeImage(given[1]);
  else if (processors.length + chosen.length === new Set(given).size)
    writeRelease(processors.length > 0 ? processors : known, chosen.length > 0 ? chosen : kinds);
  else {
    process.stderr.write(
      `Usage: node scripts/release.ts [${known.join(' | ')}]... [${kinds.join(' | ')}]...\n   or: node scripts/release.ts --image DIR\n`,
    );
    process.exitCode = 2;
  }
} catch (error) {
  // A tool has said why on its own stderr; a stack trace of this script would hide it.
  process.stderr.write(`Error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
