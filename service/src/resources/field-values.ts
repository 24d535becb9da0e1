import { type Field, type FieldSet, MAX_INTEGER } from '../listing/fields.ts';
import { writeVariables } from '../playbooks/variables.ts';

/** The errors of a request body, by field. */
export type Problems = Record<string, readonly string[]>;

/** The maximum length of a text without the controller's limit, in characters. Filters search such texts. */
const MAX_TEXT_LENGTH = 10_000;

interface BodyReading<T> {
  /** The values before the change. On creation, the values of fields that are neither given nor have a default. */
  readonly current: T;
  /** POST requires the required fields, PUT also resets those with a default, PATCH changes only the given ones. */
  readonly method: 'POST' | 'PUT' | 'PATCH';
  /** Errors are added here; a field with an error keeps its current value. */
  readonly problems: Problems;
}

/**
 * Reads the declared fields of a JSON body, each by its type, as the controller does. Unknown and read-only
 * fields are ignored; unsupported fields are refused unless they have their default.
 * @returns The value of every name in `current`.
 */
export function readFields<T extends object>(
  set: Pick<FieldSet, 'fields'>,
  body: Readonly<Record<string, unknown>>,
  { current, method, problems }: BodyReading<T>,
): T {
  Object.assign(problems, fixedProblems(set, body));
  const entries = Object.entries(current).map(([name, before]) => {
    const field = set.fields[name];
    if (field === undefined) throw new Error(`no field ${name} is declared`);
    const given = body[name];
    if (given !== undefined) {
      const read = readValue(field, given);
      if ('value' in read) return [name, read.value];
      problems[name] = [read.problem];
    } else if (method === 'POST' || (method === 'PUT' && !field.keptByPut)) {
      if (field.required) problems[name] = ['This field is required.'];
      else return [name, field.defaultValue ?? before];
    }
    return [name, before];
  });
  return Object.fromEntries(entries) as T;
}

type ReadValue = { readonly value: unknown } | { readonly problem: string };

/** Reads one value of a JSON body by its field's type (Django REST framework 3.15 and the controller's own fields). */
export function readValue(field: Field, given: unknown): ReadValue {
  if (given === null && field.nullable === false) return { problem: 'This field may not be null.' };
  switch (field.type) {
    case 'boolean':
      return readBoolean(field, given);
    case 'integer':
      return readInteger(field, given);
    case 'id':
      return readId(field, given);
    case 'choice':
      return readChoice(field, given);
    case 'json':
      if (Array.isArray(given)) return { problem: 'Must be a mapping in JSON or YAML.' };
      return readText(field, isMapping(given) ? writeVariables(given) : given);
    default:
      return readText(field, given);
  }
}

function isMapping(given: unknown): given is Readonly<Record<string, unknown>> {
  return typeof given === 'object' && given !== null;
}

const BLANK = 'This field may not be blank.';

/** Text is trimmed; numbers are converted; null and all empty values count as blank. */
function readText(field: Field, given: unknown): ReadValue {
  const text = asText(field, given);
  if (text === null) return { problem: 'Not a valid string.' };
  const mayBeBlank = field.blank ?? field.required !== true;
  if (text === '') return mayBeBlank ? { value: '' } : { problem: BLANK };
  if (text.includes('\0')) return { problem: 'Null characters are not allowed.' };
  const { maxLength = MAX_TEXT_LENGTH } = field;
  if (text.length > maxLength && [...text].length > maxLength) {
    return { problem: `Ensure this field has no more than ${maxLength} characters.` };
  }
  const problem = field.check?.(text) ?? null;
  return problem === null ? { value: text } : { problem };
}

function asText(field: Field, given: unknown): string | null {
  if (typeof given === 'string') return given.trim();
  if (field.nullable !== false && isEmpty(given)) return '';
  return typeof given === 'number' ? String(given) : null;
}

/** Whether the controller's text fields read a value as blank: null, false, 0, an empty array or object. */
export function isEmpty(given: unknown): boolean {
  if (typeof given === 'object' && given !== null) return Object.keys(given).length === 0;
  return given === null || given === false || given === 0;
}

const TRUE = new Set(['t', 'y', 'yes', 'true', 'on', '1']);
const FALSE = new Set(['f', 'n', 'no', 'false', 'off', '0']);
const NULL = new Set(['', 'null']);
/** `TRUE`, `True` and `true` are accepted, `tRUE` is not. */
const USUAL_CASE = /^(.[a-z]*|[A-Z]+|\d?)$/;

function readBoolean(field: Field, given: unknown): ReadValue {
  if (typeof given === 'boolean') return { value: given };
  if (given === null) return { value: false };
  const text = typeof given === 'number' || typeof given === 'string' ? String(given) : 'invalid';
  const word = USUAL_CASE.test(text) ? text.toLowerCase() : 'invalid';
  if (TRUE.has(word)) return { value: true };
  if (FALSE.has(word) || (NULL.has(word) && field.nullable !== false)) return { value: false };
  return { problem: 'Must be a valid boolean.' };
}

function readInteger({ min = 0, max = MAX_INTEGER }: Field, given: unknown): ReadValue {
  if (given === null) return { problem: 'This field may not be null.' };
  const text = typeof given === 'string' || typeof given === 'number' ? String(given).trim() : '';
  if (!/^[+-]?\d{1,15}(\.0*)?$/.test(text)) return { problem: 'A valid integer is required.' };
  const value = Number(text);
  if (value < min) return { problem: `Ensure this value is greater than or equal to ${min}.` };
  if (value > max) return { problem: `Ensure this value is less than or equal to ${max}.` };
  return { value };
}

/** The id of another resource. The endpoint checks whether it exists. An empty text counts as null. */
function readId(field: Field, given: unknown): ReadValue {
  if (given === null || given === '') {
    return field.required ? { problem: 'This field may not be null.' } : { value: null };
  }
  const id = typeof given === 'string' && /^\s*\d{1,15}\s*$/.test(given) ? Number(given) : given;
  if (typeof id !== 'number' || !Number.isSafeInteger(id)) {
    return { problem: `Incorrect type. Expected the id of a resource, received ${kindOf(given)}.` };
  }
  if (id < 1 || id > MAX_INTEGER) return { problem: noSuchId(id) };
  return { value: id };
}

/** The message for an id that does not exist or that the caller may not see. */
export function noSuchId(id: number): string {
  return `Invalid id "${id}": the object does not exist.`;
}

function kindOf(given: unknown): string {
  if (Array.isArray(given)) return 'an array';
  return typeof given === 'string' ? JSON.stringify(given) : `a value of type ${typeof given}`;
}

function readChoice(field: Field, given: unknown): ReadValue {
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  const found = field.choices?.find(([choice]) => String(choice) === text);
  if (found !== undefined) return { value: found[0] };
  return { problem: `${JSON.stringify(given)} is not a valid choice.` };
}

/** Why a body is refused, by field: each unsupported field without its default value. */
function fixedProblems({ fields }: Pick<FieldSet, 'fields'>, body: Readonly<Record<string, unknown>>) {
  const refused = Object.entries(fields).flatMap(([name, { fixed, type }]) =>
    fixed === undefined || body[name] === undefined || isSame(body[name], fixed.value, type)
      ? []
      : [[name, [`This service does not ${fixed.does}.`]] as const],
  );
  return Object.fromEntries(refused);
}

/** Whether a value is the default, in any form that clients send. */
function isSame(given: unknown, value: unknown, type: Field['type']): boolean {
  // Clients send null for a related resource that they did not find.
  const isBlank = given === null || given === '';
  if (isBlank && !(type === 'id' && value !== null)) return true;
  if (String(given).toLowerCase() === String(value)) return true;
  return isEmpty(value) && (isEmpty(given) || given === '0');
}
