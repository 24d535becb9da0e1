import { readFileSync } from 'node:fs';

/** The statements under the headings of docs/database.md for a controller's database, for one role called ROLE. */
export const DOCUMENTED_GRANTS: ReadonlyMap<string, readonly string[]> = new Map(
  readFileSync(new URL('../../docs/database.md', import.meta.url), 'utf8')
    .split(/^### /m)
    .flatMap((section) => {
      const [, sql] = /^```sql\n(.*?)^```$/ms.exec(section) ?? [];
      if (sql === undefined) return [];
      const grants = sql
        .replace(/tokenctl_\w+/g, 'ROLE')
        .split(/;\n/)
        .filter((text) => text.trim() !== '');
      return [[section.split('\n', 1)[0] ?? '', grants] as const];
    }),
);
