import { execFileSync } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { PROCESSORS, type Processor } from './node-runtime.ts';
import { packageVersion } from './program-tree.ts';
import { root } from './published-package.ts';

/** Where the program is in the package. */
const PROGRAM = 'usr/lib/tokenctl';
const UNITS = [
  'tokenctl-jobs.service',
  'tokenctl-broker.service',
  'tokenctl-broker.socket',
  'tokenctl-signals.service',
  'tokenctl-signals.socket',
  'tokenctl-sweep.service',
  'tokenctl-sweep.timer',
];

/** The units to disable before their files are removed. The timer starts the third one. */
export const UNITS_TO_DISABLE = UNITS.filter((unit) => unit !== 'tokenctl-sweep.service');

/**
 * Writes the files of the packages into a folder: the program in /usr/lib/tokenctl, `tokenctl` in /usr/bin, the systemd
 * units, the manual pages and the completions, and what Debian has to know. The units are not enabled: they need a
 * configuration.
 *
 * @param unpacked the folder of the archive; it is left as it is
 */
export function writeDebianTree(
  folder: string,
  { unpacked, processor }: { unpacked: string; processor: Processor },
): void {
  cpSync(unpacked, join(folder, PROGRAM), { recursive: true });
  move(folder, `${PROGRAM}/share/bash-completion`, 'usr/share/bash-completion');
  move(folder, `${PROGRAM}/share/fish`, 'usr/share/fish');
  move(folder, `${PROGRAM}/share/zsh/site-functions`, 'usr/share/zsh/vendor-completions');
  move(folder, `${PROGRAM}/share/man`, 'usr/share/man');
  rmSync(join(folder, PROGRAM, 'share'), { recursive: true });
  mkdirSync(join(folder, 'usr/bin'), { recursive: true });
  symlinkSync('../lib/tokenctl/bin/tokenctl', join(folder, 'usr/bin/tokenctl'));
  for (const unit of UNITS)
    copy(join(root, 'deploy/systemd', unit), join(folder, 'usr/lib/systemd/system', unit));
  const documents = join(folder, 'usr/share/doc/tokenctl');
  copy(join(root, 'deploy/crontab'), join(documents, 'examples/crontab'));
  copy(join(root, 'LICENSE'), join(documents, 'copyright'));
  copy(join(root, 'README.md'), join(documents, 'README.md'));
  // The pages are read by the program, too.
  symlinkSync('../../../lib/tokenctl/lib/tokenctl/docs', join(documents, 'docs'));
  const pages = join(folder, 'usr/share/man/man1');
  for (const page of globSync('*.1', { cwd: pages })) compress(join(pages, page));
  copy(join(root, 'CHANGELOG.md'), join(documents, 'changelog'));
  compress(join(documents, 'changelog'));
  mkdirSync(join(folder, 'etc/tokenctl'), { recursive: true, mode: 0o755 });
  mkdirSync(join(folder, 'etc/tokenctl/secrets'), { mode: 0o700 });
  mkdirSync(join(folder, 'DEBIAN'));
  writeFileSync(join(folder, 'DEBIAN/control'), control(folder, processor));
  for (const [name, script] of Object.entries(SCRIPTS)) {
    writeFileSync(join(folder, 'DEBIAN', name), `#!/bin/sh\nset -e\n${script}`, { mode: 0o755 });
  }
}

/** Makes a Debian package of the folder that {@link writeDebianTree} wrote. */
export function buildDebianPackage(file: string, folder: string): void {
  execFileSync('dpkg-deb', ['--build', '--root-owner-group', '-Zxz', folder, file], { stdio: 'inherit' });
}

function control(folder: string, processor: Processor): string {
  const bytes = globSync('**/*', { cwd: folder })
    .map((file) => statSync(join(folder, file)))
    .reduce((sum, status) => sum + (status.isFile() ? status.size : 0), 0);
  return `Package: tokenctl
Version: ${packageVersion()}
Architecture: ${PROCESSORS[processor]}
Maintainer: The tokenctl maintainers
Installed-Size: ${Math.ceil(bytes / 1024)}
Depends: libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 5)
Section: admin
Priority: optional
Description: admin and ops toolkit for the OAuth2 tokens of automation controllers
 Lists, audits and revokes the OAuth2 tokens of AWX and Ansible Automation Platform,
 contains incidents, and keeps a tamper-evident audit log. Brings its own Node.js.
`;
}

/** What is done after the installation of either package. Version 0.1 had another name for the file of the token. */
export const AFTER_INSTALLATION = `cd /etc/tokenctl/secrets
if [ -e controller.token ] && [ ! -e controller-token ]; then ln -s controller.token controller-token; fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
`;

/** Restarts what runs, with the new files. A unit that does not start again says so itself: the package is installed. */
export const RESTART_RUNNING = `if [ -d /run/systemd/system ]; then
  systemctl try-restart tokenctl-broker.service tokenctl-jobs.service tokenctl-signals.service || true
fi
`;

/** Units are stopped before their files go; systemd reads the units again after each change. */
const SCRIPTS: Readonly<Record<string, string>> = {
  postinst: `${AFTER_INSTALLATION}${RESTART_RUNNING}`,
  prerm: `if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  systemctl disable --now ${UNITS_TO_DISABLE.join(' ')}
fi
`,
  postrm: `if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
if [ "$1" = purge ] && [ -n "$(find /etc/tokenctl /var/lib/tokenctl -type f 2>/dev/null | head -n 1)" ]; then
  echo 'Kept in /etc/tokenctl and /var/lib/tokenctl: configuration, credentials that still work, audit log.'
fi
`,
};

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to);
}

function move(folder: string, from: string, to: string): void {
  mkdirSync(dirname(join(folder, to)), { recursive: true });
  renameSync(join(folder, from), join(folder, to));
}

function compress(file: string): void {
  execFileSync('gzip', ['-9n', file]);
}
