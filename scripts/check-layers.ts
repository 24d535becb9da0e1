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

const ADAPTERS = [
  'src/targets',
  'src/directories',
  'src/audit-log',
  'src/scheduler',
  'src/notify',
  'src/signals',
  'common/src/security-events',
  'common/src/db',
  'common/src/network',
];
const ADAPTER: Layer = { uses: ['src/operations', 'src/domain', 'common/src/db', 'common/src/network'] };

/** From the top down, as in CONTRIBUTING.md. */
const LAYERS: Readonly<Record<string, Layer>> = {
  commands: {
    uses: ['src/console', 'src/cli', 'src/app', 'src/reports', 'src/operations', 'src/config', 'src/domain'],
    without: ['undici', 'pg', 'node:fs', 'node:http'],
  },
  'src/console': {
    uses: ['src/cli', 'src/app', 'src/reports', 'src/operations', 'src/config', 'src/domain'],
  },
  'src/cli': { uses: ['src/app', 'src/reports', 'src/operations', 'src/config', 'src/domain'] },
  'src/app': {
    uses: ['src/reports', 'jobs', ...ADAPTERS, 'src/operations', 'src/config', 'src/domain', 'service/src'],
  },
  'src/reports': { uses: ['src/operations', 'src/domain'] },
  jobs: {
    uses: ['src/operations', 'src/config', 'src/domain'],
    without: ['undici', 'pg', 'node:fs', 'node:http'],
  },
  'src/targets': ADAPTER,
  'src/directories': ADAPTER,
  'src/audit-log': ADAPTER,
  'src/scheduler': ADAPTER,
  'src/notify': ADAPTER,
  'src/signals': { uses: [...ADAPTER.uses, 'common/src/security-events'] },
  'src/operations': { uses: ['src/domain'], without: INPUT_AND_OUTPUT },
  'service/src': {
    uses: ['common/src/db', 'src/domain', 'common/src/security-events', 'common/src/network'],
  },
  'common/src/security-events': { uses: ['src/domain', 'common/src/network'] },
  // Browser code talks HTTP only.
  'service/web': {
    uses: ['common/web', 'src/domain'],
    typesOf: ['service/src'],
    without: INPUT_AND_OUTPUT,
  },
  'src/web/console': {
    uses: ['common/web'],
    typesOf: ['src/console', 'src/cli', 'src/operations', 'src/reports'],
    without: INPUT_AND_OUTPUT,
  },
  'common/web': { uses: ['src/domain'], without: INPUT_AND_OUTPUT },
  'common/src/db': { uses: ['src/domain'] },
  'common/src/network': { uses: ['src/domain'] },
  'src/config': { uses: ['src/domain'] },
  'src/domain': { uses: [], without: INPUT_AND_OUTPUT },
};

const MAX_LINES = 450;
const MAX_FILES = 32;

/** Layers whose folders build on each other one way as well. */
const ORDERED = ['src/operations', 'src/cli'];

const root = fileURLToPath(new URL('..', import.meta.url));
const IMPORT = /(\bimport type [^;']*\bfrom|\bfrom|\bimport\s*\(|\bimport)\s*'([^']+)'/g;

const problems: string[] = [];
const folders = new Map<string, number>();
/** What a folder of an ordered layer imports from, with one of the files. */
const arrows = new Map<string, Map<string, string>>();
for (const file of globSync('{src,commands,jobs}/**/*.{ts,tsx}', { cwd: root })) {
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
    if (ORDERED.includes(layer) && specifier.startsWith('.')) {
      const [from, to] = [partOf(layer, file), partOf(layer, normalize(join(dirname(file), specifier)))];
      if (to !== null && from !== null && to !== from)
        arrows.set(from, new Map(arrows.get(from)).set(to, file));
    }
    const problem = specifier.startsWith('.')
      ? upward(layer, normalize(join(dirname(file), specifier)), how.startsWith('import type'))
      : forbidden(layer, specifier);
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

function layerOf(file: string): string | undefined {
  return Object.keys(LAYERS).find((layer) => file.startsWith(`${layer}/`));
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
  if (other === undefined || other === layer || LAYERS[layer]?.uses.includes(other)) return undefined;
  return `${layer} must not use ${other}`;
}

function forbidden(layer: string, specifier: string): string | undefined {
  const found = LAYERS[layer]?.without?.find(
    (name) => specifier === name || specifier.startsWith(`${name}/`),
  );
  return found === undefined ? undefined : `${layer} must not use ${found}`;
}
