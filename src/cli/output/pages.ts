import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { nearestName } from '../../domain/nearest-name.ts';
import { lines } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';

/** What `docs` prints with `--json`: the pages, or one of them. */
export type DocsJson =
  | { readonly pages: readonly { readonly name: string; readonly title: string; readonly path: string }[] }
  | { readonly name: string; readonly path: string; readonly text: string };

/** An installed documentation page, below the root directory, or the list. Throws `usage` if unknown. */
export async function docsResult(root: string, name: string | undefined): Promise<Report<DocsJson>> {
  const folders = ['docs', 'docs/guides', 'docs/runbooks', 'service/docs'].map((path) => join(root, path));
  const paths = new Map<string, string>();
  for (const each of folders) {
    for (const file of await readdir(each)) {
      if (file.endsWith('.md')) paths.set(basename(file, '.md'), join(each, file));
    }
  }
  const names = [...paths.keys()];
  const asked = name === undefined ? undefined : paths.get(name);
  if (name !== undefined && asked === undefined) {
    throw notThere(`No page ${name}`, nearestName(name, names), 'List the pages with `tokenctl docs`.');
  }
  if (name !== undefined && asked !== undefined) {
    const text = await readFile(asked, 'utf8');
    return report({ json: { name, path: asked, text }, text: () => text, verbatim: true });
  }
  const pages = await Promise.all(
    [...paths].toSorted().map(async ([each, path]) => {
      return { name: each, title: titleOf(await readFile(path, 'utf8')), path };
    }),
  );
  return report({
    json: { pages },
    document: [
      titledLines(pages),
      lines(
        'To print one: tokenctl docs PAGE. README lists them by task.',
        'A runbook with your names in its commands: tokenctl incident runbook',
        `The files are in ${folders[0]}.`,
      ),
    ],
  });
}

/**
 * The JSON schema of a command's output with `--json`, as text only.
 * @param command The words of the command, such as `tokens list`.
 * @throws TokenctlError `usage` for a command without one.
 */
export async function schemaResult(root: string, command: string): Promise<Report<never>> {
  const text = await schemaText(root, command);
  return report({ json: JSON.parse(text) as never, text: () => text, verbatim: true });
}

/** The text of that schema. Throws as {@link schemaResult}. */
export async function schemaText(root: string, command: string): Promise<string> {
  const folder = join(root, 'docs', 'schemas');
  const names = (await readdir(folder))
    .filter((file) => file.endsWith('.json'))
    .map((file) => basename(file, '.json'));
  const name = command.trim().split(/\s+/).join('-');
  if (!names.includes(name)) {
    const hint =
      names.length === 0 ? 'In a checkout, `npm run build` generates them.' : `The schemas are in ${folder}.`;
    throw notThere(`No schema for "${command}"`, nearestName(name, names), hint);
  }
  return await readFile(join(folder, `${name}.json`), 'utf8');
}

function notThere(message: string, near: string | undefined, hint: string): TokenctlError {
  return new TokenctlError('usage', message, { hint: near === undefined ? hint : `Did you mean "${near}"?` });
}

/** One line per document: its name and its subject. */
export function titledLines(documents: readonly { readonly name: string; readonly title: string }[]) {
  const longest = Math.max(...documents.map(({ name }) => name.length));
  return lines(...documents.map(({ name, title }) => `${name.padEnd(longest)}  ${title}`));
}

export function titleOf(text: string): string {
  return /^# (.*)$/m.exec(text)?.[1] ?? '';
}
