import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the repository. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Packages that are installed with the released one. All others that the sources import are bundled into `dist/`: a start reads few
 * files then. These are what only some commands load, and are large, or load files of their own.
 */
export const INSTALLED: readonly string[] = [
  '@electric-sql/pglite',
  '@fastify/cookie',
  '@redis/client',
  'cron',
  'fastify',
  'jose',
  'ldapts',
  'nodemailer',
  'openid-client',
  'pino',
  'prom-client',
  're2js',
];

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly [member: string]: unknown;
}

/** Members of `package.json` that only a checkout needs. */
const OF_CHECKOUT = new Set(['workspaces', 'scripts', 'devDependencies', 'allowScripts']);

/**
 * The text of `package.json` as it is released: its dependencies are those of all workspaces that are not bundled.
 *
 * @throws Error for a package that no workspace depends on
 */
export function publishedManifest(): string {
  const manifest = manifestIn('package.json');
  const workspaces = globSync('{common,service}/package.json', { cwd: root }).map(manifestIn);
  const all = new Map([manifest, ...workspaces].flatMap(({ dependencies }) => Object.entries(dependencies)));
  const dependencies = INSTALLED.map((name) => {
    const version = all.get(name);
    if (version === undefined) throw new Error(`${name} is installed, but no package.json depends on it`);
    return [name, version] as const;
  });
  const members = Object.entries({ ...manifest, dependencies: Object.fromEntries(dependencies) });
  return `${JSON.stringify(Object.fromEntries(members.filter(([name]) => !OF_CHECKOUT.has(name))), null, 2)}\n`;
}

function manifestIn(path: string): Manifest {
  return JSON.parse(readFileSync(join(root, path), 'utf8')) as Manifest;
}

/** What is needed of an entry of package-lock.json. */
export interface LockEntry {
  readonly version?: string;
  readonly optional?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** The entries of package-lock.json by path (`node_modules/pg`). */
export function lockEntries(): ReadonlyMap<string, LockEntry> {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockEntry>;
  };
  return new Map(Object.entries(lock.packages));
}

/** The entries of {@link INSTALLED} and of all that they depend on. */
export function installedEntries(): ReadonlyMap<string, LockEntry> {
  const entries = lockEntries();
  const found = new Map<string, LockEntry>();
  const add = (from: string, name: string) => {
    const path = placeOf(from, name, entries);
    const entry = path === undefined ? undefined : entries.get(path);
    if (path === undefined || entry === undefined || found.has(path)) return;
    found.set(path, entry);
    const { dependencies, optionalDependencies, peerDependencies } = entry;
    for (const needed of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }))
      add(path, needed);
  };
  for (const name of INSTALLED) add('', name);
  return new Map([...found].toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** Where a package finds another: in its own `node_modules`, or in that of a folder above. */
function placeOf(from: string, name: string, entries: ReadonlyMap<string, LockEntry>): string | undefined {
  const folders = from.split('/node_modules/').map((_, index, parts) => parts.slice(0, parts.length - index));
  return [...folders.map((parts) => `${parts.join('/node_modules/')}/`), '']
    .map((folder) => `${folder === '/' ? '' : folder}node_modules/${name}`)
    .find((path) => entries.has(path));
}
