import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Report, report } from '../../reports/tables/result.ts';

/** The runbooks of this version, in `docs/runbooks/`. */
export const runbooks = [
  'stolen-token',
  'leaving-employee',
  'compromised-identity-provider',
  'leaked-repository',
  'controller-down',
] as const;

/** What `incident runbook` prints with `--json`: the names, or one runbook. */
export type RunbookJson =
  | { readonly runbooks: readonly string[] }
  | {
      readonly name: string;
      /** In Markdown. */
      readonly text: string;
    };

/**
 * The result of `incident runbook`: a runbook, or the list of names.
 *
 * @param root The root directory of the package.
 */
export async function runbookResult(root: string, name: string | undefined): Promise<Report<RunbookJson>> {
  if (name === undefined) {
    return report({ json: { runbooks }, text: () => `${runbooks.join('\n')}\n` });
  }
  const text = await readFile(join(root, 'docs/runbooks', `${name}.md`), 'utf8');
  return report({ json: { name, text }, text: () => text, verbatim: true });
}
