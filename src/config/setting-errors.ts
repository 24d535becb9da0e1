import { TokenctlError } from '@tokenctl/common/errors.ts';
import { z } from 'zod';
import { nearestName } from '../domain/nearest-name.ts';
import { isMapping, type Layer } from './layers.ts';

/** The validated values: the merged layers, with their common schema. */
interface Checked {
  readonly schema: z.ZodType;
  readonly layers: readonly Layer[];
}

interface Problem {
  readonly where: string;
  readonly path: string;
  readonly problem: string;
}

/** All invalid settings, one per line: their source (file and line, variable, flag), name and problem. */
export function invalidSettings(
  issues: readonly z.core.$ZodIssue[],
  { schema, layers }: Checked,
): TokenctlError {
  const problems = issues.flatMap((issue) => problemsOf(issue, { schema, layers }));
  const lines = problems.map(({ where, path, problem }) => `${where}: ${path}: ${problem}`);
  return new TokenctlError('configuration', lines.join('\n'), { details: { problems } });
}

function problemsOf(issue: z.core.$ZodIssue, { schema, layers }: Checked): Problem[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      // A file with one section that repeats the section's name.
      const isOuter = issue.path.at(-1) === key;
      const problem = isOuter
        ? `there is no such setting: remove the outer key "${key}"`
        : unknownKey(key, knownKeys(schema, issue.path));
      return problemAt([...issue.path, key], problem, layers);
    });
  }
  const message = issue.code === 'invalid_key' ? issue.issues[0]?.message : undefined;
  return [problemAt(issue.path, message ?? issue.message, layers)];
}

function unknownKey(key: string, known: readonly string[]): string {
  const near = nearestName(key, known);
  return `there is no such setting${near === undefined ? '' : `; did you mean "${near}"?`}`;
}

function problemAt(path: readonly PropertyKey[], problem: string, layers: readonly Layer[]): Problem {
  const origin = layers.findLast(({ values }) => gives(values, path));
  const name = path.map(String).join('.');
  return { where: origin?.locate(path) ?? 'the settings', path: name, problem };
}

/** Whether a layer contains this value. For a context or section: whether it contains the whole of it. */
function gives(values: unknown, path: readonly PropertyKey[]): boolean {
  let inner = values;
  for (const key of path.slice(0, 2)) {
    if (!isMapping(inner) || !Object.hasOwn(inner, key)) return false;
    inner = inner[String(key)];
  }
  return true;
}

/** A schema without wrappers that make it optional or change its output type. */
function withoutWrapping(schema: unknown): unknown {
  const isWrapped =
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodLazy;
  if (isWrapped) return withoutWrapping(schema.unwrap());
  if (!(schema instanceof z.ZodPipe)) return schema;
  // The result of converting a short form before validation has no names of its own.
  return withoutWrapping(schema.in instanceof z.ZodTransform ? schema.out : schema.in);
}

/** The valid setting names under a path. */
function knownKeys(whole: z.ZodType, path: readonly PropertyKey[]): string[] {
  let schema: unknown = whole;
  for (const key of path) {
    if (schema instanceof z.ZodObject) schema = schema.shape[String(key)];
    else if (schema instanceof z.ZodRecord) schema = schema.valueType;
    schema = withoutWrapping(schema);
  }
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

const KINDS: Readonly<Record<string, string>> = {
  record: 'a mapping',
  object: 'a mapping',
  array: 'a list',
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
};

/**
 * What is wrong with a setting, in the words of a configuration file instead of the schema library's: a
 * predicate after the setting's name, such as `must be a mapping`. Used if the schema has no text of its own.
 */
export function plainIssue(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return wrongKind(issue.expected, issue.input);
    case 'invalid_value':
      return `must be one of: ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return 'must not be empty';
    default:
      return 'is not valid';
  }
}

/** A key without a value is null in YAML, for example after its content was commented out. */
function wrongKind(expected: string, input: unknown): string {
  const kind = `must be ${KINDS[expected] ?? `of kind ${expected}`}`;
  if (input === null) return `${kind}, but is empty: fill it in or omit it`;
  return input === undefined ? 'is missing' : kind;
}
