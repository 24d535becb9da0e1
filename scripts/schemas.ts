// Makes docs/schemas/*.json: what each command prints with --json. The type of what a command's `run` returns,
// `Result<Type>`, becomes its schema, with doc comments as descriptions. It leaves the files alone while the sources are the
// same. See docs/decisions/0028-schemas-from-types.md.
import { globSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getDefaultArgs, JsonSchemaGenerator, ts } from 'typescript-json-schema';
import { unlessMade } from './stamp.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'docs/schemas');

/** Commands that print no JSON. */
const withoutJson = new Set([
  'broker/serve',
  'console',
  'demo',
  'jobs/start',
  'service/start',
  'signals/serve',
]);

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
type Printed<Command extends new (...args: never[]) => { run(): Promise<unknown> }> =
  Json<Awaited<ReturnType<InstanceType<Command>['run']>>>;
type Json<Result> = [Reported<Result>] extends [never] ? Listed<Result> : Reported<Result>;
type Reported<Result> = Result extends { readonly kind: 'report'; readonly json: infer Json } ? Json : never;
type Listed<Result> = Result extends Listing<infer _Row, infer Item> ? readonly Item[] : never;\n`;

/** The schemas of all types as the generator makes them: in one go, because reading the sources takes most of the time. */
function generated(made: readonly Output[]): Readonly<Record<string, Schema>> {
  const file = join(root, 'scripts/printed-types.ts');
  const text = PRINTED + made.map(({ declaration }, index) => declaration(nameOf(index))).join('');
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [file] }, ts.sys, root);
  // It asks for the file of the types, which is nowhere on disk.
  const host = ts.createCompilerHost(options, true);
  const { getSourceFile } = host;
  host.getSourceFile = (name, target, ...rest) =>
    name === file ? ts.createSourceFile(name, text, target, true) : getSourceFile(name, target, ...rest);
  const program = ts.createProgram([file], options, host);
  const checker = program.getTypeChecker();
  const aliases = program.getSourceFile(file)?.statements.filter(ts.isTypeAliasDeclaration) ?? [];
  const types = Object.fromEntries(
    aliases.map((alias) => [alias.name.text, checker.getTypeAtLocation(alias)]),
  );
  // `npm run check:types` finds the errors. The generator of the package itself would look at every type of every file first.
  const settings = { ...getDefaultArgs(), required: true, strictNullChecks: true, aliasRef: true };
  const generator = new JsonSchemaGenerator([], types, {}, {}, checker, {
    ...settings,
    defaultNumberType: 'integer',
  });
  return generator.getSchemaForSymbols(made.map((_, index) => nameOf(index))).definitions as Readonly<
    Record<string, Schema>
  >;
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

/** Whatever may change a type of a command's JSON. */
const sources = [
  '{common/src,src/!(web)}/**/*.ts',
  'commands/**/*.ts',
  'jobs/*.ts',
  'scripts/schemas.ts',
  'package-lock.json',
];

await unlessMade({ root, stamp: join(folder, 'sources.sha256'), sources }, () => {
  const files = schemaFiles();
  for (const old of globSync('*.json', { cwd: folder })) rmSync(join(folder, old));
  for (const [name, content] of files) writeFileSync(join(folder, name), content);
});
