import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type Document, isMap, isNode, isScalar, Lexer, LineCounter, parseDocument, visit } from 'yaml';
import { absolutePath, configFolder, type Environment } from './paths.ts';
import { ENVIRONMENT_CONTEXT } from './schema.ts';

/** Values from one source, before they are merged and validated. */
export interface Layer {
  readonly values: RawSettings;
  /** Where the value at this path comes from, in words: `tokenctl.yaml:7`, a variable, a flag. */
  locate(path: readonly PropertyKey[]): string;
}

/** A source's settings: sections of unvalidated values. */
interface RawSettings {
  readonly [section: string]: unknown;
}

export function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Merges layers; later layers override earlier ones. Sections are merged key by key, and a key's value is
 * replaced as a whole. So a context comes from only one layer: a credential from the environment is never
 * sent to an address from a file.
 */
export function mergeLayers(layers: readonly Layer[]): RawSettings {
  const merged: Record<string, unknown> = {};
  for (const { values } of layers) {
    for (const [section, value] of Object.entries(values)) {
      const before = merged[section];
      merged[section] = isMapping(before) && isMapping(value) ? { ...before, ...value } : value;
    }
  }
  return merged;
}

/** The variable with the URL of a controller's database. */
const DATABASE = 'TOKENCTL_DATABASE';
const AUDIT_LOG = 'TOKENCTL_AUDIT_LOG';
const AUDIT_DATABASE = 'TOKENCTL_AUDIT_DATABASE';

/** The environment's layer, in which the selected context is a name. */
interface EnvironmentLayer extends Layer {
  readonly values: RawSettings & { readonly currentContext?: string };
  /** The variables that define two controllers; then the environment has no context. Empty for one or none. */
  readonly conflicting: readonly string[];
}

/**
 * The settings in the environment: tokenctl's own variables, and those of the awx CLI (`CONTROLLER_HOST` and so on,
 * each also under its older name `TOWER_HOST`, which it overrides). If these contain no host, those of the collection
 * `ansible.platform` (`AAP_HOSTNAME` and so on): a credential is never sent to the other tool's host.
 *
 * These variables, or TOKENCTL_DATABASE, make one context, which is the current one unless TOKENCTL_CONTEXT selects
 * another. Secrets are not read here: the context contains the name of their variable.
 */
export function environmentLayer(environment: Environment): EnvironmentLayer {
  const contexts = [hostContext(environment), databaseContext(environment)].filter(
    (context) => context !== undefined,
  );
  const [context, ...others] = contexts;
  const current = value(environment, 'TOKENCTL_CONTEXT') ?? (context && ENVIRONMENT_CONTEXT);
  const auditLog = auditLogOf(environment);
  return {
    values: {
      ...(current && { currentContext: current }),
      ...(context && others.length === 0 && { contexts: { [ENVIRONMENT_CONTEXT]: context } }),
      ...(auditLog && { auditLog }),
    },
    conflicting: others.length === 0 ? [] : [variableOf(environment, 'contexts', 'url'), DATABASE],
    locate: ([section, , key]) => `the environment (${variableOf(environment, section, key)})`,
  };
}

function databaseContext(environment: Environment): RawSettings | undefined {
  return value(environment, DATABASE) === undefined ? undefined : { database: { env: DATABASE } };
}

function auditLogOf(environment: Environment): RawSettings | undefined {
  const file = value(environment, AUDIT_LOG);
  const database = value(environment, AUDIT_DATABASE);
  if (file === undefined && database === undefined) return undefined;
  return {
    ...(file && { file: absolutePath(file, process.cwd(), environment) }),
    ...(database && { database: { env: AUDIT_DATABASE } }),
  };
}

function hostContext(environment: Environment): RawSettings | undefined {
  const host = hostVariable(environment, 'HOST');
  if (host === undefined) return undefined;
  const username = hostVariable(environment, 'USERNAME');
  const password = hostVariable(environment, 'PASSWORD');
  const token = hostVariable(environment, 'OAUTH_TOKEN');
  const verify = hostVariable(environment, 'VERIFY_SSL');
  // The awx CLI prefers the token if both are set.
  const credential = token
    ? { token: { env: token.name } }
    : password && { password: { env: password.name } };
  return {
    url: /^[a-z]+:\/\//i.test(host.value) ? host.value : `https://${host.value}`,
    ...(username && { username: username.value }),
    ...credential,
    ...(verify && { verifyTls: !isOff(verify.value) }),
    ...(verify && isOff(verify.value) && { insecure: true }),
  };
}

function isOff(value: string): boolean {
  return ['false', 'no', 'off', 'f', 'n', '0'].includes(value.toLowerCase());
}

/** The names of the awx CLI's variables in the collection `ansible.platform`. */
const PLATFORM_VARIABLES = {
  HOST: 'AAP_HOSTNAME',
  USERNAME: 'AAP_USERNAME',
  PASSWORD: 'AAP_PASSWORD',
  OAUTH_TOKEN: 'AAP_TOKEN',
  VERIFY_SSL: 'AAP_VALIDATE_CERTS',
} as const;

type HostSuffix = keyof typeof PLATFORM_VARIABLES;

/** The awx CLI's variables under both names, and those of the collection `ansible.platform`. */
export const hostVariables = Object.fromEntries(
  Object.entries(PLATFORM_VARIABLES).map(([of, platform]) => [of, [...awxVariables(of), platform]]),
) as unknown as Readonly<Record<HostSuffix, readonly string[]>>;

/** tokenctl's variables that can contain a password. */
export const ownSecretVariables: readonly string[] = [DATABASE, AUDIT_DATABASE];

function awxVariables(of: string): readonly string[] {
  return [`CONTROLLER_${of}`, `TOWER_${of}`];
}

function hostVariable(environment: Environment, suffix: HostSuffix) {
  const isAwx = awxVariables('HOST').some((name) => value(environment, name) !== undefined);
  for (const name of isAwx ? awxVariables(suffix) : [PLATFORM_VARIABLES[suffix]]) {
    const found = value(environment, name);
    if (found !== undefined) return { name, value: found };
  }
  return undefined;
}

/** An empty variable counts as unset. */
function value(environment: Environment, name: string): string | undefined {
  return environment[name] || undefined;
}

function variableOf(environment: Environment, section?: PropertyKey, key?: PropertyKey): string {
  if (section === 'auditLog') {
    return [AUDIT_LOG, AUDIT_DATABASE].filter((name) => value(environment, name) !== undefined).join(', ');
  }
  if (key === 'database') return DATABASE;
  if (section === 'currentContext') return 'TOKENCTL_CONTEXT';
  const suffixes = { url: 'HOST', username: 'USERNAME', password: 'PASSWORD' } as const;
  const suffix = suffixes[String(key) as keyof typeof suffixes] ?? 'OAUTH_TOKEN';
  return hostVariable(environment, suffix)?.name ?? 'CONTROLLER_*';
}

/** The path of the configuration file. It must exist if a flag or variable contains it. */
interface ConfigurationFile {
  readonly path: string;
  readonly named: boolean;
}

/** The file in `--config`, else in TOKENCTL_CONFIG, else `tokenctl.yaml` in the XDG folder; null if there is none. */
export function configurationFile(
  flag: string | undefined,
  environment: Environment,
): ConfigurationFile | null {
  const named = flag ?? (environment['TOKENCTL_CONFIG'] || undefined);
  if (named !== undefined) return { path: absolutePath(named, process.cwd(), environment), named: true };
  const folder = configFolder(environment);
  return folder === null ? null : { path: join(folder, 'tokenctl.yaml'), named: false };
}

/** Reads the configuration file as a layer, with paths relative to its folder. Throws `configuration`. */
export function fileLayer(file: ConfigurationFile, environment: Environment): Layer {
  const text = readConfiguration(file);
  if (text === undefined) return { values: {}, locate: () => file.path };
  const { document, lines, values: parsed } = parseConfiguration(text, file.path);
  const values = parsed ?? {};
  if (!isMapping(values)) {
    throw new TokenctlError('configuration', `${file.path}: must contain a mapping of settings.`);
  }
  return {
    values: withAbsolutePaths(values, dirname(file.path), environment),
    locate: (path) => `${file.path}:${lineOf(document, lines, path)}`,
  };
}

/** The text of the file; undefined if it does not exist and no flag or variable requires it. */
export function readConfiguration({ path, named }: ConfigurationFile): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' && !named) return undefined;
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    throw new TokenctlError('configuration', `The configuration file ${path} ${why}.`, {
      ...(named && {
        hint: 'It is specified by --config or TOKENCTL_CONFIG; `tokenctl context add` creates one',
      }),
      cause,
    });
  }
}

/** A YAML file: its values, and its nodes with their lines. */
interface ParsedFile {
  readonly values: unknown;
  readonly document: Document;
  readonly lines: LineCounter;
}

/** How many aliases are allowed, and how often they may copy a value: a few nested lines could copy billions. */
const MAX_ALIASES = 1_000;
/** The maximum nesting depth of values. Settings have six levels. */
const MAX_DEPTH = 50;

/** Parses YAML. Throws `configuration` with the line, also for values that are nested or copied too often. */
export function parseConfiguration(text: string, path: string): ParsedFile {
  const lines = new LineCounter();
  try {
    requireBounded(text);
    // The library compares each key with all earlier ones.
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
    const [problem = repeatedKey(document)] = document.errors;
    if (problem === null) {
      const values: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
      requireShallow(values, MAX_DEPTH);
      return { values, document, lines };
    }
    const { line } = lines.linePos(problem.pos[0]);
    throw new TokenctlError('configuration', `${path}:${line}: invalid YAML: ${problem.message}.`);
  } catch (cause) {
    if (cause instanceof ReferenceError) {
      const hint = `Use at most ${MAX_ALIASES} aliases (*name), each with its anchor (&name) before it.`;
      throw new TokenctlError('configuration', `${path}: too many aliases, or an unknown one.`, {
        hint,
        cause,
      });
    }
    if (!(cause instanceof RangeError)) throw cause;
    throw new TokenctlError('configuration', `${path}: the values are nested too deeply.`, {
      hint: `Use at most ${MAX_DEPTH} levels, and no alias (*name) within the value of its own anchor (&name).`,
      cause,
    });
  }
}

/** Throws RangeError for values that are nested deeper, such as one that contains itself through an alias. */
function requireShallow(value: unknown, levels: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (levels === 0) throw new RangeError('nested too deep');
  for (const inner of Object.values(value)) requireShallow(inner, levels - 1);
}

/** A syntax error and its position. */
interface Fault {
  readonly pos: readonly [number];
  readonly message: string;
}

/**
 * Counts aliases before they are resolved, which costs more with each, and nested brackets before they are parsed,
 * which takes kilobytes for each. Throws ReferenceError for too many aliases, RangeError for too many levels.
 */
function requireBounded(text: string): void {
  let [aliases, levels, before] = [0, 0, ''];
  for (const lexeme of new Lexer().lex(text)) {
    // The lexer puts this mark before the text of a scalar, which may start with an asterisk in a block.
    if (before !== '\u001f') {
      if (lexeme.startsWith('*')) aliases += 1;
      if (lexeme === '[' || lexeme === '{') levels += 1;
      if (lexeme === ']' || lexeme === '}') levels -= 1;
    }
    if (levels > MAX_DEPTH) throw new RangeError('nested too deep');
    if (aliases > MAX_ALIASES) throw new ReferenceError('too many aliases');
    before = lexeme;
  }
}

/** The first repeated key in a mapping, or null. */
function repeatedKey(document: Document): Fault | null {
  let found: Fault | null = null;
  visit(document, {
    Map(_key, { items }) {
      const keys = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (keys.has(key.value)) {
          found = { pos: [key.range?.[0] ?? 0], message: 'Map keys must be unique' };
          return visit.BREAK;
        }
        keys.add(key.value);
      }
      return undefined;
    },
  });
  return found;
}

/** The line of the value at a path, or of its nearest parent in the file. */
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
  const paths = new Set(['file', 'caFile', 'certFile', 'keyFile']);
  const walk = (value: unknown): unknown =>
    isMapping(value)
      ? Object.fromEntries(
          Object.entries(value).map(([key, inner]) => [
            key,
            paths.has(key) && typeof inner === 'string' && inner !== ''
              ? absolutePath(inner, base, environment)
              : // The names of claims are those of an issuer.
                key === 'claims'
                ? inner
                : walk(inner),
          ]),
        )
      : value;
  return Object.fromEntries(Object.entries(values).map(([section, value]) => [section, walk(value)]));
}
