/**
 * Writes the table of the versions that were tried into docs/compatibility.md: `node scripts/compatibility-table.ts`. A test compares.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { effects, layouts, triedVersions } from '../src/domain/tried-versions.ts';

const PAGE = new URL('../docs/compatibility.md', import.meta.url);

/** The table, in Markdown: a row for each effect, a column for each version. */
export function compatibilityTable(): string {
  const header = `| | ${triedVersions.map(({ name }) => name).join(' | ')} | Seen in |`;
  const rows = [...Object.values(layouts), ...Object.values(effects)].map(({ what, seen, where }) => {
    const outcomes: Readonly<Record<string, string | null>> = seen;
    return `| ${what} … | ${triedVersions.map(({ id }) => outcomes[id] ?? 'not tried').join(' | ')} | ${where} |`;
  });
  return [header, `|---|${'---|'.repeat(triedVersions.length + 1)}`, ...rows].join('\n');
}

/** The page with its table of versions replaced. */
export function withTable(page: string): string {
  return withPart(page, 'versions', compatibilityTable());
}

/** The page with what is between the marks of a part replaced. */
export function withPart(page: string, name: 'versions' | 'commands', text: string): string {
  const [, before, mark, after] =
    new RegExp(`^(.*)(<!-- ${name}: [^\\n]* -->).*(<!-- end of ${name} -->.*)$`, 's').exec(page) ?? [];
  if (mark === undefined) throw new Error(`docs/compatibility.md has no marks of ${name}`);
  return `${before}${mark}\n\n${text}\n\n${after}`;
}

if (import.meta.main) await writeFile(PAGE, withTable(await readFile(PAGE, 'utf8')));
