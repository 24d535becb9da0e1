import { Document, isScalar, parse, visit } from 'yaml';

export type Variables = Readonly<Record<string, unknown>>;

/**
 * Reads variables: a mapping in YAML or JSON, empty for an empty text. YAML is read as Ansible reads it, in
 * version 1.1, where `yes` is true.
 *
 * @returns Why they are invalid instead, as a text.
 */
export function readVariables(text: string): Variables | string {
  let value: unknown;
  try {
    value = parse(text, { version: '1.1', maxAliasCount: 10, logLevel: 'error' });
  } catch {
    return 'Cannot parse as JSON or YAML.';
  }
  if (value === null || value === undefined || value === '') return {};
  if (!isPlainObject(value)) return 'Must be a mapping in JSON or YAML.';
  return isJson(value) ? value : 'Only values of JSON are allowed: put dates and binary values into quotes.';
}

/** Why variables are invalid, or null. */
export function variablesProblem(text: string): string | null {
  const read = readVariables(text);
  return typeof read === 'string' ? read : null;
}

function isPlainObject(value: unknown): value is Variables {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Whether a value of YAML is one of JSON, too: not a date, a set or binary. */
function isJson(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isJson);
  if (isPlainObject(value)) return Object.values(value).every(isJson);
  return typeof value !== 'object' || value === null;
}

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

/**
 * Whether a variable may be passed on. A user who may write variables must not be able to run programs on the
 * service's machine, so of the `ansible_*` variables only those that say how to connect are.
 */
function isPassed([name, value]: readonly [string, unknown]): boolean {
  if (!name.startsWith('ansible_')) return true;
  return Object.hasOwn(CONNECTION, name) && CONNECTION[name]?.(value) === true;
}

/** The names of the variables that are not passed on, but for Ansible's own Python, which local hosts use anyway. */
export function leftOutVariables(variables: Variables): readonly string[] {
  return Object.entries(variables)
    .filter((entry) => !isPassed(entry) && entry[1] !== '{{ ansible_playbook_python }}')
    .map(([name]) => name);
}

/** The variables that may be passed on. */
export function passedVariables(variables: Variables): Variables {
  return Object.fromEntries(Object.entries(variables).filter(isPassed));
}

/** Why extra variables are refused, or null: they are invalid, or some may not be passed on. */
export function extraVariablesProblem(text: string): string | null {
  const read = readVariables(text);
  if (typeof read === 'string') return read;
  const refused = Object.entries(read).filter((entry) => !isPassed(entry));
  if (refused.length === 0) return null;
  const names = refused.map(([name]) => name).join(', ');
  const allowed = Object.keys(CONNECTION).join(', ');
  return `This service does not pass on ${names}: of the ansible_* variables only ${allowed}, with plain values.`;
}

/** A YAML document for Ansible. All its texts are marked `!unsafe`, so that Ansible does not evaluate them as templates. */
export function unsafeYaml(content: unknown): string {
  const document = new Document(content);
  visit(document, {
    Scalar(key, node) {
      if (key !== 'key' && isScalar(node) && typeof node.value === 'string') node.tag = '!unsafe';
    },
  });
  return document.toString();
}
