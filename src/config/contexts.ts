import { statSync } from 'node:fs';
import { Document, isMap, isScalar, isSeq } from 'yaml';
import type { ApprovalRule } from '../domain/approval.ts';
import { TokenctlError } from '../domain/errors.ts';
import { nearestName } from '../domain/nearest-name.ts';
import type { Secret } from '../domain/secret.ts';
import { type Configuration, writableFile } from './configuration.ts';
import { parseConfiguration, readConfiguration } from './layers.ts';
import { MACHINE } from './machine-place.ts';
import { type Environment, replaceFile } from './paths.ts';
import {
  type ApprovalSettings,
  contextNamePattern,
  contextSchema,
  type DatabaseContext,
  ENVIRONMENT_CONTEXT,
  isGroupName,
  namedDatabases,
  type RestContext,
} from './schema.ts';
import { readSecret } from './secrets.ts';
import { plainIssue } from './setting-errors.ts';

export type NamedContext = NamedRestContext | NamedDatabaseContext;

/** A context whose controller is reached over its REST API, with its name. */
export type NamedRestContext = RestContext & { readonly name: string };

/** A context whose controller is reached in its database, with its name. */
export type NamedDatabaseContext = DatabaseContext & { readonly name: string };

/**
 * The context to work in: the current one, or `name`, which can also be one component of a platform (`NAME/gateway`,
 * `NAME/controller`), as results call it.
 *
 * @throws TokenctlError `configuration` if no context is selected, `not_found` if it does not exist, `usage` if the name
 * stands for several contexts
 */
export function contextOf(configuration: Configuration, name = configuration.currentContext): NamedContext {
  if (name === undefined) {
    throw new TokenctlError('configuration', 'No context is selected', {
      hint: 'Select one with --context, add one with `tokenctl context add NAME --url URL`, or set CONTROLLER_HOST or TOKENCTL_DATABASE.',
    });
  }
  // A name such as "constructor" is found in every object.
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

/** A REST context limited to the component that a name like `NAME/gateway` ends with; undefined for any other name. */
function componentOf({ contexts }: Configuration, name: string): RestContext | undefined {
  const [, base = '', component] = /^([^/]+)\/(gateway|controller)$/.exec(name) ?? [];
  const context = Object.hasOwn(contexts, base) ? contexts[base] : undefined;
  if (context?.url === undefined || (component !== 'gateway' && component !== 'controller')) return undefined;
  if (context.component !== undefined && context.component !== component) return undefined;
  const { databaseContext, ...others } = context;
  const database = databaseContextOf(context, component);
  return { ...others, component, ...(database !== undefined && { databaseContext: database }) };
}

/**
 * The database context that goes with a context, or with one component of the platform there: a single name belongs to the
 * component that the context names, and to none if that is both.
 */
export function databaseContextOf(
  { databaseContext, component }: Pick<RestContext, 'databaseContext' | 'component'>,
  part: RestContext['component'] = component,
): string | undefined {
  if (typeof databaseContext !== 'string') return part && databaseContext?.[part];
  return part === component ? databaseContext : undefined;
}

/** The names of the REST contexts of a controller whose `databaseContext` is this one. */
export function restContextsOf({ contexts }: Configuration, database: string): readonly string[] {
  return Object.entries(contexts).flatMap(([name, context]) =>
    namedDatabases(context).flatMap(([place, named]) => {
      if (named !== database) return [];
      return place[0] === undefined ? [name] : place[0] === 'controller' ? [`${name}/controller`] : [];
    }),
  );
}

/** For how long an approval is valid if nothing else is configured, in seconds. */
const APPROVAL_VALID_FOR = 86_400;

/**
 * The rule of two persons in a context, or in one component of a platform: its own settings over those for all contexts. A
 * context without its own takes those of another one for the same controller: with the same address, or that names it as its
 * database. So the variables of the environment do not lead around the rule.
 */
export function approvalRuleOf(configuration: Configuration, label: string): ApprovalRule {
  const { contexts, approval: forAll } = configuration;
  const name = Object.hasOwn(contexts, label) ? label : label.replace(/\/(gateway|controller)$/, '');
  const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  const sameController = Object.values(contexts).find(
    (other) =>
      other.approval !== undefined &&
      ((other.url !== undefined && hrefOf(other.url) === hrefOf(context?.url)) ||
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

function hrefOf(url: string | undefined): string | undefined {
  return url === undefined ? undefined : new URL(url).href.replace(/\/$/, '');
}

function given(settings: Partial<ApprovalSettings> | undefined): Partial<ApprovalRule> {
  const entries = Object.entries(settings ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Partial<ApprovalRule>;
}

/** A context over REST that authenticates with the token in a file instead of its own credential; others unchanged. */
export function withTokenFile(context: NamedContext, file: string): NamedContext {
  if (context.database !== undefined) return context;
  const { username: _name, password: _password, token: _token, ...rest } = context;
  return { ...rest, token: { file } };
}

/** Whether a name stands for several contexts: it is a comma-separated list, or the name of a group. */
function namesSeveral({ groups }: Configuration, name: string): boolean {
  return name.includes(',') || Object.hasOwn(groups, name);
}

function severalContexts(name: string): TokenctlError {
  return new TokenctlError(
    'usage',
    `This command works in one context at a time, and "${name}" names several`,
    {
      hint: 'Name one of them with --context.',
    },
  );
}

/**
 * Checks that a context can be added under this name.
 *
 * @throws TokenctlError `usage` if the name is invalid, reserved, a group's, or taken and `replace` is not set
 */
export function requireFreeName(configuration: Configuration, name: string, replace: boolean): void {
  if (name === ENVIRONMENT_CONTEXT) {
    throw new TokenctlError(
      'usage',
      `"${name}" is reserved for the context of CONTROLLER_HOST or TOKENCTL_DATABASE`,
      { hint: 'Choose another name.' },
    );
  }
  if (!contextNamePattern.test(name)) {
    throw new TokenctlError(
      'usage',
      `"${name}" is not a valid context name: use letters, digits, dots and dashes`,
    );
  }
  if (Object.hasOwn(configuration.groups, name)) {
    throw new TokenctlError('usage', `"${name}" is the name of a group in ${configuration.file}`, {
      hint: 'Choose another name.',
    });
  }
  if (Object.hasOwn(configuration.contexts, name) && !replace) {
    throw new TokenctlError('usage', `The context "${name}" already exists in ${configuration.file}`, {
      hint: 'Choose another name, or add --replace.',
    });
  }
}

/**
 * Checks the groups that a new context is to be added to.
 *
 * @throws TokenctlError `usage` if one is the name of a context or not a valid name
 */
export function requireGroupNames(
  { contexts }: Pick<Configuration, 'contexts'>,
  { context, groups }: { readonly context: string; readonly groups: readonly string[] },
): void {
  for (const name of groups) {
    if (name === context || Object.hasOwn(contexts, name)) {
      throw new TokenctlError('usage', `"${name}" is the name of a context`, {
        hint: 'Choose another name for the group.',
      });
    }
    if (!isGroupName(name)) {
      throw new TokenctlError('usage', `Invalid group name "${name}"`, {
        hint: 'Use letters, digits, dots and dashes.',
      });
    }
  }
}

/** A context as flags give it: unchecked. */
export type ContextDraft = { readonly [setting in keyof RestContext]?: unknown };

/**
 * Checks a context before it is written.
 *
 * @throws TokenctlError `usage` that lists the invalid settings
 */
export function checkedContext(name: string, draft: ContextDraft): NamedContext {
  const checked = contextSchema.safeParse(draft, { error: plainIssue });
  if (checked.success) return { ...checked.data, name };
  const problems = checked.error.issues.map(({ path, message }) => `${path.join('.') || name} ${message}`);
  throw new TokenctlError('usage', `Invalid context: ${problems.join('; ')}`);
}

/**
 * Writes a context to the configuration file, whose comments are kept, and adds it to groups. A context that it replaces hands
 * on its rule of two persons. The first context of the
 * file becomes the current one.
 */
export function addContext(
  file: string,
  { name, ...settings }: NamedContext,
  groups: readonly string[] = [],
): void {
  editFile(file, (document) => {
    const approval: unknown = document.getIn(['contexts', name, 'approval']);
    document.setIn(['contexts', name], document.createNode(settings));
    if (approval !== undefined) document.setIn(['contexts', name, 'approval'], approval);
    for (const group of groups) addToGroup(document, { group, name });
    if (!document.has('currentContext')) document.set('currentContext', name);
  });
}

/** Adds a context to a group of the configuration file, and creates the group if needed. */
function addToGroup(
  document: Document,
  { group, name }: { readonly group: string; readonly name: string },
): void {
  const members = document.getIn(['groups', group]);
  if (!isSeq(members)) document.setIn(['groups', group], document.createNode([name]));
  else if (!members.items.some((item) => isScalar(item) && item.value === name)) members.add(name);
}

/**
 * Makes a context of the file the current one.
 *
 * @throws TokenctlError `not_found` if the file has no such context
 */
export function useContext(configuration: Configuration, name: string): void {
  contextInFile(configuration, name);
  editFile(writableFile(configuration), (document) => document.set('currentContext', name));
}

interface RemovedContext {
  readonly context: NamedContext;
  readonly groups: readonly string[];
  readonly wasCurrent: boolean;
}

/**
 * Removes a context from the configuration file and from its groups; a group without another context is removed too.
 *
 * @throws TokenctlError `not_found` if the file has no such context, `usage` if a job or another context names it
 */
export function removeContext(configuration: Configuration, name: string): RemovedContext {
  const context = contextInFile(configuration, name);
  const groups = Object.entries(configuration.groups).filter(([, members]) => members.includes(name));
  const emptied = groups.filter(([, members]) => members.length === 1).map(([group]) => group);
  requireUnused(configuration, [name, ...emptied]);
  let wasCurrent = false;
  editFile(writableFile(configuration), (document) => {
    document.deleteIn(['contexts', name]);
    wasCurrent = document.get('currentContext') === name;
    if (wasCurrent) document.delete('currentContext');
    for (const [group] of groups) {
      const members = document.getIn(['groups', group]);
      if (emptied.includes(group)) document.deleteIn(['groups', group]);
      else if (isSeq(members)) members.items = members.items.filter((item) => !isNamed(item, name));
    }
  });
  return { context, groups: groups.map(([group]) => group), wasCurrent };
}

/**
 * Renames a context in the configuration file, also where groups, jobs, other contexts or `currentContext` name it.
 *
 * @throws TokenctlError `not_found` if the file has no such context, `usage` for a new name that is invalid or taken
 */
export function renameContext(configuration: Configuration, name: string, to: string): void {
  contextInFile(configuration, name);
  requireFreeName(configuration, to, false);
  editFile(writableFile(configuration), (document) => {
    renameKey(document.get('contexts'), name, to);
    if (document.get('currentContext') === name) document.set('currentContext', to);
    for (const group of Object.keys(configuration.groups))
      renameIn(document.getIn(['groups', group]), name, to);
    for (const job of Object.keys(configuration.jobs)) {
      renameIn(document.getIn(['jobs', job, 'contexts']), name, to);
    }
  });
}

/**
 * Names the context of the database of a context in the configuration file.
 *
 * @throws TokenctlError `not_found` if the file does not have both
 */
export function linkDatabase(configuration: Configuration, name: string, database: string): void {
  for (const each of [name, database]) contextInFile(configuration, each);
  editFile(writableFile(configuration), (document) =>
    document.setIn(['contexts', name, 'databaseContext'], database),
  );
}

/** Renames a context in the map of contexts, and where others name it as their database. */
function renameKey(contexts: unknown, name: string, to: string): void {
  if (!isMap(contexts)) return;
  for (const { key, value } of contexts.items) {
    if (isScalar(key) && key.value === name) key.value = to;
    if (!isMap(value)) continue;
    const database = value.get('databaseContext');
    if (database === name) value.set('databaseContext', to);
    if (!isMap(database)) continue;
    for (const { value: each } of database.items) if (isScalar(each) && each.value === name) each.value = to;
  }
}

function renameIn(list: unknown, name: string, to: string): void {
  if (!isSeq(list)) return;
  for (const item of list.items) if (isScalar(item) && item.value === name) item.value = to;
}

function isNamed(item: unknown, name: string): boolean {
  return isScalar(item) && item.value === name;
}

/** A context that the file holds, which those of the environment and of flags are not. */
function contextInFile(configuration: Configuration, name: string): NamedContext {
  const { [ENVIRONMENT_CONTEXT]: _, ...inFile } = configuration.contexts;
  if (namesSeveral(configuration, name)) throw severalContexts(name);
  if (!Object.hasOwn(inFile, name)) throw noSuchContext(name, Object.keys(inFile));
  return contextOf(configuration, name);
}

/** Refuses the removal of names that would leave a configuration that cannot be read. */
function requireUnused({ contexts, jobs }: Configuration, names: readonly string[]): void {
  const others = Object.entries(contexts).filter(([, context]) =>
    namedDatabases(context).some(([, database]) => names.includes(database)),
  );
  const users = [
    ...others.map(([other]) => `the context "${other}" (databaseContext)`),
    ...jobsIn(jobs, names).map((job) => `the job "${job}"`),
  ];
  if (users.length === 0) return;
  throw new TokenctlError('usage', `The context is used by ${users.join(', ')}`, {
    hint: 'Change the configuration file there first.',
  });
}

/** The jobs that name one of these contexts or groups. */
export function jobsIn(jobs: Configuration['jobs'], names: readonly string[]): string[] {
  return Object.entries(jobs).flatMap(([job, { contexts }]) =>
    contexts?.some((each) => names.includes(each)) === true ? [job] : [],
  );
}

function noSuchContext(name: string, known: readonly string[]): TokenctlError {
  const near = nearestName(name, known);
  const others =
    known.length === 0 ? 'Add one with `tokenctl context add`.' : `Known contexts: ${known.join(', ')}.`;
  return new TokenctlError('not_found', `There is no context "${name}".`, {
    hint: near === undefined ? others : `Did you mean "${near}"?`,
  });
}

/**
 * Edits the configuration file, which keeps its mode; a new one is of mode 0600, or that of the machine 0644: its service is
 * another user, and secrets are in files of their own.
 *
 * @throws TokenctlError `configuration` if it cannot be read or written
 */
export function editFile(file: string, edit: (document: Document) => void): void {
  const text = readConfiguration({ path: file, named: false });
  const document = text === undefined ? new Document({}) : parseConfiguration(text, file).document;
  edit(document);
  replaceFile(file, document.toString(), modeOf(file));
}

function modeOf(file: string): number {
  const status = statSync(file, { throwIfNoEntry: false });
  if (status !== undefined) return status.mode & 0o644;
  return file === MACHINE.configuration ? 0o644 : 0o600;
}

/**
 * The distinct names of the contexts to work in, if a list (`east,west`), a group or `all` selects several. Null if a
 * single context is selected, or none.
 *
 * @throws TokenctlError `not_found` for an unknown name, `usage` for an empty one, `configuration` if `all` is set and
 * there are no contexts
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
    throw new TokenctlError('usage', `The list of contexts "${currentContext}" has an empty name`);
  }
  return expandGroups(configuration, parts).map((name) => contextOf(configuration, name).name);
}

/** Replaces the names of groups by those of their contexts, without duplicates. Does not check that contexts exist. */
export function expandGroups({ groups }: Configuration, names: readonly string[]): readonly string[] {
  const contexts = names.flatMap(
    (name) => (Object.hasOwn(groups, name) ? groups[name] : undefined) ?? [name],
  );
  return [...new Set(contexts)];
}

export type ContextCredential =
  | { readonly kind: 'token'; readonly token: Secret }
  | { readonly kind: 'password'; readonly username: string; readonly password: Secret };

/**
 * Reads the credential of a context.
 *
 * @throws TokenctlError `configuration` if it has none, or if the secret cannot be read safely
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
        ? 'Set CONTROLLER_OAUTH_TOKEN, or CONTROLLER_USERNAME and CONTROLLER_PASSWORD.'
        : `Add one: tokenctl context add ${name} --replace --url URL --token-file FILE`,
  });
}
