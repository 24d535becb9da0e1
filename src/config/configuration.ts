import { join } from 'node:path';
import { TokenctlError } from '../core/errors.ts';
import { ENVIRONMENT_CONTEXT, environmentLayer } from './environment-layer.ts';
import { configurationFile, fileLayer } from './file-layer.ts';
import { invalidSettings } from './invalid-settings.ts';
import { isMapping, type Layer, mergeLayers } from './layer.ts';
import { absolutePath, type Environment, stateFolder } from './paths.ts';
import { plainIssue } from './plain-issue.ts';
import { configurationSchema, type Settings } from './schema.ts';

/** The global flags that are settings. */
export interface SettingFlags {
  readonly config?: string | undefined;
  readonly context?: string | undefined;
  readonly logFile?: string | undefined;
}

/** The settings of a run, and the file that they were read from and that `context add` writes to. */
export interface Configuration extends Settings {
  readonly file: string;
  /** Whether the audit log's path was given: by the file, the environment or a flag. */
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
  const layers = [defaultsLayer(environment), ...given];
  const checked = configurationSchema.safeParse(mergeLayers(layers), { error: plainIssue });
  if (!checked.success) throw invalidSettings(checked.error.issues, layers);
  return deepFreeze({
    ...checked.data,
    file: file.path,
    auditLogNamed: given.some(({ values }) => isMapping(values['auditLog']) && 'file' in values['auditLog']),
    environmentContext: fromEnvironment.values.currentContext,
  });
}

function defaultsLayer(environment: Environment): Layer {
  return {
    values: { contexts: {}, auditLog: { file: join(stateFolder(environment), 'audit.jsonl') }, policy: {} },
    locate: () => 'the defaults',
  };
}

function flagsLayer({ context, logFile }: SettingFlags, environment: Environment): Layer {
  return {
    values: {
      ...(context !== undefined && { currentContext: context }),
      ...(logFile !== undefined && { auditLog: { file: absolutePath(logFile, process.cwd(), environment) } }),
    },
    locate: ([section]) => (section === 'currentContext' ? '--context' : '--log-file'),
  };
}

function withoutReservedName(layer: Layer): Layer {
  const { contexts } = layer.values;
  if (!isMapping(contexts) || !Object.hasOwn(contexts, ENVIRONMENT_CONTEXT)) return layer;
  const where = layer.locate(['contexts', ENVIRONMENT_CONTEXT]);
  throw new TokenctlError(
    'configuration',
    `${where}: a context cannot be called "${ENVIRONMENT_CONTEXT}": CONTROLLER_HOST and its like make that one.`,
  );
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
