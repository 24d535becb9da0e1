import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { docsResult } from '../../../src/cli/output/pages.ts';
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
  expect(await text(noScreen)).toMatch(/^policy +Audit policy$/m);
});

test('a typo in a name gets the nearest page', async () => {
  await expect(docsResult(ROOT, 'singals')).rejects.toMatchObject({
    code: 'usage',
    hint: 'Did you mean "signals"?',
  });
});
