/** Edits the contexts in the configuration file: adds, renames, links and removes them. */
import { statSync } from 'node:fs';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Document, isMap, isScalar, isSeq } from 'yaml';
import { type Configuration, writableFile } from './configuration.ts';
import {
  contextOf,
  jobsIn,
  type NamedContext,
  namesSeveral,
  noSuchContext,
  severalContexts,
} from './contexts.ts';
import { parseConfiguration, readConfiguration } from './layers.ts';
import { MACHINE } from './machine-place.ts';
import { replaceFile } from './paths.ts';
import {
  contextNamePattern,
  contextSchema,
  ENVIRONMENT_CONTEXT,
  isGroupName,
  namedDatabases,
  type RestContext,
} from './schema.ts';
import { plainIssue } from './setting-errors.ts';

/** Throws `usage` if a name for a new context is invalid, reserved, a group's, or taken and `replace` is not set. */
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

/** Checks the groups of a new context. Throws `usage` if one is the name of a context or invalid. */
export function requireGroupNames(
  { contexts }: Pick<Configuration, 'contexts'>,
  { context, groups }: { context: string; groups: readonly string[] },
): void {
  for (const name of groups) {
    if (name === context || Object.hasOwn(contexts, name)) {
      throw new TokenctlError('usage', `"${name}" is already the name of a context`, {
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

/** The unvalidated flags of a context. */
export type ContextDraft = { readonly [setting in keyof RestContext]?: unknown };

/** Validates a context before it is written. Throws `usage` that lists the invalid settings. */
export function checkedContext(name: string, draft: ContextDraft): NamedContext {
  const checked = contextSchema.safeParse(draft, { error: plainIssue });
  if (checked.success) return { ...checked.data, name };
  const problems = checked.error.issues.map(({ path, message }) => `${path.join('.') || name} ${message}`);
  throw new TokenctlError('usage', `Invalid context: ${problems.join('; ')}`);
}

/**
 * Writes a context to the configuration file, whose comments are kept, and adds it to groups. It keeps the
 * four-eyes rule of the context that it replaces. The file's first context becomes the current one.
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

/** Writes which unrevoked tokens `login` created for a context in the file. */
export function setLoginTokens(file: string, name: string, ids: readonly number[]): void {
  editFile(file, (document) => {
    if (ids.length === 0) document.deleteIn(['contexts', name, 'loginTokens']);
    else document.setIn(['contexts', name, 'loginTokens'], ids);
  });
}

/** Adds a context to a group in the configuration file, and creates the group if needed. */
function addToGroup(document: Document, { group, name }: { group: string; name: string }) {
  const members = document.getIn(['groups', group]);
  if (!isSeq(members)) document.setIn(['groups', group], document.createNode([name]));
  else if (!members.items.some((item) => isScalar(item) && item.value === name)) members.add(name);
}

/** Makes a context in the file the current one. Throws `not_found` if the file does not contain it. */
export function useContext(configuration: Configuration, name: string): void {
  contextInFile(configuration, name);
  editFile(writableFile(configuration), (document) => document.set('currentContext', name));
}

interface RemovedContext {
  readonly context: NamedContext;
  readonly groups: readonly string[];
  readonly wasCurrent: boolean;
}

/** Checks that a context can be removed. Throws as `removeContext`. */
export function requireRemovable(configuration: Configuration, name: string): NamedContext {
  const context = contextInFile(configuration, name);
  requireUnused(configuration, [name, ...emptiedGroups(configuration, name)]);
  return context;
}

function emptiedGroups({ groups }: Configuration, name: string): readonly string[] {
  return Object.entries(groups).flatMap(([group, members]) =>
    members.includes(name) && members.length === 1 ? [group] : [],
  );
}

/**
 * Removes a context from the configuration file and from its groups. Groups without another context are removed too.
 * @throws TokenctlError `not_found` if the file does not contain it, `usage` if a job or another context refers to it
 */
export function removeContext(configuration: Configuration, name: string): RemovedContext {
  const context = requireRemovable(configuration, name);
  const groups = Object.entries(configuration.groups).filter(([, members]) => members.includes(name));
  const emptied = emptiedGroups(configuration, name);
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
 * Renames a context in the configuration file, including references in groups, jobs, other contexts and
 * `currentContext`.
 * @throws TokenctlError `not_found` if the file does not contain it, `usage` for an invalid or taken new name
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

/** Sets the database context of a context. Throws `not_found` if the file does not contain both. */
export function linkDatabase(configuration: Configuration, name: string, database: string): void {
  for (const each of [name, database]) contextInFile(configuration, each);
  editFile(writableFile(configuration), (document) =>
    document.setIn(['contexts', name, 'databaseContext'], database),
  );
}

/** Renames a context in the map of contexts, and where others refer to it as their database. */
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

/** A context in the file. Contexts from the environment and flags are not in it. */
function contextInFile(configuration: Configuration, name: string): NamedContext {
  const { [ENVIRONMENT_CONTEXT]: _, ...inFile } = configuration.contexts;
  if (namesSeveral(configuration, name)) throw severalContexts(name);
  if (!Object.hasOwn(inFile, name)) throw noSuchContext(name, Object.keys(inFile));
  return contextOf(configuration, name);
}

/** Refuses a removal that would leave an invalid configuration. */
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

/**
 * Edits the configuration file, which keeps its mode. A new one has mode 0600. The machine's has 0644,
 * because its service is another user and secrets are in separate files.
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
