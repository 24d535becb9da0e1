import { TokenctlError } from '@tokenctl/common/errors.ts';
import { nearestName } from '../../domain/nearest-name.ts';
import type { Result } from '../../reports/result.ts';
import { schemaText } from './pages.ts';

/** The part of a JSON schema that is needed for its member names. */
interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly definitions?: Readonly<Record<string, Schema>>;
}

/**
 * Checks the fields of `--json=FIELD,FIELD` before the command does anything.
 * @param root The directory of the program, with the schemas.
 * @param id The command, such as `tokens:list`.
 * @throws TokenctlError `usage` for a field that the command does not have; its hint lists the existing ones.
 */
export async function requireFields(root: string, id: string, fields: readonly string[]): Promise<void> {
  const command = id.replaceAll(':', ' ');
  const known = [...namesIn(JSON.parse(await schemaText(root, command)) as Schema)].toSorted();
  const unknown = fields.find((field) => !known.includes(field));
  if (unknown === undefined) return;
  const near = nearestName(unknown, known);
  const message =
    unknown === '' ? '--json= without a field' : `No field "${unknown}" in the JSON of ${command}`;
  throw new TokenctlError('usage', message, {
    hint: `${near === undefined ? '' : `Did you mean ${near}? `}The fields are ${known.join(', ')}.`,
  });
}

/** The members that a schema describes: of the object, of the items of a list, of each alternative. */
function namesIn(schema: Schema, definitions = schema.definitions ?? {}): ReadonlySet<string> {
  const { $ref = '', properties = {}, items, anyOf = [], allOf = [] } = schema;
  const referred = definitions[$ref.replace('#/definitions/', '')];
  const inner = [items, referred, ...anyOf, ...allOf].filter((each) => each !== undefined);
  return new Set([...Object.keys(properties), ...inner.flatMap((each) => [...namesIn(each, definitions)])]);
}

/**
 * The same result, reduced to these fields in this order; for a list, each row. Missing members are omitted.
 * @param onRow Gets each row, or the result, before it is printed; not for a streamed one.
 */
export function withFields(
  result: Result,
  fields: readonly string[],
  onRow: (members: object) => void = () => {},
): Result {
  const only = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(only);
    const members = value as Readonly<Record<string, unknown>>;
    onRow(members);
    return Object.fromEntries(
      fields.filter((field) => Object.hasOwn(members, field)).map((field) => [field, members[field]]),
    );
  };
  switch (result.kind) {
    case 'report':
      return { ...result, json: only(result.json) };
    case 'listing':
      return { ...result, json: (row) => only(result.json(row)) };
    default:
      return result.makes === 'json'
        ? { ...result, chunks: (screen) => membersAmong(fields, result.chunks(screen)) }
        : result;
  }
}

/** The members with these names of one JSON object, copied as a stream because it is too large for memory. */
async function* membersAmong(fields: readonly string[], chunks: AsyncIterable<string>) {
  const members = new Members(fields);
  for await (const chunk of chunks) {
    let copied = '';
    for (const char of chunk) copied += members.copied(char);
    yield copied;
  }
  yield members.end();
}

class Members {
  readonly #fields: readonly string[];
  #depth = 0;
  #isQuoted = false;
  #isEscaped = false;
  /** The name of the member, in its quotes. */
  #name = '';
  /** Whether the value is copied; null before the value. */
  #isCopied: boolean | null = null;
  #separator = '{';

  constructor(fields: readonly string[]) {
    this.#fields = fields;
  }

  /** The part of the next character to copy. */
  copied(char: string): string {
    const wasQuoted = this.#isQuoted;
    const isBetween = this.#depth === 1 && !wasQuoted;
    this.#follow(char);
    if (isBetween && ',}'.includes(char)) {
      this.#name = '';
      this.#isCopied = null;
      return '';
    }
    if (this.#isCopied !== null) return this.#isCopied && !(isBetween && /\s/.test(char)) ? char : '';
    if (isBetween && char === ':') return this.#begin();
    if (wasQuoted || this.#isQuoted) this.#name += char;
    return '';
  }

  end(): string {
    return this.#separator === '{' ? '{}\n' : '\n}\n';
  }

  #begin(): string {
    this.#isCopied = this.#fields.includes(JSON.parse(this.#name));
    if (!this.#isCopied) return '';
    const start = `${this.#separator}\n  ${this.#name}: `;
    this.#separator = ',';
    return start;
  }

  #follow(char: string): void {
    if (this.#isQuoted) {
      this.#isQuoted = this.#isEscaped || char !== '"';
      this.#isEscaped = !this.#isEscaped && char === '\\';
    } else if (char === '"') this.#isQuoted = true;
    else if ('{['.includes(char)) this.#depth += 1;
    else if ('}]'.includes(char)) this.#depth -= 1;
  }
}
