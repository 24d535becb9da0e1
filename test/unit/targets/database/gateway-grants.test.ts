import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { roleWith, testDatabase } from '../../../support/test-database.ts';

const place = testDatabase('gateway');

/** The statements in the documentation's section on a gateway, each with its introduction. */
function documented(): readonly (readonly [lead: string, grants: readonly string[]])[] {
  const text = readFileSync(new URL('../../../../docs/database.md', import.meta.url), 'utf8');
  const section = text.split(/^## /m).find((part) => part.startsWith("A platform gateway's database")) ?? '';
  return [...section.matchAll(/^([^\n]*):\n\n```sql\n(.*?)^```$/gms)].map(([, lead = '', sql = '']) => [
    lead,
    sql.split(/;\n/).filter((grant) => grant.trim() !== ''),
  ]);
}

it('the documented grants are sufficient in a gateway’s database', async () => {
  const grants = documented().flatMap(([, each]) => each);
  const url = await roleWith(place, (role) => grants.map((grant) => grant.replace(/tokenctl_\w+/, role)));
  expect((await (await place.open({ url })).describe()).missingRights).toEqual([]);
});

it('each documented grant is necessary', { tags: ['long'] }, async () => {
  const grants = documented().flatMap(([, each]) => each);
  expect(grants.length).toBeGreaterThan(15);
  for (const left of grants) {
    const rest = grants.filter((grant) => grant !== left);
    const url = await roleWith(place, (role) => rest.map((grant) => grant.replace(/tokenctl_\w+/, role)));
    const { missingRights } = await (await place.open({ url })).describe();
    expect(missingRights.length, left).toBeGreaterThan(0);
  }
});
