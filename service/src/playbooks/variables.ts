import { isAlias, isPair, isScalar, parse, parseDocument, visit } from 'yaml';

export type Variables = Readonly<Record<string, unknown>>;

/** Beyond these, a text is refused before or while it is read. */
const MAX_YAML_LENGTH = 20_000;
const MAX_ALIASES = 100;
const MAX_VALUES = 100_000;
const MAX_DEPTH = 100;

/**
 * Reads variables: a mapping in JSON or YAML, empty for an empty text. As Ansible does, JSON is tried first,
 * and YAML is read in version 1.1, where `yes` is true and `<<` merges. Takes linear time.
 * @returns Why they are invalid instead, as a text.
 */
export function readVariables(text: string): Variables | string {
  const read = readJson(text) ?? readYaml(text);
  if (typeof read === 'string') return read;
  const { value } = read;
  if (value === null || value === undefined || value === '') return {};
  if (!isMapping(value)) return 'Must be a mapping in JSON or YAML.';
  return valuesProblem(value) ?? value;
}

interface Read {
  readonly value: unknown;
}

function readJson(text: string): Read | null {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null;
  }
}

function readYaml(text: string): Read | string {
  if (text.length > MAX_YAML_LENGTH)
    return `YAML with more than ${MAX_YAML_LENGTH} characters is not supported. Use JSON.`;
  try {
    // The library compares each key of a mapping with all others: `yamlProblem` does it in linear time.
    const document = parseDocument(text, {
      version: '1.1',
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: 'error',
    });
    if (document.errors.length > 0) return CANNOT_PARSE;
    if (document.warnings.length > 0) return 'YAML tags such as !vault are not supported.';
    return yamlProblem(document) ?? { value: document.toJS({ maxAliasCount: 10 }) };
  } catch {
    return CANNOT_PARSE;
  }
}

const CANNOT_PARSE = 'Cannot parse as JSON or YAML.';

function yamlProblem(document: Parameters<typeof visit>[0]): string | null {
  let aliases = 0;
  let problem: string | null = null;
  visit(document, {
    Alias() {
      aliases += 1;
      if (aliases <= MAX_ALIASES) return undefined;
      problem = `YAML with more than ${MAX_ALIASES} aliases is not supported.`;
      return visit.BREAK;
    },
    Map(_key, { items }) {
      const keys = new Set<string>();
      for (const { key } of items.filter(isPair)) {
        if (isAlias(key) || !isScalar(key)) problem = 'Keys must be strings.';
        else if (keys.has(String(key.value)) && key.value !== MERGE)
          problem = `The key ${String(key.value)} occurs twice.`;
        else keys.add(String(key.value));
      }
      return problem === null ? undefined : visit.BREAK;
    },
  });
  return problem;
}

function isMapping(value: unknown): value is Variables {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Why a value cannot be written as JSON: it has dates, sets or binary values, refers to itself, or is too large. */
function valuesProblem(root: unknown): string | null {
  let left = MAX_VALUES;
  const problemOf = (value: unknown, depth: number): string | null => {
    left -= 1;
    if (left < 0 || depth > MAX_DEPTH)
      return `At most ${MAX_VALUES} values and ${MAX_DEPTH} levels of nesting are allowed.`;
    const isLeaf = typeof value !== 'object' || value === null;
    if (isLeaf) return typeof value === 'number' && !Number.isFinite(value) ? NOT_JSON : null;
    if (!Array.isArray(value) && !isMapping(value)) return NOT_JSON;
    for (const each of Object.values(value)) {
      const problem = problemOf(each, depth + 1);
      if (problem !== null) return problem;
    }
    return null;
  };
  return problemOf(root, 1);
}

const NOT_JSON = 'Only JSON values are allowed: put quotes around dates and binary values.';

/** The text of variables, in the controller's form of JSON: with spaces, on one line. */
export function writeVariables(variables: Variables): string {
  // A line break within a text is escaped, so these are the ones between values.
  return JSON.stringify(variables, null, 1)
    .replaceAll(/,\n\s*/g, ', ')
    .replaceAll(/\n\s*/g, '');
}

/** Excludes options of ssh, and ranges and patterns of Ansible's inventory. */
export const SAFE_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.:-]*$/;

/**
 * Why the name of a group is invalid, or null. `all` and `_meta` have a meaning in inventories; braces begin templates, which
 * Ansible would evaluate wherever a playbook names its groups.
 */
export function groupNameProblem(name: string): string | null {
  if (name === 'all' || name === '_meta') return 'Invalid group name.';
  return /[{}\p{Cc}]/u.test(name) ? 'Braces and control characters are not allowed.' : null;
}

/** Whether YAML reads a text as itself: not `yes`, `1:2:3`, `0x1F`, `~` or `<<`. */
export function isPlainText(text: string): boolean {
  try {
    return text !== MERGE && parse(text, { version: '1.1', logLevel: 'silent' }) === text;
  } catch {
    return false;
  }
}

/** The connection variables that may be set. Other `ansible_*` variables can name programs to run. */
const CONNECTION: Readonly<Record<string, (value: unknown) => boolean>> = {
  ansible_connection: (value) => value === 'local' || value === 'ssh',
  ansible_host: isName,
  ansible_user: isName,
  ansible_port: isPort,
  // The older names, of which the controller writes the one of the port.
  ansible_ssh_host: isName,
  ansible_ssh_user: isName,
  ansible_ssh_port: isPort,
};

function isName(value: unknown): boolean {
  return typeof value === 'string' && SAFE_NAME.test(value);
}

function isPort(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) > 0 && Number(value) < 65_536;
}

const MERGE = '<<';
/**
 * The names that begin like those of Ansible: variables of connections, interpreters and facts, marks of its JSON
 * (`__ansible_vault`), options of its modules (`_ansible_…`). Its ssh plugin reads `delegated_vars['ansible_host']`, too.
 */
const ANSIBLE = /(?:^|\W)_*(?:ansible|discovered_interpreter)_/i;
/** The magic variables that Ansible sets itself (`_get_magic_variables` of its VariableManager). */
const MAGIC = new Set([
  ...['delegated_vars', 'group_names', 'hostvars', 'inventory_dir', 'inventory_file', 'inventory_hostname'],
  ...['inventory_hostname_short', 'play_hosts', 'playbook_dir', 'role_names', 'role_path', 'role_uuid'],
]);
/** Magic variables with names that data often has, too: they have a meaning at the top only. */
const MAGIC_AT_TOP = new Set(['groups', 'omit', 'role_name', 'vars']);

/** What the controller's own demo inventory has: Ansible's own Python, which local hosts use anyway. Not passed on. */
function isOwnPython([name, value]: readonly [string, unknown]): boolean {
  return name === 'ansible_python_interpreter' && value === '{{ ansible_playbook_python }}';
}

/** The first name, at any depth, that may not be set; null if there is none. */
function refusedName(value: unknown, isTop: boolean): string | null {
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value)) return firstRefused(value.map((each) => [null, each]));
  return firstRefused(Object.entries(value), isTop);
}

function firstRefused(entries: readonly (readonly [string | null, unknown])[], isTop = false): string | null {
  for (const [name, value] of entries) {
    if (name !== null && isRefused(name, value, isTop)) return name;
    const below = refusedName(value, false);
    if (below !== null) return below;
  }
  return null;
}

function isRefused(name: string, value: unknown, isTop: boolean): boolean {
  if (isTop && Object.hasOwn(CONNECTION, name)) return CONNECTION[name]?.(value) !== true;
  // Braces begin templates, which Ansible would evaluate in the names of a mapping that a playbook loops over.
  if (name === MERGE || /[{}\p{Cc}]/u.test(name)) return true;
  return ANSIBLE.test(name) || MAGIC.has(name) || (isTop && MAGIC_AT_TOP.has(name));
}

function nameProblem(variables: Variables): string | null {
  const name = refusedName(variables, true);
  if (name === null) return null;
  const allowed = Object.keys(CONNECTION).join(', ');
  const shown = JSON.stringify(name).slice(1, -1);
  return `This service does not pass on ${shown}: of the variables with a special meaning in Ansible, only ${allowed} are passed on, with plain values.`;
}

/** Why variables of an inventory, a group or a host are refused, or null: they are invalid, or some may not be passed on. */
export function variablesProblem(text: string): string | null {
  const read = inventoryVariables(text);
  return typeof read === 'string' ? read : null;
}

/** Why extra variables are refused, or null. */
export function extraVariablesProblem(text: string): string | null {
  const read = extraVariables(text);
  return typeof read === 'string' ? read : null;
}

/** Variables of an inventory, a group or a host as they are passed on, or {@link variablesProblem}. */
export function inventoryVariables(text: string): Variables | string {
  const read = readVariables(text);
  if (typeof read === 'string') return read;
  const passed = Object.fromEntries(Object.entries(read).filter((entry) => !isOwnPython(entry)));
  return nameProblem(passed) ?? passed;
}

/** Extra variables as they are passed on, or {@link extraVariablesProblem}. */
export function extraVariables(text: string): Variables | string {
  const read = readVariables(text);
  return typeof read === 'string' ? read : (nameProblem(read) ?? read);
}

/**
 * A JSON document for Ansible, which tries JSON before YAML: names are texts and nothing else. Each text is marked, so that
 * Ansible does not evaluate it as a template.
 */
export function ansibleJson(content: unknown): string {
  return JSON.stringify(marked(content));
}

function marked(value: unknown): unknown {
  if (typeof value === 'string') return { __ansible_unsafe: value };
  if (Array.isArray(value)) return value.map(marked);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, marked(each)]));
}
