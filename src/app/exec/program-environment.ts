import type { Secret } from '@tokenctl/common/secret.ts';
import type { Configuration } from '../../config/configuration.ts';
import { contextOf, restContextsOf } from '../../config/contexts.ts';
import { hostVariables, isMapping, ownSecretVariables } from '../../config/layers.ts';

export interface ProgramHost {
  readonly url: string;
  readonly verifyTls: boolean;
}

/** The controller's REST address: the context's, or that of the only context that refers to the database; else null. */
export function programHost(configuration: Configuration): ProgramHost | null {
  const context = contextOf(configuration);
  const rest =
    context.database === undefined
      ? [context]
      : restContextsOf(configuration, context.name)
          .map((name) => contextOf(configuration, name))
          .filter((each) => each.database === undefined);
  const [first] = rest;
  if (first?.url === undefined || rest.some(({ url }) => url !== first.url)) return null;
  return { url: first.url, verifyTls: first.verifyTls ?? true };
}

/** Proxy variables, which a program needs as tokenctl does. */
const PROXY = /^(https?|all|no)_proxy$/i;

/** The variables of this process with tokenctl's credentials. Throws `configuration` if a section is invalid. */
export function credentialVariables(configuration: Configuration): ReadonlySet<string> {
  const own = new Set([...Object.values(hostVariables).flat(), ...ownSecretVariables]);
  // Includes inherited members: another configuration may be the prototype.
  for (const section in configuration)
    for (const name of referencedVariables(configuration[section as keyof Configuration]))
      if (!PROXY.test(name)) own.add(name);
  // A pipeline runner has no context.
  const hasContext = configuration.currentContext !== undefined;
  const usesDatabase = hasContext && contextOf(configuration).database !== undefined;
  if (configuration.auditLog.database !== undefined || usesDatabase) own.add('PGPASSWORD');
  return own;
}

/**
 * The environment of a program: the token and the controller in the variables of the awx CLI and of the
 * Ansible collections, and all other variables except those with tokenctl's credentials.
 * @param options.host Null omits the address: the token must not be sent to another controller.
 * @param options.names Further variables that get the token.
 */
export function programEnvironment(options: {
  readonly environment: NodeJS.ProcessEnv;
  readonly leftOut: ReadonlySet<string>;
  readonly host: ProgramHost | null;
  readonly token: Secret;
  readonly names: readonly string[];
}): NodeJS.ProcessEnv {
  const { environment, leftOut, host, token, names } = options;
  const kept = Object.entries(environment).filter(([name]) => !leftOut.has(name));
  const set = (variables: readonly string[], value: string) => variables.map((name) => [name, value]);
  return Object.fromEntries([
    ...kept,
    ...set([...hostVariables.OAUTH_TOKEN, ...names], token.reveal()),
    ...(host === null
      ? []
      : [...set(hostVariables.HOST, host.url), ...set(hostVariables.VERIFY_SSL, String(host.verifyTls))]),
  ]);
}

/** The variables with secrets that any section of the configuration refers to. */
function referencedVariables(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(referencedVariables);
  if (!isMapping(value)) return [];
  const { env } = value;
  return [...(typeof env === 'string' ? [env] : []), ...Object.values(value).flatMap(referencedVariables)];
}
