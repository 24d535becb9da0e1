import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Document, isMap, isNode, LineCounter, parseDocument } from 'yaml';
import { TokenctlError } from '../domain/errors.ts';
import { isMapping, type Layer, type RawSettings } from './layer.ts';
import { absolutePath, configFolder, type Environment } from './paths.ts';

/** Which configuration file is meant, and whether somebody named it, so that it has to be there. */
export interface ConfigurationFile {
  readonly path: string;
  readonly named: boolean;
}

/** The file of `--config`, else of TOKENCTL_CONFIG, else `tokenctl.yaml` in the XDG folder. */
export function configurationFile(flag: string | undefined, environment: Environment): ConfigurationFile {
  const named = flag ?? (environment['TOKENCTL_CONFIG'] || undefined);
  return named === undefined
    ? { path: join(configFolder(environment), 'tokenctl.yaml'), named: false }
    : { path: absolutePath(named, process.cwd(), environment), named: true };
}

/**
 * Reads the configuration file as a layer. Paths in it are relative to its folder.
 *
 * @throws TokenctlError `configuration` where it cannot be read or is not YAML
 */
export function fileLayer(file: ConfigurationFile, environment: Environment): Layer {
  const text = readConfiguration(file);
  if (text === undefined) return { values: {}, locate: () => file.path };
  const { document, lines } = parseConfiguration(text, file.path);
  const values: unknown = document.toJS() ?? {};
  if (!isMapping(values)) {
    throw new TokenctlError('configuration', `${file.path}: must hold a mapping of settings.`);
  }
  return {
    values: withAbsolutePaths(values, dirname(file.path), environment),
    locate: (path) => `${file.path}:${lineOf(document, lines, path)}`,
  };
}

/** The file's text; undefined where it does not exist and nobody named it. */
export function readConfiguration({ path, named }: ConfigurationFile): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' && !named) return undefined;
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    throw new TokenctlError('configuration', `The configuration file ${path} ${why}.`, {
      ...(named && {
        hint: 'It is named by --config or TOKENCTL_CONFIG; `tokenctl context add` creates one',
      }),
      cause,
    });
  }
}

/** Parses YAML, refusing what is not well-formed with its line. */
export function parseConfiguration(text: string, path: string): { document: Document; lines: LineCounter } {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [problem] = document.errors;
  if (problem !== undefined) {
    const { line } = lines.linePos(problem.pos[0]);
    throw new TokenctlError('configuration', `${path}:${line}: not well-formed YAML: ${problem.message}.`);
  }
  return { document, lines };
}

/** The line of the value at a path, or of the nearest thing above it that stands in the file. */
export function lineOf(document: Document, lines: LineCounter, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length -= 1) {
    const parent = document.getIn(path.slice(0, length - 1), true);
    const pair = isMap(parent)
      ? parent.items.find(({ key }) => String(key) === String(path[length - 1]))
      : undefined;
    if (isNode(pair?.key) && pair.key.range) return lines.linePos(pair.key.range[0]).line;
  }
  return 1;
}

function withAbsolutePaths(values: RawSettings, base: string, environment: Environment): RawSettings {
  const paths = new Set(['file', 'caFile']);
  const walk = (value: unknown): unknown =>
    isMapping(value)
      ? Object.fromEntries(
          Object.entries(value).map(([key, inner]) => [
            key,
            paths.has(key) && typeof inner === 'string' && inner !== ''
              ? absolutePath(inner, base, environment)
              : walk(inner),
          ]),
        )
      : value;
  return Object.fromEntries(Object.entries(values).map(([section, value]) => [section, walk(value)]));
}
