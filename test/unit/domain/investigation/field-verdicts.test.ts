import { describe, expect, test } from 'vitest';
import { ItemCollector } from '../../../../src/domain/investigation/collect-items.ts';
import type { Deed } from '../../../../src/domain/investigation/deed.ts';
import { fieldVerdict } from '../../../../src/domain/investigation/field-verdicts.ts';
import { findingsOn } from '../../../../src/domain/investigation/risk.ts';
import { STORES } from '../../../../src/targets/database/evidence-tables.ts';
import { loadRealTables, REAL_PEERS } from '../../../support/real-tables.ts';

const CONTROLLERS = REAL_PEERS.filter((peer) => peer.startsWith('awx-'));

/** What a change of one field by an intruder is. */
function changed(kind: string, field: string, change: readonly [unknown, unknown]) {
  const items = new ItemCollector(10);
  const deed: Deed = {
    ...{ id: 1, at: new Date(0), operation: 'update', actor: { id: 3, username: 'bob' } },
    ...{ object: { kind, id: 7, name: 'x' }, other: null, role: null, link: '' },
    ...{ changes: { [field]: change }, category: null },
  };
  items.add(deed, { id: 3, username: 'bob' });
  const [draft] = items.drafts();
  if (draft === undefined) throw new Error('no item');
  const [finding] = findingsOn(draft);
  return [draft.group, finding?.rule, finding?.severity];
}

test.each([
  ['project', 'organization', ['Default-1', 'Other-2'], ['ways_in', 'access-changed', 'high']],
  ['inventory', 'organization', ['Default-1', 'Other-2'], ['ways_in', 'access-changed', 'high']],
  ['label', 'organization', ['Default-1', 'Other-2'], ['ways_in', 'access-changed', 'high']],
  ['team', 'organization', ['Default-1', 'Other-2'], ['ways_in', 'access-changed', 'high']],
  ['team', 'description', ['', 'x'], ['ways_in', undefined, undefined]],
  ['o_auth2_access_token', 'scope', ['read', 'write'], ['ways_in', 'access-changed', 'high']],
  ['user', 'email', ['a@x.org', 'b@x.org'], ['ways_in', 'access-changed', 'high']],
  ['user', 'last_name', ['', 'x'], ['ways_in', undefined, undefined]],
  ['job_template', 'diff_mode', [false, true], ['code_later', 'secrets-shown', 'high']],
  ['job_template', 'a_field_of_later', ['', 'x'], ['code_later', 'unrated-field', 'high']],
  ['a_kind_of_later', 'a_field', ['', 'x'], ['code_later', 'unrated-field', 'high']],
  ['project', 'scm_track_submodules', [false, true], ['code_later', 'what-runs', 'high']],
  ['workflow_approval', 'status', ['pending', 'successful'], ['code_later', 'what-runs', 'high']],
  ['workflow_approval', 'elapsed', [0, 1], ['other', undefined, undefined]],
  ['project', 'description', ['', 'x'], ['other', undefined, undefined]],
] as const)('a change of %s.%s', (kind, field, change, verdict) => {
  expect(changed(kind, field, change)).toEqual(verdict);
});

describe.each(CONTROLLERS)('the tables of %s', (peer) => {
  test('have no field without a verdict', async () => {
    const real = await loadRealTables(peer);
    const rows = await real.database.query<{ name: string; column: string }>(
      `SELECT table_name AS name, column_name AS column FROM information_schema.columns WHERE table_schema = 'public'`,
    );
    await real.close();
    const columns = Map.groupBy(rows, ({ name }) => name);
    const fields = Object.entries(STORES).flatMap(([kind, { table, parent }]) =>
      [table, ...(parent === undefined ? [] : [parent])].flatMap((each) =>
        (columns.get(each) ?? []).map(({ column }) => [kind, column.replace(/_id$/, '')] as const),
      ),
    );
    expect(fields.length).toBeGreaterThan(200);
    const unknown = fields.filter(([kind, field]) => fieldVerdict(kind, field) === null);
    expect(unknown.map((each) => each.join('.'))).toEqual([]);
  });
});
