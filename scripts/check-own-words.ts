/**
 * Fails where text is searched for words that people read: what the program says is not read back. A fact is a member of a value
 * (a mark, a tone, a count), and sentences are made from it last. Fails, too, where a message or a page has a word that
 * docs/glossary.md rules out.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ESTree, parseSync, Visitor } from 'rolldown/utils';

/** Whose words are searched for, where they are not ours. */
const ALLOWED: Readonly<Record<string, string>> = {
  'src/app/named-context.ts': 'commands that a user copies, in a text of any origin',
  'src/cli/errors/failure.ts': 'the command framework',
  'src/cli/errors/usage-errors.ts': 'the command framework',
  'src/cli/incident/runbook-document.ts': 'commands of the runbooks, which are documents',
  'common/src/db/postgres.ts': 'the driver of PostgreSQL',
  'src/operations/revocation/scanner-findings.ts': 'scanners of secrets',
  'src/scheduler/schedule.ts': 'the parser of schedules',
  'src/targets/controller-api/cleaner.ts': 'controllers',
  'src/targets/controller-api/evidence-records.ts': 'controllers',
  'src/targets/controller-api/identify.ts': 'controllers',
  'src/targets/controller-api/responses.ts': 'controllers',
  'src/targets/controller-api/tokens.ts': 'controllers',
  'service/web/settings-fields.ts': 'the types of fields in OPTIONS, as controllers name them',
  'common/web/api.ts': 'browsers',
};

const SEARCHES = new Set(['startsWith', 'endsWith', 'includes', 'indexOf', 'replace', 'replaceAll', 'split']);

/** Two words of a sentence, or a first word and what follows it. */
const WORDS = /[A-Za-z]{2,} [a-z]{2,}|^\^?[A-Z][a-z]+ /;

const root = fileURLToPath(new URL('..', import.meta.url));
const sources = globSync('{src,commands,jobs,service/{src,web},common/{src,web}}/**/*.{ts,tsx}', {
  cwd: root,
})
  .toSorted()
  .map((file) => [file, readFileSync(join(root, file), 'utf8')] as const);
const problems = sources
  .filter(([file]) => !Object.hasOwn(ALLOWED, file))
  .flatMap(([file, text]) => problemsIn(file, text));
const pages = globSync(['*.md', '{docs,service/docs}/**/*.md'], {
  cwd: root,
  exclude: ['docs/glossary.md', 'docs/decisions/**', '**/node_modules/**'],
});
const out = wordsOut();
const foundOut = [
  ...sources.flatMap(([file, text]) => textsIn(file, text).flatMap((each) => outIn(file, each))),
  ...pages.flatMap((file) => outIn(file, readFileSync(join(root, file), 'utf8'))),
];
for (const problem of [...problems, ...foundOut]) console.error(problem);
if (foundOut.length > 0) {
  console.error(`${foundOut.length} words that are out: docs/glossary.md has those in their place.`);
  process.exitCode = 1;
}
if (problems.length > 0) {
  console.error(`${problems.length} places where words are read back: keep what they say in a value.`);
  process.exitCode = 1;
}

function problemsIn(file: string, text: string): string[] {
  const found: string[] = [];
  const at = ({ start, end }: { start: number; end: number }) =>
    void found.push(`${file}:${text.slice(0, start).split('\n').length}: ${text.slice(start, end)}`);
  new Visitor({
    Literal(node) {
      if ('regex' in node && WORDS.test(plain(node.regex.pattern))) at(node);
    },
    CallExpression({ callee, arguments: [first] }) {
      const isSearch =
        callee.type === 'MemberExpression' &&
        callee.property.type === 'Identifier' &&
        SEARCHES.has(callee.property.name);
      if (isSearch && first !== undefined && WORDS.test(wordsOf(first))) at(first);
    },
  }).visit(parseSync(file, text).program);
  return found;
}

/** A pattern without its escapes, whose letters are no words. */
function plain(pattern: string): string {
  return pattern.replaceAll(/\\./g, '');
}

function wordsOf(node: ESTree.Argument): string {
  if (node.type === 'TemplateLiteral') return node.quasis.map(({ value }) => value.raw).join('');
  return node.type === 'Literal' && typeof node.value === 'string' ? node.value : '';
}

/** A pattern of the words in the glossary's table of words that are out. */
function wordsOut(): RegExp {
  const glossary = readFileSync(join(root, 'docs/glossary.md'), 'utf8');
  const rows = glossary.slice(glossary.indexOf('| not | but |')).split('\n').slice(2);
  const words = rows.flatMap((row) => row.split('|')[1]?.split(',') ?? []).map((word) => word.trim());
  const patterns = words.filter((word) => word !== '').map((word) => word.replaceAll('*', '[a-z]*'));
  return new RegExp(String.raw`(?<![\w-])(?:${patterns.join('|')})(?![\w-])`, 'gi');
}

function outIn(file: string, text: string): string[] {
  return Array.from(text.matchAll(out), ([word]) => `${file}: ${word}`);
}

/** The texts of a source that people read: those with a space. */
function textsIn(file: string, text: string): string[] {
  const found: string[] = [];
  new Visitor({
    Literal: ({ value }) => void (typeof value === 'string' && found.push(value)),
    TemplateElement: ({ value }) => void found.push(value.raw),
    JSXText: ({ value }) => void found.push(value),
  }).visit(parseSync(file, text).program);
  return found.filter((each) => each.trim().includes(' '));
}
