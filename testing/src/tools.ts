import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where the system has Chromium: what CHROMIUM names, or the first of its usual names on the PATH; null for nowhere. */
export function findChromium(): string | null {
  return findBrowser('CHROMIUM', ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']);
}

/** Where the system has Firefox: what FIREFOX names, or the first of its usual names on the PATH; null for nowhere. */
export function findFirefox(): string | null {
  return findBrowser('FIREFOX', ['firefox-esr', 'firefox']);
}

function findBrowser(variable: string, names: readonly string[]): string | null {
  const given = process.env[variable];
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const candidates = given ? [given] : folders.flatMap((folder) => names.map((name) => join(folder, name)));
  return candidates.find(isExecutable) ?? null;
}

/** A program that some tests need and a machine may lack. */
interface Tool {
  readonly name: string;
  /** The projects of vitest.config.ts with tests that need it. */
  readonly projects: readonly string[];
  /** Its Debian packages. */
  readonly packages: string;
  readonly isThere: () => boolean;
}

const SYSTEM_FOLDERS = ['/usr/sbin', '/usr/local/sbin'];

/** Whether a program is on the PATH, or where the system keeps servers. */
export function hasProgram(name: string): boolean {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...SYSTEM_FOLDERS];
  return folders.some((folder) => isExecutable(join(folder, name)));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const program = (name: string) => ({ name, isThere: () => hasProgram(name) });

const TOOLS: readonly Tool[] = [
  { ...program('curl'), projects: ['short'], packages: 'curl' },
  { ...program('openssl'), projects: ['short'], packages: 'openssl' },
  { ...program('redis-server'), projects: ['short'], packages: 'redis-server' },
  { ...program('slapd'), projects: ['short', 'soak'], packages: 'slapd ldap-utils' },
  { ...program('promtool'), projects: ['short', 'soak'], packages: 'prometheus' },
  { ...program('kubectl'), projects: ['short', 'soak'], packages: 'kubernetes-client' },
  { ...program('ansible-playbook'), projects: ['browser', 'soak'], packages: 'ansible-core' },
  { ...program('bwrap'), projects: ['service', 'soak'], packages: 'bubblewrap' },
  { ...program('haproxy'), projects: ['soak'], packages: 'haproxy' },
  { ...program('samba'), projects: ['soak'], packages: 'samba-ad-dc samba-ad-provision' },
  { name: 'chromium', projects: ['browser'], packages: 'chromium', isThere: () => findChromium() !== null },
  { name: 'firefox', projects: ['browser'], packages: 'firefox-esr', isThere: () => findFirefox() !== null },
];

/** One line for the tools whose absence skipped tests of these projects, with the command that installs them; none where all are there. */
export function missingTools(projects: readonly string[]): readonly string[] {
  const missing = TOOLS.filter((tool) => tool.projects.some((name) => projects.includes(name))).filter(
    (tool) => !tool.isThere(),
  );
  if (missing.length === 0) return [];
  const names = missing.map(({ name }) => name).join(', ');
  const packages = missing.map((tool) => tool.packages).join(' ');
  return [`Skipped what needs ${names}. On Debian: apt install --no-install-recommends ${packages}`];
}
