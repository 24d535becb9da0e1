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
  const missing = async (given: readonly string[]) => {
    const url = await roleWith(place, (role) => given.map((grant) => grant.replace(/tokenctl_\w+/, role)));
    return (await (await place.open({ url })).describe()).missingRights;
  };
  // Those on whole tables contain others, which an account needs that does not have them.
  const single = grants.filter((grant) => !/^GRANT SELECT ON/.test(grant));
  const withoutWhole = await missing(single);
  expect(withoutWhole).not.toEqual([]);
  for (const left of single) {
    const rest = single.filter((grant) => grant !== left);
    expect(await missing(rest), left).not.toEqual(withoutWhole);
  }
});
