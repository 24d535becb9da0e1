/**
 * Fails where a test measures time, waits without until(), or sets a limit of its own: such a test fails on a busy machine, or takes
 * longer than what it tests. CONTRIBUTING.md says what to do instead ("No test measures time").
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NO_ANSWER_MS } from '@tokenctl/testing/limits.ts';
import { type ESTree, parseSync, Visitor } from 'rolldown/utils';

/** What may read clocks and wait, and why. */
const ALLOWED: Readonly<Record<string, string>> = {
  'test/soak/': 'runs for a time, by hand',
  'test/acceptance/': 'waits for an installation that is not ours',
  'test/browser/': 'Chromium has its own events',
  'service/test/browser/': 'the same',
  'testing/src/chromium.ts': 'the same',
  'testing/src/web-stories.ts': 'the same',
  'testing/src/until.ts': 'the one wait for what nothing announces',
  'test/support/incident-load.ts':
    'its clients pause between requests, and benchmarks read when they were refused',
};

const CLOCKS = ['performance.now', 'process.hrtime', 'process.hrtime.bigint', 'process.cpuUsage'];
const WAITS = ['setTimeout', 'Atomics.wait', 'vi.waitFor', 'vi.waitUntil', 'expect.poll'];
const SHORT_LIMIT = /(?:timeout|retry|silence|lease)Ms$|^responseTimeout$/i;
const TESTS = /^(?:test|it|describe|beforeAll|beforeEach|afterAll|afterEach)\b/;

const root = fileURLToPath(new URL('..', import.meta.url));
const problems = globSync('{test,testing/src,common/test,service/test}/**/*.{ts,tsx}', { cwd: root })
  .filter((file) => !Object.keys(ALLOWED).some((allowed) => file.startsWith(allowed)))
  .toSorted()
  .flatMap((file) => problemsIn(file, readFileSync(join(root, file), 'utf8')));
for (const problem of problems) console.error(problem);
if (problems.length > 0) {
  console.error(
    `${problems.length} places where tests depend on time: see "No test measures time" in CONTRIBUTING.md.`,
  );
  process.exitCode = 1;
}

function problemsIn(file: string, text: string): string[] {
  const found: string[] = [];
  const at = ({ start }: { start: number }, problem: string) =>
    void found.push(`${file}:${text.slice(0, start).split('\n').length}: ${problem}`);
  /** Variables that hold what the clock said. */
  const instants = new Set<string>();
  const { program } = parseSync(file, text);
  new Visitor({
    ImportDeclaration(node) {
      if (node.source.value === 'node:timers/promises') at(node, 'waits without until()');
    },
    VariableDeclarator({ id, init }) {
      if (id.type === 'Identifier' && init !== null && isNow(init)) instants.add(id.name);
    },
    BinaryExpression(node) {
      const isMeasured =
        isNow(node.left) && node.right.type === 'Identifier' && instants.has(node.right.name);
      if (isMeasured) at(node, 'measures time');
    },
    MemberExpression(node) {
      if (CLOCKS.includes(pathOf(node))) at(node, 'measures time');
    },
    Literal(node) {
      if (typeof node.value === 'string' && node.value.includes('pg_sleep('))
        at(node, 'waits without until()');
    },
    TemplateElement(node) {
      if (node.value.raw.includes('pg_sleep(')) at(node, 'waits without until()');
    },
    Property(node) {
      const name = node.key.type === 'Identifier' ? node.key.name : '';
      if (SHORT_LIMIT.test(name) && isBelow(node.value, NO_ANSWER_MS))
        at(node, `limits to less than ${NO_ANSWER_MS} ms`);
    },
    CallExpression(node) {
      const callee = pathOf(node.callee);
      if (WAITS.includes(callee)) at(node, 'waits without until()');
      if (TESTS.test(callee)) limitsIn(node);
    },
  }).visit(program);
  return found;

  /** The limit that a test or its preparation sets for itself. */
  function limitsIn({ arguments: given }: ESTree.CallExpression): void {
    for (const each of given) {
      if (each.type === 'Literal' && typeof each.value === 'number') at(each, 'sets a limit of its own');
      if (each.type !== 'ObjectExpression') continue;
      for (const property of each.properties) {
        if (
          property.type === 'Property' &&
          property.key.type === 'Identifier' &&
          property.key.name === 'timeout'
        )
          at(property, 'sets a limit of its own');
      }
    }
  }
}

/** `a.b.c` of an expression that names something; calls on the way are left out: `test.each(rows)` is `test.each`. */
function pathOf(node: ESTree.Expression | ESTree.Super | ESTree.PrivateIdentifier): string {
  if (node.type === 'Identifier') return node.name;
  if (node.type === 'CallExpression') return pathOf(node.callee);
  if (node.type !== 'MemberExpression') return '';
  return `${pathOf(node.object)}.${node.property.type === 'Identifier' ? node.property.name : ''}`;
}

function isNow(node: ESTree.Expression | ESTree.PrivateIdentifier): boolean {
  return node.type === 'CallExpression' && pathOf(node.callee) === 'Date.now';
}

function isBelow(node: ESTree.Node, limit: number): boolean {
  return node.type === 'Literal' && typeof node.value === 'number' && node.value < limit;
}
