// Makes the npm package, the archives, and the Debian and RPM packages. Run `npm ci` and `npm run build` first.
//   node scripts/release.ts              everything below, in release/
//   node scripts/release.ts x64          the same for one processor
//   node scripts/release.ts --image DIR  the files of a container image, without Node.js
// For each processor, release/ gets an archive with its own Node.js, a Debian and an RPM package. Beside them are the
// npm package, the bill of materials and the checksums.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { billOfMaterials } from './release/bill-of-materials.ts';
import { writeDebianPackage } from './release/debian-package.ts';
import { PROCESSORS, type Processor, writeNode } from './release/node-runtime.ts';
import { packageVersion, root, writeProgram } from './release/program-tree.ts';
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
  mkdirSync(join(folder, 'state'));
  chmodSync(join(folder, 'state'), 0o770);
}

/** The same input gives the same archive: names in order, no users, one date. */
function compress(folder: string, file: string): void {
  const [parent, name] = [dirname(folder), folder.slice(dirname(folder).length + 1)];
  const options = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', `--mtime=@${sourceDate()}`];
  execFileSync('tar', [...options, '-cJf', file, '-C', parent, name]);
}

/** The time of the last commit, in seconds, unless the environment has another (reproducible-builds.org). */
function sourceDate(): string {
  const given = process.env['SOURCE_DATE_EPOCH'];
  return given ?? execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' }).trim();
}

function writeRelease(processors: readonly Processor[]): void {
  rmSync(release, { recursive: true, force: true });
  mkdirSync(release);
  process.env['SOURCE_DATE_EPOCH'] = sourceDate();
  execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', release], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  writeFileSync(join(release, `tokenctl-${version}.cdx.json`), billOfMaterials());
  for (const processor of processors) {
    const work = mkdtempSync(join(tmpdir(), 'tokenctl-release-'));
    try {
      const name = `tokenctl-${version}-linux-${processor}`;
      const unpacked = join(work, name);
      writePrefix(unpacked, processor);
      compress(unpacked, join(release, `${name}.tar.xz`));
      const file = join(release, `tokenctl_${version}_${PROCESSORS[processor]}.deb`);
      const debian = join(work, 'debian');
      writeDebianPackage(file, { unpacked, processor, folder: debian });
      const rpm = join(release, `tokenctl-${version}-1.${RPM_PROCESSORS[processor]}.rpm`);
      writeRpmPackage(rpm, { debian, processor, work: join(work, 'rpm') });
    } finally {
      rmSync(work, { recursive: true });
    }
  }
  const sums = readdirSync(release).map((file) => {
    const hash = createHash('sha256')
      .update(readFileSync(join(release, file)))
      .digest('hex');
    return `${hash}  ${file}\n`;
  });
  writeFileSync(join(release, 'SHA256SUMS'), sums.join(''));
  process.stdout.write(sums.join(''));
}

// Everybody can read what is made, whatever the umask of the shell.
process.umask(0o022);
const [first, folder] = process.argv.slice(2);
const known = Object.keys(PROCESSORS) as Processor[];
if (first === '--image' && folder !== undefined) writeImage(folder);
else if (first === undefined) writeRelease(known);
else if (known.includes(first as Processor)) writeRelease([first as Processor]);
else {
  process.stderr.write(`Usage: node scripts/release.ts [${known.join(' | ')} | --image DIR]\n`);
  process.exitCode = 2;
}
