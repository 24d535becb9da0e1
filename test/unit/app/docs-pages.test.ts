import { existsSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { expect, test } from 'vitest';
import { docsResult, schemaResult } from '../../../src/cli/output/pages.ts';
import { noScreen } from '../../../src/reports/tables/text.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** The pages that messages and help texts name. */
const named = new Set(
  globSync('{src,commands,common/src}/**/*.{ts,tsx}', { cwd: ROOT }).flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/tokenctl docs ([a-z-]+)/g)].map(([, page]) => page),
  ),
);

test('every page that a message names is installed with the program', async () => {
  expect(named.size).toBeGreaterThan(5);
  for (const page of named) expect((await docsResult(ROOT, page)).json).toMatchObject({ name: page });
});

test('the pages are listed with their titles and their folder', async () => {
  const { text } = await docsResult(ROOT, undefined);
  const listed = await text(noScreen);
  for (const line of [
    /^policy +Audit policy$/m,
    /^upgrade-to-2\.7 +\S/m,
    /^service +The automation service$/m,
  ])
    expect(listed).toMatch(line);
});

test('a typo in a name gets the nearest page', async () => {
  await expect(docsResult(ROOT, 'singals')).rejects.toMatchObject({
    code: 'usage',
    hint: 'Did you mean "signals"?',
  });
});

test('the schema of a command is printed as it is, and a typo gets the nearest name', async () => {
  const { text } = await schemaResult(ROOT, 'tokens list');
  expect(JSON.parse(await text(noScreen))).toMatchObject({ title: 'tokenctl tokens list --json' });
  await expect(schemaResult(ROOT, 'tokens lits')).rejects.toMatchObject({
    code: 'usage',
    hint: 'Did you mean "tokens-list"?',
  });
  await using checkout = await temporaryFolder();
  mkdirSync(join(checkout.path, 'docs/schemas'), { recursive: true });
  await expect(schemaResult(checkout.path, 'tokens list')).rejects.toMatchObject({
    hint: 'In a checkout, `npm run build` generates them.',
  });
});

/** The anchors of a page's headings, as GitHub makes them. */
const anchorsOf = (text: string) =>
  Array.from(text.matchAll(/^#+ (.*)$/gm), ([, heading = '']) =>
    heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );

test('links between pages lead to a file, and to a heading of it', () => {
  const dead: string[] = [];
  const pages = globSync(['*.md', '{docs,service,deploy,src,.github}/**/*.md'], {
    cwd: ROOT,
    exclude: ['**/node_modules/**'],
  });
  expect(pages.length).toBeGreaterThan(50);
  for (const page of pages) {
    const text = readFileSync(join(ROOT, page), 'utf8').replace(/```.*?```/gs, '');
    for (const [, link = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(link)) continue;
      const [path = '', heading] = link.split('#');
      const file = path === '' ? join(ROOT, page) : join(ROOT, dirname(page), path);
      if (!existsSync(file)) dead.push(`${page}: ${link}`);
      else if (heading && file.endsWith('.md') && !anchorsOf(readFileSync(file, 'utf8')).includes(heading)) {
        dead.push(`${page}: ${link}`);
      }
    }
  }
  expect(dead).toEqual([]);
});
