import type { z } from 'zod';

const KINDS: Readonly<Record<string, string>> = {
  record: 'a mapping',
  object: 'a mapping',
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
};

/**
 * What is wrong with a setting, in the words of a configuration file instead of the schema library's. A
 * predicate that follows the setting's name: `must be a mapping`. For what the schema has no text for.
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

/** A key without a value is null in YAML: people leave one behind when they comment out what it held. */
function wrongKind(expected: string, input: unknown): string {
  const kind = `must be ${KINDS[expected] ?? `of the kind ${expected}`}`;
  if (input === null) return `${kind}, and is empty: fill it or leave it out`;
  return input === undefined ? 'is missing' : kind;
}
