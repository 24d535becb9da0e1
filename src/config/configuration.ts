import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TokenctlError } from '../domain/errors.ts';
import { invalidGroups } from './groups.ts';
import {
  configurationFile,
  ENVIRONMENT_CONTEXT,
  environmentLayer,
  fileLayer,
  isMapping,
  type Layer,
  lineOf,
  mergeLayers,
  parseConfiguration,
} from './layers.ts';
import { absolutePath, type Environment, stateFolder } from './paths.ts';
import { type PolicySettings, policySchema } from './policy.ts';
import { configurationSchema, type Settings } from './schema.ts';
import { invalidSettings, plainIssue } from './setting-errors.ts';

/** The global flags that are settings. */
export interface SettingFlags {
  readonly config?: string | undefined;
  readonly context?: string | undefined;
  readonly logFile?: string | undefined;
  /** A file that holds the URL of a controller's database: it makes a context for this run. */
  readonly databaseFile?: string | undefined;
}

/** The settings of a run, and the file that they were read from and that `context add` writes to. */
export interface Configuration extends Settings {
  readonly file: string;
  /** Whether it was said where the audit log is: by the file, the environment or a flag. */
  readonly auditLogNamed: boolean;
  /** The context that the environment chooses, which goes before the file's choice. */
  readonly environmentContext: string | undefined;
}

/**
 * Reads all layers (defaults, file, environment, flags; the later wins), merges them once, checks the
 * whole against the schema, and freezes it.
 *
 * @throws TokenctlError `configuration`: says what is wrong, in which file and line, variable or flag
 */
export function loadConfiguration(flags: SettingFlags, environment: Environment): Configuration {
  const file = configurationFile(flags.config, environment);
  const fromEnvironment = environmentLayer(environment);
  const given = [
    withoutReservedName(fileLayer(file, environment)),
    fromEnvironment,
    flagsLayer(flags, environment),
  ];
  const layers = withOneAuditLog([defaultsLayer(environment), ...given]);
  const checked = configurationSchema.safeParse(mergeLayers(layers), { error: plainIssue });
  if (!checked.success) throw invalidSettings(checked.error.issues, layers);
  const wrong = invalidGroups(checked.data);
  if (wrong.length > 0) throw invalidSettings(wrong, layers);
  if (checked.data.currentContext === ENVIRONMENT_CONTEXT) refuseRivals(fromEnvironment.rivals);
  return deepFreeze({
    ...checked.data,
    file: file.path,
    auditLogNamed: given.some(saysWhereTheLogIs),
    environmentContext: fromEnvironment.values.currentContext,
  });
}

/** The name of the context that `--database-file` makes. */
const FLAG_CONTEXT = 'database';

function defaultsLayer(environment: Environment): Layer {
  return {
    values: { contexts: {}, auditLog: { file: join(stateFolder(environment), 'audit.jsonl') }, policy: {} },
    locate: () => 'the defaults',
  };
}

function flagsLayer({ context, logFile, databaseFile }: SettingFlags, environment: Environment): Layer {
  if (context !== undefined && databaseFile !== undefined) {
    throw new TokenctlError(
      'usage',
      `Two controllers are named: the context "${context}", and --database-file`,
      {
        hint: 'Leave one of them out',
      },
    );
  }
  const flagPath = (path: string) => absolutePath(path, process.cwd(), environment);
  const database = databaseFile !== undefined && { file: flagPath(databaseFile) };
  return {
    values: {
      ...(context !== undefined && { currentContext: context }),
      ...(database && { currentContext: FLAG_CONTEXT, contexts: { [FLAG_CONTEXT]: { database } } }),
      ...(logFile !== undefined && { auditLog: { file: flagPath(logFile) } }),
    },
    locate: ([section]) => {
      if (section === 'auditLog') return '--log-file';
      return databaseFile === undefined ? '--context' : '--database-file';
    },
  };
}

/**
 * The last layer that says where the audit log is decides: one that names a database after another has
 * named a file does not mean both.
 */
function withOneAuditLog(layers: readonly Layer[]): readonly Layer[] {
  const deciding = layers.findLastIndex(saysWhereTheLogIs);
  return layers.map((layer, index) => (index < deciding ? withoutAuditLog(layer) : layer));
}

function saysWhereTheLogIs({ values: { auditLog } }: Layer): boolean {
  return isMapping(auditLog) && ('file' in auditLog || 'database' in auditLog);
}

/** What else it says about the log, and may be wrong, stays. */
function withoutAuditLog(layer: Layer): Layer {
  if (!isMapping(layer.values['auditLog'])) return layer;
  const { file: _file, database: _database, ...auditLog } = layer.values['auditLog'];
  return { ...layer, values: { ...layer.values, auditLog } };
}

/**
 * Two controllers in the environment, and nothing says which is meant.
 *
 * @throws TokenctlError `configuration`
 */
function refuseRivals(rivals: readonly string[]): void {
  if (rivals.length === 0) return;
  throw new TokenctlError(
    'configuration',
    `The environment names two controllers: ${rivals.join(' and ')} are set`,
    {
      hint: 'Unset one of them, or name a context with --context or TOKENCTL_CONTEXT',
    },
  );
}

function withoutReservedName(layer: Layer): Layer {
  const { contexts } = layer.values;
  if (!isMapping(contexts) || !Object.hasOwn(contexts, ENVIRONMENT_CONTEXT)) return layer;
  const where = layer.locate(['contexts', ENVIRONMENT_CONTEXT]);
  throw new TokenctlError(
    'configuration',
    `${where}: a context cannot be called "${ENVIRONMENT_CONTEXT}": CONTROLLER_HOST and its like, or TOKENCTL_DATABASE, make that one.`,
  );
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}

/**
 * Reads a policy from a file of its own, which has the shape of the configuration's `policy` section and
 * takes its place.
 *
 * @throws TokenctlError `configuration` where it cannot be read, or says what no rule takes, with the line
 */
export function policyFile(flag: string, environment: Environment): PolicySettings {
  const path = absolutePath(flag, process.cwd(), environment);
  const { document, lines } = parseConfiguration(readPolicy(path), path);
  const policy: unknown = document.toJS() ?? {};
  if (!isMapping(policy)) {
    throw new TokenctlError('configuration', `${path}: must hold a mapping of rules.`);
  }
  const checked = policySchema.safeParse(policy, { error: plainIssue });
  if (checked.success) return checked.data;
  const issues = checked.error.issues.map((issue) => ({ ...issue, path: ['policy', ...issue.path] }));
  const layer = {
    values: { policy },
    locate: (setting: readonly PropertyKey[]) => `${path}:${lineOf(document, lines, setting.slice(1))}`,
  };
  throw invalidSettings(issues, [layer]);
}

function readPolicy(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    throw new TokenctlError('configuration', `The policy file ${path} ${why}.`, { cause });
  }
}
