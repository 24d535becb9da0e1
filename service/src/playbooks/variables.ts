import { isAlias, isPair, isScalar, parse, parseDocument, visit } from 'yaml';

export type Variables = Readonly<Record<string, unknown>>;

/** Larger texts are refused before or during parsing. */
const MAX_YAML_LENGTH = 20_000;
const MAX_ALIASES = 100;
const MAX_VALUES = 100_000;
const MAX_DEPTH = 100;

/**
 * Reads variables: a mapping in JSON or YAML, empty for an empty text. As in Ansible, JSON is tried first,
 * and YAML is version 1.1, where `yes` is true and `<<` merges. Takes linear time.
 * @returns A text with the reason if they are invalid.
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
    // The library compares each key of a mapping with all others. `yamlProblem` does it in linear time.
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

/** Why a value cannot be JSON: it contains dates, sets or binary values, refers to itself, or is too large. */
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

/** Variables in the controller's JSON format: with spaces, on one line. */
export function writeVariables(variables: Variables): string {
  // Line breaks within texts are escaped, so these are between values.
  return JSON.stringify(variables, null, 1)
    .replaceAll(/,\n\s*/g, ', ')
    .replaceAll(/\n\s*/g, '');
}

/** Excludes ssh options, and ranges and patterns of Ansible inventories. */
export const SAFE_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.:-]*$/;

/** Why a group name is invalid, or null. `all` and `_meta` have a meaning; Ansible would evaluate braces. */
export function groupNameProblem(name: string): string | null {
  if (name === 'all' || name === '_meta') return 'Invalid group name.';
  return /[{}\p{Cc}]/u.test(name) ? 'Braces and control characters are not allowed.' : null;
}

/** Whether YAML reads a text as a string, unlike `yes`, `1:2:3`, `0x1F`, `~` or `<<`. */
export function isPlainText(text: string): boolean {
  try {
    return text !== MERGE && parse(text, { version: '1.1', logLevel: 'silent' }) === text;
  } catch {
    return false;
  }
}

/** The allowed connection variables. Other `ansible_*` variables can name programs to run. */
const CONNECTION: Readonly<Record<string, (value: unknown) => boolean>> = {
  ansible_connection: (value) => value === 'local' || value === 'ssh',
  ansible_host: isName,
  ansible_user: isName,
  ansible_port: isPort,
  // The older names. The controller writes the one for the port.
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
 * Names in Ansible's namespaces: variables of connections, interpreters and facts, marks in its JSON
 * (`__ansible_vault`), options of its modules (`_ansible_…`). Its ssh plugin also reads
 * `delegated_vars['ansible_host']`.
 */
const ANSIBLE = /(?:^|\W)_*(?:ansible|discovered_interpreter)_/i;
/** The magic variables that Ansible sets itself (`_get_magic_variables` of its VariableManager). */
const MAGIC = new Set([
  ...['delegated_vars', 'group_names', 'hostvars', 'inventory_dir', 'inventory_file', 'inventory_hostname'],
  ...['inventory_hostname_short', 'play_hosts', 'playbook_dir', 'role_names', 'role_path', 'role_uuid'],
]);
/** Magic variables whose names are also common in data. They have a meaning only at the top level. */
const MAGIC_AT_TOP = new Set(['groups', 'omit', 'role_name', 'vars']);

/** The controller's own demo inventory sets Ansible's own Python, which local hosts use anyway. It is not passed on. */
function isOwnPython([name, value]: readonly [string, unknown]): boolean {
  return name === 'ansible_python_interpreter' && value === '{{ ansible_playbook_python }}';
}

/** The first forbidden name at any depth, or null. */
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
  // Braces start templates, which Ansible would evaluate in the keys of a mapping that a playbook loops over.
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

/** Why variables of an inventory, a group or a host are refused, or null: they are invalid, or some are not allowed. */
export function variablesProblem(text: string): string | null {
  const read = inventoryVariables(text);
  return typeof read === 'string' ? read : null;
}

/** Why extra variables are refused, or null. */
export function extraVariablesProblem(text: string): string | null {
  const read = extraVariables(text);
  return typeof read === 'string' ? read : null;
}

/** The variables of an inventory, a group or a host to pass on, or {@link variablesProblem}. */
export function inventoryVariables(text: string): Variables | string {
  const read = readVariables(text);
  if (typeof read === 'string') return read;
  const passed = Object.fromEntries(Object.entries(read).filter((entry) => !isOwnPython(entry)));
  return nameProblem(passed) ?? passed;
}

/** The extra variables to pass on, or {@link extraVariablesProblem}. */
export function extraVariables(text: string): Variables | string {
  const read = readVariables(text);
  return typeof read === 'string' ? read : (nameProblem(read) ?? read);
}

/** JSON for Ansible: names can only be strings, and each string is marked unsafe, so it is never a template. */
export function ansibleJson(content: unknown): string {
  return JSON.stringify(marked(content));
}

function marked(value: unknown): unknown {
  if (typeof value === 'string') return { __ansible_unsafe: value };
  if (Array.isArray(value)) return value.map(marked);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, marked(each)]));
}
