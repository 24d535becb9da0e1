import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { z } from 'zod';
import type { JobKind } from './jobs.ts';
import {
  configurationFile,
  environmentLayer,
  fileLayer,
  isMapping,
  type Layer,
  lineOf,
  mergeLayers,
  parseConfiguration,
} from './layers.ts';
import { absolutePath, type Environment, stateFolderIfKnown } from './paths.ts';
import { type PolicySettings, policySchema } from './policy.ts';
import {
  type AuditLogSettings,
  configurationSchema,
  DATABASE_FILE_CONTEXT,
  ENVIRONMENT_CONTEXT,
  type Settings,
} from './schema.ts';
import { invalidSettings, plainIssue } from './setting-errors.ts';

export interface SettingFlags {
  readonly config?: string | undefined;
  readonly context?: string | undefined;
  readonly logFile?: string | undefined;
  /** A file that contains the URL of a controller's database. It becomes the context of this run. */
  readonly databaseFile?: string | undefined;
}

/** The settings of a run, and the configuration file that `context add` writes to. */
export interface Configuration extends Settings {
  /** Null if the environment defines no folder for it. */
  readonly file: string | null;
  /** Whether the file, the environment or a flag sets the place of the audit log. */
  readonly auditLogNamed: boolean;
  /** The context that the environment selects. It overrides the file's current context. */
  readonly environmentContext: string | undefined;
  /** The current context without flags, in which a scheduler runs jobs without contexts. */
  readonly usualContext: string | undefined;
  /** Why sections that only some commands use are invalid. Reading one of them throws this. */
  readonly invalid: ReadonlyMap<PartSection, TokenctlError>;
}

/** The sections that a lockdown or a revocation does not need. A mistake in one stops only the commands that use it. */
const PART_SECTIONS = [
  'policy',
  'ownerNotices',
  'directories',
  'stores',
  'scheduler',
  'signals',
  'broker',
  'jobs',
] as const;

type PartSection = (typeof PART_SECTIONS)[number];

/**
 * Reads all layers (defaults, file, environment, flags; later ones win), merges them, validates the result
 * against the schema, and freezes it.
 * @param jobKinds The allowed kinds in the `jobs` section.
 * @throws TokenctlError `configuration` with each problem and its file and line, variable or flag
 */
export function loadConfiguration(
  flags: SettingFlags,
  environment: Environment,
  jobKinds: readonly JobKind[],
): Configuration {
  const file = configurationFile(flags.config, environment);
  const fromEnvironment = environmentLayer(environment);
  const fromFile = file === null ? [] : [withoutReservedName(fileLayer(file, environment))];
  const given = [...fromFile, fromEnvironment, flagsLayer(flags, environment)];
  const layers = withLastAuditLog([defaultsLayer(environment), ...given]);
  const { settings, invalid } = checkedSettings(mergeLayers(layers), {
    schema: configurationSchema(jobKinds),
    layers,
  });
  if (settings.currentContext === ENVIRONMENT_CONTEXT) refuseTwoControllers(fromEnvironment.conflicting);
  const configuration = deepFreeze({
    ...settings,
    file: file?.path ?? null,
    auditLogNamed: given.some(setsAuditLog),
    environmentContext: fromEnvironment.values.currentContext,
    usualContext: usualContextOf(mergeLayers([...fromFile, fromEnvironment])),
    invalid,
  });
  return invalid.size === 0 ? configuration : refusing(configuration, invalid);
}

function usualContextOf({ currentContext }: ReturnType<typeof mergeLayers>): string | undefined {
  return typeof currentContext === 'string' ? currentContext : undefined;
}

/** The settings without invalid parts, and the errors of these. Throws for any other error. */
function checkedSettings(
  merged: ReturnType<typeof mergeLayers>,
  by: { readonly schema: ReturnType<typeof configurationSchema>; readonly layers: readonly Layer[] },
): { readonly settings: Settings; readonly invalid: Configuration['invalid'] } {
  const checked = by.schema.safeParse(merged, { error: plainIssue });
  if (checked.success) return { settings: checked.data, invalid: new Map() };
  const { issues } = checked.error;
  const faults = PART_SECTIONS.map(
    (section) => [section, issues.filter(({ path }) => path[0] === section)] as const,
  );
  const found = faults.filter(([, of]) => of.length > 0);
  const parts = found.map(([section]) => section);
  const others = Object.entries(merged).filter(([section]) => !parts.some((part) => part === section));
  const rest = by.schema.safeParse(Object.fromEntries(others), { error: plainIssue });
  if (!rest.success) {
    const more = found.flatMap(([, of]) => of);
    throw invalidSettings(issues.length > more.length ? issues : [...issues, ...rest.error.issues], by);
  }
  return {
    settings: rest.data,
    invalid: new Map(found.map(([section, of]) => [section, invalidSettings(of, by)])),
  };
}

/** A configuration whose invalid parts throw when they are read. */
function refusing(configuration: Configuration, invalid: Configuration['invalid']): Configuration {
  const parts = Array.from(invalid, ([section, error]) => {
    const get = () => {
      throw error;
    };
    return [section, { get, enumerable: true }] as const;
  });
  return Object.freeze(Object.create(configuration, Object.fromEntries(parts)) as Configuration);
}

export function withSettings(configuration: Configuration, settings: Partial<Configuration>): Configuration {
  const values = Object.entries(settings).map(
    ([name, value]) => [name, { value, enumerable: true }] as const,
  );
  return Object.create(configuration, Object.fromEntries(values)) as Configuration;
}

/** The configuration file to write. Throws `configuration` if the environment defines no folder for it. */
export function writableFile({ file }: Configuration): string {
  if (file !== null) return file;
  throw new TokenctlError(
    'configuration',
    'No configuration file: none of TOKENCTL_CONFIG, XDG_CONFIG_HOME and HOME is set',
    { hint: 'Specify a file with --config, or set one of these variables.' },
  );
}

/** The path of an audit log in a file. Throws `configuration` if there is neither a setting nor a folder for it. */
export function auditLogFile({ file }: AuditLogSettings): string {
  if (file !== undefined) return file;
  throw new TokenctlError(
    'configuration',
    'No directory for the audit log: neither XDG_STATE_HOME nor HOME is set',
    {
      hint: 'Set XDG_STATE_HOME to a directory that this user can write to, or specify a file with --log-file.',
    },
  );
}

function defaultsLayer(environment: Environment): Layer {
  const folder = stateFolderIfKnown(environment);
  const auditLog = folder === null ? {} : { file: join(folder, 'audit.jsonl') };
  return { values: { contexts: {}, auditLog }, locate: () => 'the defaults' };
}

function flagsLayer({ context, logFile, databaseFile }: SettingFlags, environment: Environment): Layer {
  if (context !== undefined && databaseFile !== undefined) {
    throw new TokenctlError(
      'usage',
      `Two controllers are selected: by the context "${context}" and by --database-file`,
      { hint: 'Omit one of them.' },
    );
  }
  const flagPath = (path: string) => absolutePath(path, process.cwd(), environment);
  const database = databaseFile !== undefined && { file: flagPath(databaseFile) };
  return {
    values: {
      ...(context !== undefined && { currentContext: context }),
      ...(database && {
        currentContext: DATABASE_FILE_CONTEXT,
        contexts: { [DATABASE_FILE_CONTEXT]: { database } },
      }),
      ...(logFile !== undefined && { auditLog: { file: flagPath(logFile) } }),
    },
    locate: ([section]) => {
      if (section === 'auditLog') return '--log-file';
      return databaseFile === undefined ? '--context' : '--database-file';
    },
  };
}

/** The last layer with a file or a database for the audit log replaces those of earlier layers. */
function withLastAuditLog(layers: readonly Layer[]): readonly Layer[] {
  const deciding = layers.findLastIndex(setsAuditLog);
  return layers.map((layer, index) => (index < deciding ? withoutAuditLog(layer) : layer));
}

function setsAuditLog({ values: { auditLog } }: Layer): boolean {
  return isMapping(auditLog) && ('file' in auditLog || 'database' in auditLog);
}

/** Keeps the layer's other audit log settings, so that they are still validated. */
function withoutAuditLog(layer: Layer): Layer {
  if (!isMapping(layer.values['auditLog'])) return layer;
  const { file: _file, database: _database, ...auditLog } = layer.values['auditLog'];
  return { ...layer, values: { ...layer.values, auditLog } };
}

/** Refuses an environment with two controllers, unless a flag or variable selects a context. */
function refuseTwoControllers(conflicting: readonly string[]): void {
  if (conflicting.length === 0) return;
  throw new TokenctlError(
    'configuration',
    `The environment selects two controllers: ${conflicting.join(' and ')} are set`,
    { hint: 'Unset one of them, or select a context with --context or TOKENCTL_CONTEXT.' },
  );
}

function withoutReservedName(layer: Layer): Layer {
  const { contexts } = layer.values;
  if (!isMapping(contexts) || !Object.hasOwn(contexts, ENVIRONMENT_CONTEXT)) return layer;
  const where = layer.locate(['contexts', ENVIRONMENT_CONTEXT]);
  throw new TokenctlError(
    'configuration',
    `${where}: the name "${ENVIRONMENT_CONTEXT}" is reserved for the context of CONTROLLER_HOST or TOKENCTL_DATABASE.`,
    { hint: 'Choose another name.' },
  );
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}

/**
 * Reads a policy file, which has the shape of the configuration's `policy` section and replaces it. Throws
 * `configuration` if the file is unreadable, or with each problem and its line.
 */
export function policyFile(flag: string, environment: Environment): PolicySettings {
  const path = absolutePath(flag, process.cwd(), environment);
  const { document, lines, values } = parseConfiguration(readPolicy(path), path);
  const policy = values ?? {};
  if (!isMapping(policy))
    throw new TokenctlError('configuration', `${path}: must contain a mapping of rules.`);
  const checked = policySchema.safeParse(policy, { error: plainIssue });
  if (checked.success) return checked.data;
  const issues = checked.error.issues.map((issue) => ({ ...issue, path: ['policy', ...issue.path] }));
  const layer = {
    values: { policy },
    locate: (setting: readonly PropertyKey[]) => `${path}:${lineOf(document, lines, setting.slice(1))}`,
  };
  throw invalidSettings(issues, { schema: z.object({ policy: policySchema }), layers: [layer] });
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
