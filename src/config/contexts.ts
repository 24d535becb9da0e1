import { Document } from 'yaml';
import { TokenctlError } from '../domain/errors.ts';
import type { Secret } from '../domain/secret.ts';
import type { Configuration } from './configuration.ts';
import { addToGroup } from './groups.ts';
import { ENVIRONMENT_CONTEXT, parseConfiguration, readConfiguration } from './layers.ts';
import { nearestName } from './nearest-name.ts';
import { type Environment, replaceFile } from './paths.ts';
import { contextNamePattern, contextSchema, type DatabaseContext, type RestContext } from './schema.ts';
import { readSecret } from './secrets.ts';
import { plainIssue } from './setting-errors.ts';

/** A context with its name. */
export type NamedContext = NamedRestContext | NamedDatabaseContext;

/** A context whose controller is reached over its REST API, with its name. */
export type NamedRestContext = RestContext & { readonly name: string };

/** A context whose controller is reached in its database, with its name. */
type NamedDatabaseContext = DatabaseContext & { readonly name: string };

/**
 * The context to work in: the current one, or `name`.
 *
 * @throws TokenctlError `configuration` where none is chosen, `not_found` where there is no such one
 */
export function contextOf(configuration: Configuration, name = configuration.currentContext): NamedContext {
  if (name === undefined) {
    throw new TokenctlError('configuration', 'No context is chosen: which controller is meant?', {
      hint: 'Make one with `tokenctl context add NAME --url URL`, name one with --context, or set CONTROLLER_HOST or TOKENCTL_DATABASE.',
    });
  }
  // A name such as "constructor" is found in every object.
  const settings = Object.hasOwn(configuration.contexts, name) ? configuration.contexts[name] : undefined;
  if (settings === undefined) {
    throw meansSeveral(configuration, name)
      ? severalContexts(name)
      : noSuchContext(name, [...Object.keys(configuration.contexts), ...Object.keys(configuration.groups)]);
  }
  return { ...settings, name };
}

/** Whether a name stands for several contexts: it is a list of them, or a group's. */
export function meansSeveral({ groups }: Configuration, name: string): boolean {
  return name.includes(',') || Object.hasOwn(groups, name);
}

function severalContexts(name: string): TokenctlError {
  return new TokenctlError('usage', `This works in one context at a time, and "${name}" means several`, {
    hint: 'Name one of them.',
  });
}

/**
 * Makes sure that a context can be added under this name, before anything is asked or stored for it.
 *
 * @throws TokenctlError `usage` where the name is taken and `replace` is not set, or is not free to use
 */
export function requireFreeName(configuration: Configuration, name: string, replace: boolean): void {
  if (name === ENVIRONMENT_CONTEXT) {
    throw new TokenctlError(
      'usage',
      `"${name}" is the name of the context that CONTROLLER_HOST or TOKENCTL_DATABASE makes`,
    );
  }
  if (!contextNamePattern.test(name)) {
    throw new TokenctlError('usage', `"${name}" cannot name a context: use letters, digits, dots and dashes`);
  }
  if (Object.hasOwn(configuration.groups, name)) {
    throw new TokenctlError('usage', `"${name}" is the name of a group in ${configuration.file}`, {
      hint: 'Choose another name.',
    });
  }
  if (Object.hasOwn(configuration.contexts, name) && !replace) {
    throw new TokenctlError('usage', `There is a context "${name}" already in ${configuration.file}`, {
      hint: 'Choose another name, or add --replace',
    });
  }
}

/** A context as flags give it: unchecked. */
export type ContextDraft = { readonly [setting in keyof RestContext]?: unknown };

/**
 * Checks a context before it is written.
 *
 * @throws TokenctlError `usage` saying which part cannot be meant
 */
export function checkedContext(name: string, draft: ContextDraft): NamedContext {
  const checked = contextSchema.safeParse(draft, { error: plainIssue });
  if (checked.success) return { ...checked.data, name };
  const problems = checked.error.issues.map(({ path, message }) => `${path.join('.') || name} ${message}`);
  throw new TokenctlError('usage', `The context cannot be made: ${problems.join('; ')}`);
}

/**
 * Writes a context into the configuration file, which keeps its comments, and into the groups that are named; the
 * first context becomes current.
 */
export function addContext(
  file: string,
  { name, ...settings }: NamedContext,
  groups: readonly string[] = [],
): void {
  editFile(file, (document) => {
    document.setIn(['contexts', name], document.createNode(settings));
    for (const group of groups) addToGroup(document, { group, name });
    if (!document.has('currentContext')) document.set('currentContext', name);
  });
}

/**
 * Makes a context of the file the current one.
 *
 * @throws TokenctlError `not_found` where the file has no such context
 */
export function useContext(configuration: Configuration, name: string): void {
  const { [ENVIRONMENT_CONTEXT]: _, ...inFile } = configuration.contexts;
  if (meansSeveral(configuration, name)) throw severalContexts(name);
  if (!Object.hasOwn(inFile, name)) throw noSuchContext(name, Object.keys(inFile));
  editFile(configuration.file, (document) => document.set('currentContext', name));
}

function noSuchContext(name: string, known: readonly string[]): TokenctlError {
  const near = nearestName(name, known);
  const others = known.length === 0 ? 'There are none yet.' : `There are: ${known.join(', ')}.`;
  return new TokenctlError('not_found', `There is no context "${name}".`, {
    hint: near === undefined ? others : `Did you mean "${near}"?`,
  });
}

function editFile(file: string, edit: (document: Document) => void): void {
  const text = readConfiguration({ path: file, named: false });
  const document = text === undefined ? new Document({}) : parseConfiguration(text, file).document;
  edit(document);
  replaceFile(file, document.toString());
}

/**
 * The names of the contexts to work in, each once, where several are meant: by a list (`east,west`), by a group, or
 * all of them. Null where it is one, named by itself or chosen as the current one.
 *
 * @throws TokenctlError `not_found` for a name that is no context's and no group's, `usage` for a name that is empty,
 * `configuration` where all are meant and there is none.
 */
export function contextsMeant(configuration: Configuration, all: boolean): readonly string[] | null {
  const { contexts, currentContext } = configuration;
  if (all) {
    const names = Object.keys(contexts);
    if (names.length > 0) return names;
    throw new TokenctlError('configuration', 'There are no contexts to work in', {
      hint: 'Make one with `tokenctl context add NAME --url URL`.',
    });
  }
  if (currentContext === undefined || !meansSeveral(configuration, currentContext)) return null;
  const parts = currentContext.split(',').map((part) => part.trim());
  if (parts.includes('')) {
    throw new TokenctlError('usage', `"${currentContext}" is a list of contexts with an empty name in it`);
  }
  return withoutGroups(configuration, parts).map((name) => contextOf(configuration, name).name);
}

/** The names with those of groups replaced by their contexts', each once; whether a context exists is not checked. */
export function withoutGroups({ groups }: Configuration, names: readonly string[]): readonly string[] {
  const contexts = names.flatMap(
    (name) => (Object.hasOwn(groups, name) ? groups[name] : undefined) ?? [name],
  );
  return [...new Set(contexts)];
}

/** How a context signs in. */
export type ContextCredential =
  | { readonly kind: 'token'; readonly token: Secret }
  | { readonly kind: 'password'; readonly username: string; readonly password: Secret };

/**
 * Reads the credential of a context from where the context says it is.
 *
 * @throws TokenctlError `configuration` where it has none, or it cannot be read safely
 */
export function credentialOf(context: NamedRestContext, environment: Environment): ContextCredential {
  const { name, token, username, password } = context;
  if (token !== undefined) return { kind: 'token', token: readSecret(token, environment) };
  if (password !== undefined && username !== undefined) {
    return { kind: 'password', username, password: readSecret(password, environment) };
  }
  throw new TokenctlError('configuration', `The context "${name}" has no credential`, {
    hint:
      name === ENVIRONMENT_CONTEXT
        ? 'Set CONTROLLER_OAUTH_TOKEN, or CONTROLLER_USERNAME and CONTROLLER_PASSWORD'
        : `Give it one: tokenctl context add ${name} --replace --url URL --token-file FILE`,
  });
}
