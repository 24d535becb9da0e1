import { existsSync, readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';

const root = new URL('../../', import.meta.url);

const { commands } = readJson('oclif.manifest.json') as {
  readonly commands: Readonly<Record<string, object>>;
};

const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });
addFormats.default(ajv);
const validators = new Map<string, ValidateFunction | null>();

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(new URL(path, root), 'utf8'));
}

/** The validator of a schema in docs/schemas; null if there is none. */
function validatorOf(name: string): ValidateFunction | null {
  const known = validators.get(name);
  if (known !== undefined) return known;
  const file = `docs/schemas/${name}.json`;
  const made = existsSync(new URL(file, root)) ? ajv.compile(readJson(file) as object) : null;
  validators.set(name, made);
  return made;
}

/** The command that arguments begin with, as the manifest names it; undefined for none. */
function commandOf(args: readonly string[]): string | undefined {
  return [3, 2, 1].map((length) => args.slice(0, length).join(':')).find((id) => Object.hasOwn(commands, id));
}

/**
 * Checks what a command printed with --json against its schema. An output that is cut short is not JSON, and not checked.
 *
 * @throws Error if it is not as the schema says.
 */
export function requireDescribed(args: readonly string[], stdout: string): void {
  const words = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
  const command = commandOf(args);
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
  } else check(command.replaceAll(':', '-'), value);
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
  const validate = validatorOf(name);
  if (validate === null || validate(value)) return;
  const problems = validate.errors
    ?.slice(0, 5)
    .map(({ instancePath, message }) => `${instancePath || '/'} ${message}`);
  throw new Error(`docs/schemas/${name}.json does not describe what was printed: ${problems?.join('; ')}`);
}
