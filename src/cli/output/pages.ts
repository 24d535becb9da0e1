import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { nearestName } from '../../domain/nearest-name.ts';
import { lines } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';

/** What `docs` prints with `--json`: the pages, or one of them. */
export type DocsJson =
  | { readonly pages: readonly { readonly name: string; readonly title: string; readonly path: string }[] }
  | {
      readonly name: string;
      readonly path: string;
      /** In Markdown. */
      readonly text: string;
    };

/**
 * A page of the documentation that is installed with the program, or the list of them.
 *
 * @param root The root directory of the package.
 * @throws TokenctlError `usage` for a page that there is not.
 */
export async function docsResult(root: string, name: string | undefined): Promise<Report<DocsJson>> {
  const folder = join(root, 'docs');
  const names = (await readdir(folder))
    .filter((file) => file.endsWith('.md'))
    .map((file) => file.slice(0, -3));
  if (name !== undefined && !names.includes(name)) {
    const near = nearestName(name, names);
    throw new TokenctlError('usage', `No page ${name}`, {
      hint: near === undefined ? 'List the pages with `tokenctl docs`.' : `Did you mean "${near}"?`,
    });
  }
  if (name !== undefined) {
    const path = join(folder, `${name}.md`);
    const text = await readFile(path, 'utf8');
    return report({ json: { name, path, text }, text: () => text, verbatim: true });
  }
  const pages = await Promise.all(
    names.toSorted().map(async (each) => {
      const path = join(folder, `${each}.md`);
      return { name: each, title: titleOf(await readFile(path, 'utf8')), path };
    }),
  );
  return report({
    json: { pages },
    document: [
      titledLines(pages),
      lines(
        'To print one: tokenctl docs PAGE. Runbooks: tokenctl incident runbook',
        `They are in ${folder}.`,
      ),
    ],
  });
}

/** A line for each document: its name, and what it is about. */
export function titledLines(documents: readonly { readonly name: string; readonly title: string }[]) {
  const longest = Math.max(...documents.map(({ name }) => name.length));
  return lines(...documents.map(({ name, title }) => `${name.padEnd(longest)}  ${title}`));
}

/** The heading of a document in Markdown. */
export function titleOf(text: string): string {
  return /^# (.*)$/m.exec(text)?.[1] ?? '';
}
