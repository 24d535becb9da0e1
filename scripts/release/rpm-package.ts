import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AFTER_INSTALLATION, RESTART_RUNNING, UNITS_TO_DISABLE } from './debian-package.ts';
import { packageVersion } from './program-tree.ts';

/** RPM's names of processors. */
export const RPM_PROCESSORS = { x64: 'x86_64', arm64: 'aarch64' } as const;

/**
 * Makes an RPM package with the files of the Debian package. As there, the units are not enabled.
 *
 * @param file the package to write
 * @param debian the folder that the Debian package was made of; it is left as it is
 * @param work a folder to build in, which does not exist yet
 */
export function writeRpmPackage(
  file: string,
  { debian, processor, work }: { debian: string; processor: keyof typeof RPM_PROCESSORS; work: string },
): void {
  const tree = join(work, 'tree');
  cpSync(debian, tree, { recursive: true, verbatimSymlinks: true });
  rmSync(join(tree, 'DEBIAN'), { recursive: true });
  // Debian's zsh looks for the completions of packages in a folder of its own.
  renameSync(join(tree, 'usr/share/zsh/vendor-completions'), join(tree, 'usr/share/zsh/site-functions'));
  const files = globSync('usr/{bin,lib/systemd/system,share}/**', { cwd: tree, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join('/', entry.parentPath.slice(tree.length), entry.name));
  const spec = join(work, 'tokenctl.spec');
  writeFileSync(spec, specOf(files.toSorted()));
  mkdirSync(join(work, 'rpms'));
  const defined = Object.entries({
    _topdir: work,
    _rpmdir: join(work, 'rpms'),
    _build_name_fmt: 'tokenctl.rpm',
    _dbpath: join(work, 'database'),
    // The same input gives the same package.
    _buildhost: 'localhost',
    use_source_date_epoch_as_buildtime: '1',
    clamp_mtime_to_source_date_epoch: '1',
    // Every version of RPM in use can read it.
    _binary_payload: 'w6T2.xzdio',
    // The programs in the tree stay as they are: not stripped, not scanned.
    __os_install_post: '%{nil}',
    debug_package: '%{nil}',
    _build_id_links: 'none',
    tree,
  }).flatMap(([name, value]) => ['--define', `${name} ${value}`]);
  execFileSync('rpmbuild', ['-bb', '--quiet', '--target', RPM_PROCESSORS[processor], ...defined, spec], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  cpSync(join(work, 'rpms/tokenctl.rpm'), file);
}

/** Libraries are required by their own names, which are the same in all distributions. */
function specOf(files: readonly string[]): string {
  return `Name: tokenctl
Version: ${packageVersion().replaceAll('-', '~')}
Release: 1
Summary: Admin and ops toolkit for the OAuth2 tokens of automation controllers
License: MIT
AutoReqProv: no
Requires: libc.so.6(GLIBC_2.28)(64bit), libgcc_s.so.1()(64bit), libstdc++.so.6()(64bit)

%description
Lists, audits and revokes the OAuth2 tokens of AWX and Ansible Automation Platform,
contains incidents, and keeps a tamper-evident audit log. Brings its own Node.js.

%install
cp -a %{tree}/. %{buildroot}/

%files
%defattr(-,root,root)
/usr/lib/tokenctl
%dir /etc/tokenctl
%dir %attr(0700,root,root) /etc/tokenctl/secrets
${files.join('\n')}

%post
${AFTER_INSTALLATION}
%preun
if [ "$1" = 0 ] && [ -d /run/systemd/system ]; then systemctl disable --now ${UNITS_TO_DISABLE.join(' ')}; fi

%postun
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi

%posttrans
${RESTART_RUNNING}`;
}
