import { readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';

const root = new URL('../../', import.meta.url);

const { commands } = readJson('oclif.manifest.json') as {
  readonly commands: Readonly<Record<string, object>>;
};

// Each worker compiles them for a few values: optimizing takes three times as long as it saves.
const ajv = new Ajv({ allErrors: true, allowUnionTypes: true, inlineRefs: false, code: { optimize: false } });
addFormats.default(ajv);
const validators = new Map<string, Validator>();

/** As much of a schema as its members need. */
interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly definitions?: Readonly<Record<string, Schema>>;
}

interface Validator {
  readonly schema: Schema;
  readonly validate: ValidateFunction;
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(new URL(path, root), 'utf8'));
}

/** The validator of a schema in docs/schemas, where the build puts them. */
function validatorOf(name: string): Validator {
  const known = validators.get(name);
  if (known !== undefined) return known;
  const schema = readJson(`docs/schemas/${name}.json`) as Schema;
  const made = { schema, validate: ajv.compile(schema) };
  validators.set(name, made);
  return made;
}

/**
 * Checks what a command printed with --json against its schema. An output that is cut short is not JSON, and
 * not checked.
 * @throws Error if it is not as the schema says.
 */
export function requireDescribed(args: readonly string[], stdout: string): void {
  const words = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
  const command = [3, 2, 1]
    .map((length) => args.slice(0, length).join(':'))
    .find((id) => Object.hasOwn(commands, id));
  if (!words.includes('--json') || command === undefined) return;
  const value = parsed(stdout);
  if (value === undefined) return;
  const { contexts } = value as {
    readonly contexts?: readonly { readonly result?: unknown; readonly state?: unknown }[];
  };
  if (isError(value)) check('error', value);
  else if (Array.isArray(contexts) && contexts.every(({ state }) => state !== undefined)) {
    check('several-contexts', value);
    for (const { result } of contexts) if (result !== undefined) check(command.replaceAll(':', '-'), result);
  } else if (Array.isArray(value) && command !== 'jobs:list')
    check(command.replaceAll(':', '-'), value.map(withoutContext));
  else check(command.replaceAll(':', '-'), value);
}

/** A row of a list without the context that it has in several contexts. */
function withoutContext(row: unknown): unknown {
  if (typeof row !== 'object' || row === null || !('context' in row)) return row;
  const { context: _context, ...own } = row;
  return own;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isError(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).join() === 'error';
}

function check(name: string, value: unknown): void {
  const { schema, validate } = validatorOf(name);
  const problems = validate(value)
    ? undescribed([schema], value, schema.definitions ?? {}).map((member) => `${member} is not described`)
    : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || '/'} ${message}`);
  if (problems.length === 0) return;
  throw new Error(
    `docs/schemas/${name}.json does not describe what was printed: ${problems.slice(0, 5).join('; ')}`,
  );
}

/** The members of a value that no alternative describes. The schemas leave room for new members; these would be some. */
function undescribed(
  schemas: readonly Schema[],
  value: unknown,
  definitions: Schema['definitions'] & {},
): string[] {
  const parts = schemas.flatMap((schema) => partsOf(schema, definitions));
  if (Array.isArray(value)) {
    const items = parts.flatMap(({ items: each }) => each ?? []);
    return value.flatMap((each) => undescribed(items, each, definitions)).map((member) => `*/${member}`);
  }
  const objects = parts.filter(({ properties }) => properties !== undefined);
  if (typeof value !== 'object' || value === null || objects.length === 0) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const named = objects.flatMap(({ properties, additionalProperties: others }) => {
      const own = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;
      return own ?? (typeof others === 'object' ? others : []);
    });
    if (named.length === 0) return [name];
    return undescribed(named, member, definitions).map((inner) => `${name}/${inner}`);
  });
}

/** A schema with its alternatives and parts, each with its own members. */
function partsOf(schema: Schema, definitions: Schema['definitions'] & {}): Schema[] {
  const { $ref, anyOf = [], allOf = [] } = schema;
  const referred = $ref === undefined ? undefined : definitions[$ref.replace('#/definitions/', '')];
  const inner = [...anyOf, ...allOf, ...(referred === undefined ? [] : [referred])];
  return [schema, ...inner.flatMap((each) => partsOf(each, definitions))];
}
