import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import type { ApprovalRule } from '../domain/approval.ts';
import { nearestName } from '../domain/nearest-name.ts';
import type { Configuration } from './configuration.ts';
import type { Environment } from './paths.ts';
import {
  type ApprovalSettings,
  type DatabaseContext,
  ENVIRONMENT_CONTEXT,
  namedDatabases,
  type RestContext,
} from './schema.ts';
import { readSecret } from './secrets.ts';

export type NamedContext = NamedRestContext | NamedDatabaseContext;

export type NamedRestContext = RestContext & { readonly name: string };

export type NamedDatabaseContext = DatabaseContext & { readonly name: string };

/**
 * The context to work in: the current one, or `name`, which can also be a component of a platform
 * (`NAME/gateway`, `NAME/controller`), as in results.
 * @throws TokenctlError `configuration` if no context is selected, `not_found` if it does not exist, `usage`
 * if the name stands for several contexts
 */
export function contextOf(configuration: Configuration, name = configuration.currentContext): NamedContext {
  if (name === undefined) {
    throw new TokenctlError('configuration', 'No context is selected', {
      hint: 'Select one with --context, add one with `tokenctl context add NAME --url URL`, or set CONTROLLER_HOST or TOKENCTL_DATABASE.',
    });
  }
  // Every object has a member with a name such as "constructor".
  const settings = Object.hasOwn(configuration.contexts, name)
    ? configuration.contexts[name]
    : componentOf(configuration, name);
  if (settings === undefined) {
    throw namesSeveral(configuration, name)
      ? severalContexts(name)
      : noSuchContext(name, [...Object.keys(configuration.contexts), ...Object.keys(configuration.groups)]);
  }
  return { ...settings, name };
}

/** A REST context limited to the component in a name like `NAME/gateway`; undefined for any other name. */
function componentOf({ contexts }: Configuration, name: string): RestContext | undefined {
  const [, base = '', component] = /^([^/]+)\/(gateway|controller)$/.exec(name) ?? [];
  const context = Object.hasOwn(contexts, base) ? contexts[base] : undefined;
  if (context?.url === undefined || (component !== 'gateway' && component !== 'controller')) return undefined;
  if (context.component !== undefined && context.component !== component) return undefined;
  const { databaseContext, ...others } = context;
  const database = databaseContextOf(context, component);
  return { ...others, component, ...(database !== undefined && { databaseContext: database }) };
}

/** The database context of a context or component. A single name is for the context's component, if it has one. */
export function databaseContextOf(
  { databaseContext, component }: Pick<RestContext, 'databaseContext' | 'component'>,
  part: RestContext['component'] = component,
): string | undefined {
  if (typeof databaseContext !== 'string') return part && databaseContext?.[part];
  return part === component ? databaseContext : undefined;
}

/** The names of a controller's REST contexts whose `databaseContext` is this one. */
export function restContextsOf({ contexts }: Configuration, database: string): readonly string[] {
  return Object.entries(contexts).flatMap(([name, context]) =>
    namedDatabases(context).flatMap(([place, named]) => {
      if (named !== database) return [];
      return place[0] === undefined ? [name] : place[0] === 'controller' ? [`${name}/controller`] : [];
    }),
  );
}

/** The default validity of an approval, in seconds. */
const APPROVAL_VALID_FOR = 86_400;

/**
 * The four-eyes rule of a context, or of one component of a platform: its own settings override those for all
 * contexts. A context without its own takes those of another context for the same controller, by address or
 * as its database. So environment variables cannot bypass the rule.
 */
export function approvalRuleOf(configuration: Configuration, label: string): ApprovalRule {
  const { contexts, approval: forAll } = configuration;
  const name = Object.hasOwn(contexts, label) ? label : label.replace(/\/(gateway|controller)$/, '');
  const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  const sameController = Object.values(contexts).find(
    (other) =>
      other.approval !== undefined &&
      ((other.url !== undefined && sameAddress(other.url, context?.url)) ||
        namedDatabases(other).some(([, database]) => database === name)),
  );
  const own = context?.approval ?? sameController?.approval;
  const { key: _key, ...shared } = forAll ?? {};
  const defaults = {
    required: own !== undefined || forAll !== undefined,
    approvers: {},
    aloneUpTo: 0,
    validFor: APPROVAL_VALID_FOR,
    breakGlass: true,
  };
  return { ...defaults, ...given(shared), ...given(own) };
}

export function sameAddress(url: string, other: string | undefined): boolean {
  return hrefOf(url) === hrefOf(other);
}

function hrefOf(url: string | undefined): string | undefined {
  return url === undefined ? undefined : new URL(url).href.replace(/\/$/, '');
}

function given(settings: Partial<ApprovalSettings> | undefined): Partial<ApprovalRule> {
  const entries = Object.entries(settings ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Partial<ApprovalRule>;
}

/** A REST context that authenticates with the token in a file. Other contexts are unchanged. */
export function withTokenFile(context: NamedContext, file: string): NamedContext {
  if (context.database !== undefined) return context;
  const { username: _name, password: _password, token: _token, ...rest } = context;
  return { ...rest, token: { file } };
}

/** Whether a name stands for several contexts: a comma-separated list, or the name of a group. */
export function namesSeveral({ groups }: Configuration, name: string): boolean {
  return name.includes(',') || Object.hasOwn(groups, name);
}

/** The error for several contexts where only one is allowed. */
export function severalContexts(name: string): TokenctlError {
  return new TokenctlError(
    'usage',
    `This command works in one context at a time, but "${name}" contains several`,
    { hint: 'Select one of them with --context.' },
  );
}

/** The jobs that refer to one of these contexts or groups. */
export function jobsIn(jobs: Configuration['jobs'], names: readonly string[]): string[] {
  return Object.entries(jobs).flatMap(([job, { contexts }]) =>
    contexts?.some((each) => names.includes(each)) === true ? [job] : [],
  );
}

/** The error for an unknown context, with the nearest name. */
export function noSuchContext(name: string, known: readonly string[]): TokenctlError {
  const near = nearestName(name, known);
  const others =
    known.length === 0 ? 'Add one with `tokenctl context add`.' : `Known contexts: ${known.join(', ')}.`;
  return new TokenctlError('not_found', `There is no context "${name}".`, {
    hint: near === undefined ? others : `Did you mean "${near}"?`,
  });
}

/**
 * The distinct names of the contexts to work in, if a list (`east,west`), a group or `all` selects several.
 * Null if one context is selected, or none.
 * @throws TokenctlError `not_found` for an unknown name, `usage` for an empty one, `configuration` if `all`
 * is set and there are no contexts
 */
export function resolveContexts(configuration: Configuration, all: boolean): readonly string[] | null {
  const { contexts, currentContext } = configuration;
  if (all) {
    const names = Object.keys(contexts);
    if (names.length > 0) return names;
    throw new TokenctlError('configuration', 'No contexts are configured', {
      hint: 'Add one with `tokenctl context add NAME --url URL`.',
    });
  }
  if (currentContext === undefined || !namesSeveral(configuration, currentContext)) return null;
  const parts = currentContext.split(',').map((part) => part.trim());
  if (parts.includes('')) {
    throw new TokenctlError('usage', `The context list "${currentContext}" contains an empty name`);
  }
  return expandGroups(configuration, parts).map((name) => contextOf(configuration, name).name);
}

/** Replaces group names by the names of their contexts, without duplicates. Does not check that contexts exist. */
export function expandGroups({ groups }: Configuration, names: readonly string[]): readonly string[] {
  const contexts = names.flatMap(
    (name) => (Object.hasOwn(groups, name) ? groups[name] : undefined) ?? [name],
  );
  return [...new Set(contexts)];
}

export type ContextCredential =
  | { readonly kind: 'token'; readonly token: Secret }
  | { readonly kind: 'password'; readonly username: string; readonly password: Secret };

/** Reads a context's credential. Throws `configuration` if there is none or it cannot be read safely. */
export function credentialOf(context: NamedRestContext, environment: Environment): ContextCredential {
  const { name, url, token, username, password } = context;
  if (token !== undefined && 'file' in token && isLoggedOut(name, token.file))
    throw new TokenctlError('configuration', `The context "${name}" has no token: ${token.file} is missing`, {
      hint: `Log in: tokenctl login ${url}`,
    });
  if (token !== undefined) return { kind: 'token', token: readSecret(token, environment) };
  if (password !== undefined && username !== undefined) {
    return { kind: 'password', username, password: readSecret(password, environment) };
  }
  throw new TokenctlError('configuration', `The context "${name}" has no credential`, {
    hint:
      name === ENVIRONMENT_CONTEXT
        ? 'Set CONTROLLER_OAUTH_TOKEN, or CONTROLLER_USERNAME and CONTROLLER_PASSWORD. With AAP_HOSTNAME, set AAP_TOKEN.'
        : `Add one: tokenctl context add ${name} --replace --url URL --token-file FILE`,
  });
}

/** Whether the file in which `login` stores the token of a context is missing. */
function isLoggedOut(name: string, file: string): boolean {
  return file.endsWith(join('secrets', `${name}.token`)) && !existsSync(file);
}
