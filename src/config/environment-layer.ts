import type { Layer, RawSettings } from './layer.ts';
import { absolutePath, type Environment } from './paths.ts';

/** The name of the context that the awx CLI's variables make. A file cannot define it. */
export const ENVIRONMENT_CONTEXT = 'environment';

/** The variable that holds the URL of a controller's database. */
const DATABASE = 'TOKENCTL_DATABASE';
const AUDIT_LOG = 'TOKENCTL_AUDIT_LOG';
const AUDIT_DATABASE = 'TOKENCTL_AUDIT_DATABASE';

/** The environment's layer: its choice of a context is known to be a name. */
export interface EnvironmentLayer extends Layer {
  readonly values: RawSettings & { readonly currentContext?: string };
  /** The variables that name two controllers: then there is no context of the environment. Empty for one or none. */
  readonly rivals: readonly string[];
}

/**
 * The settings that the environment gives: tokenctl's own variables, and those of the awx CLI as they
 * are (`CONTROLLER_HOST` and so on; each also in its older form `TOWER_HOST`, which it overrides).
 *
 * The awx variables, or TOKENCTL_DATABASE, make one context, which is the current one unless
 * TOKENCTL_CONTEXT names another. Secrets are not read here: the context says in which variable they are.
 */
export function environmentLayer(environment: Environment): EnvironmentLayer {
  const contexts = [awxContext(environment), databaseContext(environment)].filter(
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
    rivals: others.length === 0 ? [] : [variableOf(environment, 'contexts', 'url'), DATABASE],
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

function awxContext(environment: Environment): RawSettings | undefined {
  const host = awxVariable(environment, 'HOST');
  if (host === undefined) return undefined;
  const username = awxVariable(environment, 'USERNAME');
  const password = awxVariable(environment, 'PASSWORD');
  const token = awxVariable(environment, 'OAUTH_TOKEN');
  const verify = awxVariable(environment, 'VERIFY_SSL');
  // The awx CLI prefers the token where both are set.
  const credential = token
    ? { token: { env: token.name } }
    : password && { password: { env: password.name } };
  return {
    url: /^[a-z]+:\/\//i.test(host.value) ? host.value : `https://${host.value}`,
    ...(username && { username: username.value }),
    ...credential,
    ...(verify && { verifyTls: !['false', 'no', 'off', 'f', 'n', '0'].includes(verify.value.toLowerCase()) }),
  };
}

function awxVariable(environment: Environment, suffix: string): { name: string; value: string } | undefined {
  for (const name of [`CONTROLLER_${suffix}`, `TOWER_${suffix}`]) {
    const found = value(environment, name);
    if (found !== undefined) return { name, value: found };
  }
  return undefined;
}

/** An empty variable counts as one that is not set. */
function value(environment: Environment, name: string): string | undefined {
  return environment[name] || undefined;
}

function variableOf(environment: Environment, section?: PropertyKey, key?: PropertyKey): string {
  if (section === 'auditLog') {
    return [AUDIT_LOG, AUDIT_DATABASE].filter((name) => value(environment, name) !== undefined).join(', ');
  }
  if (key === 'database') return DATABASE;
  if (section === 'currentContext') return 'TOKENCTL_CONTEXT';
  const suffix = { url: 'HOST', username: 'USERNAME', password: 'PASSWORD' }[String(key)];
  return awxVariable(environment, suffix ?? 'OAUTH_TOKEN')?.name ?? 'CONTROLLER_*';
}
