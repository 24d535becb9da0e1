// Makes docs/schemas/*.json: what each command prints with --json. The type of what a command's `run` returns,
// `Result<Type>`, becomes its schema, with doc comments as descriptions. With --check it leaves the files alone and
// fails where they are out of date. See docs/decisions/0028-schemas-from-types.md.
import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'docs/schemas');

/** Commands that print no JSON. */
const withoutJson = new Set(['console', 'demo', 'jobs/start', 'service/start', 'signals/serve']);

/** What is printed instead of a command's own JSON, by file. */
const general = [
  {
    file: 'error',
    title: 'A failure, with --json',
    module: 'src/cli/errors/failure.ts',
    type: 'FailureJson',
  },
  {
    file: 'several-contexts',
    title: 'A command in several contexts, with --json',
    module: 'src/cli/multi-context/context-outcomes.ts',
    type: 'SeveralContextsJson',
  },
];

/** Numbers that have a fraction. All others are whole. */
const FRACTIONS: ReadonlySet<string> = new Set(['seconds']);

/** As much of JSON Schema as the generator writes. */
interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema | readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly definitions?: Readonly<Record<string, Schema>>;
}

/** A schema to make: its file, its title, and a declaration of its type under a name. */
interface Output {
  readonly file: string;
  readonly title: string;
  readonly declaration: (name: string) => string;
}

function outputs(): readonly Output[] {
  const commands = globSync('**/*.ts', { cwd: join(root, 'commands') })
    .map((path) => path.slice(0, -'.ts'.length))
    .filter((path) => !withoutJson.has(path))
    .toSorted();
  return [
    ...commands.map((path) => ({
      file: path.replaceAll('/', '-'),
      title: `tokenctl ${path.replaceAll('/', ' ')} --json`,
      declaration: (name: string) =>
        `import type Command${name} from '${join(root, 'commands', path)}.ts';\nexport type ${name} = Printed<typeof Command${name}>;\n`,
    })),
    ...general.map(({ file, title, module, type }) => ({
      file,
      title,
      declaration: (name: string) =>
        `import type { ${type} } from '${join(root, module)}';\nexport type ${name} = ${type};\n`,
    })),
  ];
}

/** What a command prints: the JSON of its reports, or an array of the items that it lists. Reports can be streamed as well. */
const PRINTED = `import type { Listing } from '${join(root, 'src/reports/tables/listing.ts')}';
export type Printed<Command extends new (...args: never[]) => { run(): Promise<unknown> }> =
  Json<Awaited<ReturnType<InstanceType<Command>['run']>>>;
type Json<Result> = [Reported<Result>] extends [never] ? Listed<Result> : Reported<Result>;
type Reported<Result> = Result extends { readonly kind: 'report'; readonly json: infer Json } ? Json : never;
type Listed<Result> = Result extends Listing<infer _Row, infer Item> ? readonly Item[] : never;\n`;

/** The schemas of all types as the generator makes them: in one go, because reading the sources takes most of the time. */
function generated(made: readonly Output[]): Readonly<Record<string, Schema>> {
  const work = mkdtempSync(join(tmpdir(), 'tokenctl-schemas-'));
  try {
    const types = join(work, 'types.ts');
    writeFileSync(join(work, 'printed.ts'), PRINTED);
    const first = "import type { Printed } from './printed.ts';\n";
    writeFileSync(types, first + made.map(({ declaration }, index) => declaration(nameOf(index))).join(''));
    const project = join(work, 'tsconfig.json');
    const compilerOptions = {
      rootDir: '/',
      typeRoots: [join(root, 'node_modules/@types')],
      rewriteRelativeImportExtensions: false,
      allowImportingTsExtensions: true,
    };
    writeFileSync(
      project,
      JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, files: [types], include: [] }),
    );
    const out = join(work, 'schemas.json');
    execFileSync(
      process.execPath,
      [
        fileURLToPath(import.meta.resolve('typescript-json-schema/bin/typescript-json-schema')),
        ...[project, '*', '--include', types, '--out', out, '--required', '--strictNullChecks'],
        // `npm run check:types` finds the errors.
        ...['--aliasRefs', '--defaultNumberType', 'integer', '--ignoreErrors'],
      ],
      { stdio: ['ignore', 'inherit', 'inherit'] },
    );
    return (JSON.parse(readFileSync(out, 'utf8')) as Required<Schema>).definitions;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function nameOf(index: number): string {
  return `Output${index}`;
}

/** One file: a schema, and the definitions that it refers to. */
class SchemaFile {
  readonly #all: Readonly<Record<string, Schema>>;
  /** The definitions of the file, by the short names of their types. */
  readonly #used = new Map<string, Schema>();

  constructor(all: Readonly<Record<string, Schema>>) {
    this.#all = all;
  }

  text(name: string, title: string): string {
    const { description, ...schema } = this.#whole({ $ref: `#/definitions/${encodeURIComponent(name)}` });
    if (Object.keys(schema).length === 0) {
      throw new Error(`${title}: its run() has to return a Result<Type> with the type of its JSON`);
    }
    const used = [...this.#used].toSorted(([one], [other]) => (one < other ? -1 : 1));
    const file = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      title,
      ...(description !== undefined && { description }),
      ...schema,
      ...(used.length > 0 && { definitions: Object.fromEntries(used) }),
    };
    return `${shortLists(JSON.stringify(file, null, 2))}\n`;
  }

  /** What the file is about is at its top, not among the definitions. */
  #whole(schema: Schema): Schema {
    const definition = this.#referred(schema);
    return definition === undefined
      ? this.#tidy(schema)
      : this.#whole({ ...definition, ...descriptionOf(schema) });
  }

  #referred({ $ref }: Schema): Schema | undefined {
    return $ref === undefined ? undefined : this.#all[fullName($ref)];
  }

  #tidy(schema: Schema, member?: string): Schema {
    const { $ref } = schema;
    if ($ref !== undefined) return this.#reference($ref, schema, member);
    const { properties, items, additionalProperties, anyOf, allOf } = schema;
    const inner = (each: Schema) => this.#tidy(each, member);
    const { description: _description, type: _type, required, ...rest } = schema;
    return flattened({
      ...descriptionOf(schema),
      ...typeOf(schema, member),
      ...rest,
      ...(properties && {
        properties: Object.fromEntries(
          Object.entries(properties).map(([name, each]) => [name, this.#tidy(each, name)]),
        ),
      }),
      ...(items && { items: isList(items) ? items.map(inner) : inner(items) }),
      ...(typeof additionalProperties === 'object' && { additionalProperties: inner(additionalProperties) }),
      ...(anyOf && { anyOf: anyOf.map(inner) }),
      ...(allOf && { allOf: allOf.map(inner) }),
      ...(required && { required }),
    });
  }

  /** A reference by the short name of its type; a type without one (`Pick<…>`), and a simple one, takes its place. */
  #reference($ref: string, schema: Schema, member: string | undefined): Schema {
    const name = fullName($ref);
    const definition = this.#all[name];
    if (definition === undefined) throw new Error(`no definition of ${name}`);
    const short = /(?:^|\.)([A-Z]\w*)$/.exec(name)?.[1];
    if (short === undefined || UTILITIES.has(short) || isSimple(definition)) {
      return { ...this.#tidy(definition, member), ...descriptionOf(schema) };
    }
    const tidy = this.#tidy(definition);
    const used = this.#used.get(short);
    // A type has another full name where it is referred to from another file.
    if (used !== undefined && JSON.stringify(used) !== JSON.stringify(tidy)) {
      throw new Error(`two types are called ${short}: rename one of them`);
    }
    this.#used.set(short, tidy);
    return { $ref: `#/definitions/${short}`, ...descriptionOf(schema) };
  }
}

/** Puts lists of names on one line where they fit, as the formatter of the project does. */
function shortLists(json: string): string {
  return json.replaceAll(
    /^( *(?:"[^"]*": )?)\[\n((?: *"[^"]*",?\n)+) *\](,?)$/gm,
    (whole, start: string, lines: string, end: string) => {
      const line = `${start}[${lines.trim().replaceAll(/,\n */g, ', ')}]${end}`;
      return line.length <= WIDTH ? line : whole;
    },
  );
}

/** Of a line. */
const WIDTH = 110;

/** What the generator names after a utility type says nothing. */
const UTILITIES: ReadonlySet<string> = new Set([
  'Omit',
  'Pick',
  'Readonly',
  'Partial',
  'Record',
  'MaybeMade',
]);

function fullName($ref: string): string {
  return decodeURIComponent($ref.slice('#/definitions/'.length));
}

function isList(items: Schema | readonly Schema[]): items is readonly Schema[] {
  return Array.isArray(items);
}

/** Whether a schema is of one value without members: a name, a time. */
function isSimple({ properties, items, anyOf, allOf, type }: Schema): boolean {
  return type !== 'object' && [properties, items, anyOf, allOf].every((each) => each === undefined);
}

/** The type, with `null` last. */
function typeOf({ type }: Schema, member: string | undefined): Pick<Schema, 'type'> {
  if (type === undefined) return {};
  const isFraction = member !== undefined && FRACTIONS.has(member);
  const types = [type].flat().map((each) => (each === 'integer' && isFraction ? 'number' : each));
  const ordered = types.toSorted((one, other) => Number(one === 'null') - Number(other === 'null'));
  return { type: ordered.length === 1 ? (ordered[0] ?? '') : ordered };
}

function descriptionOf({ description }: Schema): Pick<Schema, 'description'> {
  return description === undefined
    ? {}
    : { description: description.replaceAll(/\{@link ([^}]*)\}/g, '`$1`').replaceAll(/\s*\n\s*/g, ' ') };
}

/** Alternatives within alternatives become one list. */
function flattened(schema: Schema): Schema {
  const { anyOf, ...rest } = schema;
  if (anyOf === undefined) return schema;
  const all = anyOf.flatMap(({ anyOf: inner, ...each }) => inner ?? [each]);
  return { ...rest, anyOf: [...new Map(all.map((each) => [JSON.stringify(each), each])).values()] };
}

/** The content of every file in docs/schemas, by name. */
function schemaFiles(): ReadonlyMap<string, string> {
  const made = outputs();
  const all = generated(made);
  return new Map(
    made.map(({ file, title }, index) => [`${file}.json`, new SchemaFile(all).text(nameOf(index), title)]),
  );
}

const files = schemaFiles();
const isCheck = process.argv.includes('--check');
for (const name of readdirSync(folder).filter((each) => each.endsWith('.json') && !files.has(each))) {
  if (isCheck) complain(`docs/schemas/${name} is of no command`);
  else rmSync(join(folder, name));
}
for (const [name, content] of files) {
  const path = join(folder, name);
  if (!isCheck) writeFileSync(path, content);
  else if (!readdirSync(folder).includes(name) || readFileSync(path, 'utf8') !== content) {
    complain(`docs/schemas/${name} does not describe what its command prints`);
  }
}

function complain(what: string): void {
  console.error(`${what}: run \`npm run schemas\``);
  process.exitCode = 1;
}
