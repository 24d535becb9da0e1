import { readFileSync } from 'node:fs';

const DOCUMENTATION = readFileSync(new URL('../../docs/database.md', import.meta.url), 'utf8');

/** The statements under the headings of docs/database.md for a controller's database, for one role called ROLE. */
export const DOCUMENTED_GRANTS: ReadonlyMap<string, readonly string[]> = new Map(
  DOCUMENTATION.split(/^### /m).flatMap((section) => {
    const [, sql] = /^```sql\n(.*?)^```$/ms.exec(section) ?? [];
    if (sql === undefined) return [];
    const grants = sql
      .replace(/tokenctl_\w+/g, 'ROLE')
      .split(/;\n/)
      .filter((text) => text.trim() !== '');
    return [[section.split('\n', 1)[0] ?? '', grants] as const];
  }),
);

/** What the database of tokenctl's own service takes in addition, to read. */
export const SERVICE_GRANTS: readonly string[] = [
  ...(
    /^In the database of tokenctl's own service, also run (.*?)\.$/ms.exec(DOCUMENTATION)?.[1] ?? ''
  ).matchAll(/`(GRANT [^`]*)`/g),
].map(([, grant]) => `${grant} TO ROLE`);
