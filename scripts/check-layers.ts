/**
 * Fails where a file or a folder tells of more than one subject (by its size), and where an import points up: each layer lists the layers that it may use, and the packages that it may not.
 * Biome's `noImportCycles` looks after circles between files. Imports of types count as well, but for pages, which may
 * take the types of what they are answered.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Layer {
  /** Other layers that this one may import. Every layer may import itself. */
  readonly uses: readonly string[];
  /** Layers of which it may import types: its answers come from there. */
  readonly typesOf?: readonly string[];
  /** Packages that this layer must not import. */
  readonly without?: readonly string[];
}

const INPUT_AND_OUTPUT = [
  'node:fs',
  'node:net',
  'node:http',
  'node:https',
  'node:child_process',
  'node:process',
  'node:os',
  'undici',
  'pg',
  'pino',
  'fastify',
];

/** What of the shared package has no input or output: everything may use it. */
const SHARED = ['common/src', 'common/src/signals'];
const ADAPTERS = [
  'targets',
  'directories',
  'stores',
  'audit-log',
  'scheduler',
  'notify',
  'signals',
  'broker',
].map((name) => `src/${name}`);
const ADAPTER: Layer = {
  uses: ['src/http', 'src/operations', 'src/domain', 'common/src/db', 'common/src/network'],
};
const COMPOSITION = [
  'src/reports',
  'jobs',
  ...ADAPTERS,
  'src/http',
  'common/src/db',
  'common/src/network',
  'common/src/security-events',
  'src/operations',
  'src/config',
  'src/domain',
];

/** From the top down, as in CONTRIBUTING.md. */
const LAYERS: Readonly<Record<string, Layer>> = {
  commands: {
    uses: [
      'src/console',
      'src/cli',
      'src/app',
      'src/app/service',
      'src/reports',
      'src/operations',
      'src/config',
      'src/domain',
    ],
    without: ['undici', 'pg', 'node:fs', 'node:http'],
  },
  'src/console': {
    uses: [
      'src/cli',
      'src/app',
      'src/reports',
      'src/operations',
      'src/config',
      'src/domain',
      'common/src/network',
    ],
  },
  'src/cli': { uses: ['src/app', 'src/reports', 'src/operations', 'src/config', 'src/domain'] },
  'src/app': { uses: ['src/app/service', ...COMPOSITION] },
  // The one place of the toolkit that reaches the service.
  'src/app/service': { uses: ['src/app', 'src/config', 'service/src'] },
  'src/reports': { uses: ['src/operations', 'src/domain'] },
  jobs: {
    uses: ['src/operations', 'src/config', 'src/domain'],
    without: ['undici', 'pg', 'node:fs', 'node:http'],
  },
  'src/targets': ADAPTER,
  'src/directories': ADAPTER,
  'src/stores': ADAPTER,
  'src/audit-log': ADAPTER,
  'src/scheduler': ADAPTER,
  'src/notify': ADAPTER,
  'src/signals': { uses: [...ADAPTER.uses, 'common/src/security-events'] },
  'src/broker': { uses: [...ADAPTER.uses, 'common/src/security-events'] },
  'src/http': { uses: ['common/src/network'] },
  'src/operations': { uses: ['src/domain'], without: INPUT_AND_OUTPUT },
  'src/config': { uses: ['src/domain'] },
  'src/domain': { uses: [], without: INPUT_AND_OUTPUT },
  // Browser code talks HTTP only.
  'src/web/console': {
    uses: ['common/web'],
    typesOf: ['src/console', 'src/cli', 'src/operations', 'src/reports'],
    without: INPUT_AND_OUTPUT,
  },
  'service/src': { uses: ['common/src/db', 'common/src/security-events', 'common/src/network'] },
  'service/web': { uses: ['common/web'], typesOf: ['service/src'], without: INPUT_AND_OUTPUT },
  'common/src/security-events': { uses: ['common/src/network'] },
  'common/src/db': { uses: [] },
  'common/src/network': { uses: [] },
  'common/src/signals': { uses: [], without: INPUT_AND_OUTPUT },
  'common/src': { uses: ['common/src/signals'], without: INPUT_AND_OUTPUT },
  'common/web': { uses: [], without: INPUT_AND_OUTPUT },
};

/** Packages by folder, and the packages that their tests, benchmarks and scripts may import: the sources' are layers. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  common: ['testing'],
  service: ['common', 'testing'],
  testing: ['common'],
  '.': ['common', 'service', 'testing'],
};

const MAX_LINES = 450;
const MAX_FILES = 32;

/** Layers whose folders build on each other one way as well. */
const ORDERED = ['src/operations', 'src/cli'];

const root = fileURLToPath(new URL('..', import.meta.url));
const SCOPE = '@tokenctl/';
/** What a package lets others import: its `exports`, as pairs of paths from the root. */
const exported = new Map(
  Object.keys(PACKAGES)
    .filter((name) => name !== '.')
    .map((name) => {
      const { exports } = JSON.parse(readFileSync(join(root, name, 'package.json'), 'utf8')) as {
        exports: Readonly<Record<string, string>>;
      };
      return [name, Object.entries(exports)] as const;
    }),
);
const IMPORT = /(\bimport type [^;']*\bfrom|\bfrom|\bimport\s*\(|\bimport)\s*'([^']+)'/g;

const problems: string[] = [];
const folders = new Map<string, number>();
/** What a folder of an ordered layer imports from, with one of the files. */
const arrows = new Map<string, Map<string, string>>();
for (const file of globSync('{src,commands,jobs,service/{src,web},common/{src,web}}/**/*.{ts,tsx}', {
  cwd: root,
})) {
  const text = readFileSync(join(root, file), 'utf8');
  const lines = text.split('\n').length - 1;
  if (lines > MAX_LINES) problems.push(`${file}: ${lines} lines, more than ${MAX_LINES}`);
  folders.set(dirname(file), (folders.get(dirname(file)) ?? 0) + 1);
  const layer = layerOf(file);
  if (layer === undefined) {
    problems.push(`${file}: belongs to no layer (scripts/check-layers.ts lists them)`);
    continue;
  }
  for (const [, how = '', specifier = ''] of text.matchAll(IMPORT)) {
    const imported = pathOf(file, specifier);
    if (ORDERED.includes(layer) && imported !== null) {
      const [from, to] = [partOf(layer, file), partOf(layer, imported)];
      if (to !== null && from !== null && to !== from)
        arrows.set(from, new Map(arrows.get(from)).set(to, file));
    }
    const problem =
      imported === null
        ? forbidden(layer, specifier)
        : (acrossPackages(file, specifier) ?? upward(layer, imported, how.startsWith('import type')));
    if (problem !== undefined) problems.push(`${file}: imports ${specifier}, but ${problem}`);
  }
}
for (const file of globSync('{test,bench,scripts,testing,common/test,service/{test,scripts}}/**/*.{ts,tsx}', {
  cwd: root,
})) {
  for (const [, , specifier = ''] of readFileSync(join(root, file), 'utf8').matchAll(IMPORT)) {
    const other = packageOf(pathOf(file, specifier) ?? file);
    const problem =
      acrossPackages(file, specifier) ??
      (other === packageOf(file) || PACKAGES[packageOf(file)]?.includes(other)
        ? undefined
        : `${packageOf(file)} must not use ${other}`);
    if (problem !== undefined) problems.push(`${file}: imports ${specifier}, but ${problem}`);
  }
}
for (const [folder, count] of folders)
  if (count > MAX_FILES) problems.push(`${folder}: ${count} files, more than ${MAX_FILES}`);
for (const [from, to] of arrows)
  for (const [other, file] of to)
    if (reaches(other, from)) problems.push(`${file}: imports ${other}, which builds on ${from}`);
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;

/** The layer with the longest name that a path is in. */
function layerOf(path: string): string | undefined {
  const around = Object.keys(LAYERS).filter((layer) => path.startsWith(`${layer}/`));
  return around.toSorted((one, other) => other.length - one.length)[0];
}

/** The folder of the package that a path is in. */
function packageOf(path: string): string {
  const [folder = ''] = path.split('/');
  return folder in PACKAGES ? folder : '.';
}

/** The path that a specifier stands for; null if it is of a package that is not ours. */
function pathOf(file: string, specifier: string): string | null {
  if (specifier.startsWith('.')) return normalize(join(dirname(file), specifier));
  if (!specifier.startsWith(SCOPE)) return null;
  const [name = '', ...rest] = specifier.slice(SCOPE.length).split('/');
  const path = `./${rest.join('/')}`;
  for (const [from, to] of exported.get(name) ?? []) {
    const [start = ''] = from.split('*');
    if (from === path || (from.endsWith('*') && path.startsWith(start)))
      return join(name, to.replace('*', path.slice(start.length)));
  }
  return join(name, rest.join('/'));
}

/** Packages know each other by name, and their own files by path. The compiler refuses what is not in `exports`. */
function acrossPackages(file: string, specifier: string): string | undefined {
  const isOther = packageOf(file) !== packageOf(pathOf(file, specifier) ?? file);
  if (specifier.startsWith('.')) return isOther ? 'packages are imported by their names' : undefined;
  return specifier.startsWith(SCOPE) && !isOther ? 'a package imports its own files by path' : undefined;
}

/** The folder or file below a layer that a path is in; null for another layer. */
function partOf(layer: string, path: string): string | null {
  if (!path.startsWith(`${layer}/`)) return null;
  const [part = ''] = path.slice(layer.length + 1).split('/');
  return `${layer}/${part}`;
}

function reaches(from: string, to: string, seen = new Set<string>()): boolean {
  if (from === to) return true;
  if (seen.has(from)) return false;
  seen.add(from);
  return [...(arrows.get(from)?.keys() ?? [])].some((next) => reaches(next, to, seen));
}

function upward(layer: string, imported: string, isType: boolean): string | undefined {
  const other = layerOf(imported);
  if (other !== undefined && isType && LAYERS[layer]?.typesOf?.includes(other) === true) return undefined;
  if (other === layer || SHARED.includes(other ?? '') || LAYERS[layer]?.uses.includes(other ?? ''))
    return undefined;
  if (other === undefined)
    return packageOf(imported) === 'testing' ? `${layer} must not use tests` : undefined;
  return `${layer} must not use ${other}`;
}

function forbidden(layer: string, specifier: string): string | undefined {
  const found = LAYERS[layer]?.without?.find(
    (name) => specifier === name || specifier.startsWith(`${name}/`),
  );
  return found === undefined ? undefined : `${layer} must not use ${found}`;
}
