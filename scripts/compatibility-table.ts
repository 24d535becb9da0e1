/**
 * Writes the table of the versions that were tried into docs/compatibility.md: `node scripts/compatibility-table.ts`. A test compares.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { effects, layouts, triedVersions } from '../src/domain/tried-versions.ts';

const PAGE = new URL('../docs/compatibility.md', import.meta.url);
const MARKS = ['<!-- versions: node scripts/compatibility-table.ts -->', '<!-- end of versions -->'] as const;

/** The table, in Markdown: a row for each effect, a column for each version. */
export function compatibilityTable(): string {
  const header = `| | ${triedVersions.map(({ name }) => name).join(' | ')} |`;
  const rows = [...Object.values(layouts), ...Object.values(effects)].map(({ what, seen }) => {
    const outcomes: Readonly<Record<string, string | null>> = seen;
    return `| ${what} … | ${triedVersions.map(({ id }) => outcomes[id] ?? 'not tried').join(' | ')} |`;
  });
  return [header, `|---|${'---|'.repeat(triedVersions.length)}`, ...rows].join('\n');
}

/** The page with its table replaced. */
export function withTable(page: string): string {
  const [before, rest] = page.split(MARKS[0]);
  const after = rest?.split(MARKS[1])[1];
  if (before === undefined || after === undefined) throw new Error('docs/compatibility.md has no marks');
  return `${before}${MARKS[0]}\n\n${compatibilityTable()}\n\n${MARKS[1]}${after}`;
}

if (import.meta.main) await writeFile(PAGE, withTable(await readFile(PAGE, 'utf8')));
