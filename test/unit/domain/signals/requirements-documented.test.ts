import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const ROOT = new URL('../../../../', import.meta.url);
const page = readFileSync(new URL('docs/signals.md', ROOT), 'utf8');
/** The lines of the table: a clause, a behavior, and a test by its file and its name. */
const lines = [
  ...page.matchAll(/^\| ((?:RFC \d+|SSF|CAEP|RISC) [^|]*) \| [^|]+ \| `([\w/-]+)`: ([^|]+) \|$/gm),
].map(([, clause = '', file = '', name = '']) => ({ clause, file, name }));

test('each requirement on the page names a test that exists', () => {
  for (const { clause, file, name } of lines) {
    const url = new URL(`${file}.test.ts`, ROOT);
    const source = existsSync(url) ? readFileSync(url, 'utf8') : '';
    // A test of a table may begin on the line before its name.
    expect({ clause, file, name, exists: source.includes(`'${name}'`) }).toMatchObject({ exists: true });
  }
});

test('the page has a line for each specification', () => {
  const specifications = lines.map(({ clause }) => /^(RFC \d+|\w+)/.exec(clause)?.[0]);
  expect(new Set(specifications)).toEqual(
    new Set(['RFC 8935', 'RFC 8936', 'RFC 8417', 'RFC 9493', 'SSF', 'CAEP', 'RISC']),
  );
  // Not one that is written in another form, and so is not read above.
  const section = page.split('## Specification requirements')[1]?.split('\n## ')[0] ?? '';
  expect(lines).toHaveLength(
    section.split('\n').filter((line) => /^\| (RFC|SSF|CAEP|RISC)/.test(line)).length,
  );
});
