import { expect, test } from 'vitest';
import { ItemCollector } from '../../../../src/domain/investigation/collect-items.ts';
import type { Deed } from '../../../../src/domain/investigation/deed.ts';
import { fieldVerdict } from '../../../../src/domain/investigation/field-verdicts.ts';
import { findingsOn } from '../../../../src/domain/investigation/risk.ts';
import { STORES } from '../../../../src/targets/database/evidence/evidence-tables.ts';
import { GATEWAY_STORES } from '../../../../src/targets/database/evidence/gateway-evidence.ts';
import { dumpOf, type Peer, REAL_PEERS } from '../../../support/real-tables.ts';

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

/** The fields of the kinds that a peer keeps, by the columns of its tables. */
function fieldsOf(peer: Peer): (readonly [kind: string, field: string])[] {
  const dump = dumpOf(peer);
  const columnsOf = (table: string) => {
    const [, body = ''] = new RegExp(`CREATE TABLE public\\.${table} \\((.*?)\\n\\);`, 's').exec(dump) ?? [];
    return [...body.matchAll(/^ +"?([a-z]\w*)"? /gm)].map(([, column = '']) => column.replace(/_id$/, ''));
  };
  const stores = peer.startsWith('gateway')
    ? Object.entries(GATEWAY_STORES).map(([kind, [table]]) => [kind, [table.text]] as const)
    : Object.entries(STORES).map(([kind, { table, parent = table }]) => [kind, [parent, table]] as const);
  return stores.flatMap(([kind, tables]) =>
    [...new Set(tables.flatMap(columnsOf))].map((field) => [kind, field] as const),
  );
}

test.each(REAL_PEERS)('the tables of %s have no field without a verdict', (peer) => {
  const fields = fieldsOf(peer);
  expect(fields.length).toBeGreaterThan(100);
  const unknown = fields.filter(([kind, field]) => fieldVerdict(kind, field) === null);
  expect(unknown.map((each) => each.join('.'))).toEqual([]);
});

test.runIf(REAL_PEERS.length === 7)('docs/fields.md has them all', async () => {
  const fields = [...new Set(REAL_PEERS.flatMap(fieldsOf).map((each) => each.join('.')))].toSorted();
  const found = fields.map((each) => each.split('.') as [string, string]);
  const verdicts = ['access', 'code', 'secrets', 'none'] as const;
  const of = (verdict: (typeof verdicts)[number], kind?: string) =>
    found.filter((each) => (kind ?? each[0]) === each[0] && fieldVerdict(...each) === verdict);
  const kinds = [...new Set(found.map(([kind]) => kind))];
  const page = [
    '# What a change to each field affects',
    '',
    "An investigation rates an intruder's changes by field. These are all fields in the tables of AWX 21.14.0, 23.5.1, 24.6.1",
    'and its state of October 2024, and of three layouts of a gateway. `_id` at the end of a column is omitted. A test generates this page',
    '(`npx vitest run --project=short test/unit/domain/investigation/field-verdicts.test.ts -u`). A field that is not listed is rated high.',
    '',
    '- **access**: who has access, to what, or who administers the object. High or critical.',
    '- **code**: what code runs, where, and with which permissions. High or critical.',
    '- **secrets**: secrets become visible. High.',
    '- **none**: none of these, computed by the controller, or recorded in separate entries, like roles.',
    '',
    '| verdict | fields |',
    '|---|---|',
    ...verdicts.map((verdict) => `| ${verdict} | ${of(verdict).length} |`),
    `| no verdict | ${found.length - verdicts.flatMap((verdict) => of(verdict)).length} |`,
    '',
    `| kind | ${verdicts.join(' | ')} |`,
    '|---|---|---|---|---|',
    ...kinds.map(
      (kind) =>
        `| ${kind} | ${verdicts
          .map((verdict) =>
            of(verdict, kind)
              .map(([, field]) => field)
              .join(' '),
          )
          .join(' | ')} |`,
    ),
    '',
  ].join('\n');
  await expect(page).toMatchFileSnapshot('../../../../docs/fields.md');
});
