import { nounOf, nounsOf } from '../../domain/investigation/kinds.ts';
import type { IncidentReport } from '../../operations/incident/gather-report.ts';
import type { RunCounts } from '../../operations/journal/run-account.ts';
import { countText, numberText } from '../tables/text.ts';

type Act = IncidentReport['cleaned'][number];

/** The actions of runs and cleanings, counted from the outcomes in the audit log. */
export function endedCounts({
  runs,
  cleaned,
  ownActs,
}: Pick<IncidentReport, 'runs' | 'cleaned' | 'ownActs'>): readonly string[] {
  const sum = (name: keyof RunCounts) => runs.reduce((total, { counts }) => total + counts[name], 0);
  const done = cleaned.filter(({ result }) => result === 'done');
  const isToken = (each: Act) => kindOf(each) === TOKEN && each.act === 'delete';
  const tokens = new Set(done.filter(isToken).map(({ item }) => item)).size;
  return [
    `${countText(sum('revoked') + tokens, 'access token')} revoked`,
    ...switched(ownActs, false).map((count) => `${countText(count, 'user')} deactivated`),
    ...switched(ownActs, true).map((count) => `${countText(count, 'user')} activated again`),
    ...cleanedCounts(done.filter((each) => !isToken(each))),
    ...ENDED.flatMap(([name, what]) => (sum(name) === 0 ? [] : [what(sum(name))])),
  ];
}

const TOKEN = 'o_auth2_access_token';

/** The kind of the object, from the item's id. */
function kindOf({ item }: Act): string {
  return item.slice(0, Math.max(0, item.indexOf(':')));
}

/** The number of users switched off, or on, each counted once; empty for none. */
function switched(acts: IncidentReport['ownActs'], active: boolean): readonly number[] {
  const users = acts.filter((act) => act.kind === 'user' && act.active === active).map(({ id }) => id);
  return users.length === 0 ? [] : [new Set(users).size];
}

const CLEANED: Readonly<Record<string, string>> = {
  delete: 'deleted',
  disable: 'switched off',
  restore: 'restored',
  cancel: 'canceled',
};

/** Deactivated users are counted with those of other runs. A swapped name is restored later. */
function cleanedCounts(acts: readonly Act[]): readonly string[] {
  const told = acts.filter(
    (each) => each.act !== 'rename' && !(each.act === 'disable' && kindOf(each) === 'user'),
  );
  const groups = Map.groupBy(told, (each) => {
    const verb = CLEANED[each.act ?? ''];
    if (each.act === 'disassociate' || each.act === 'unassign') return 'removed';
    return verb === undefined ? 'other' : `${verb} ${kindOf(each)}`;
  });
  return [...groups].map(([key, some]) => {
    const count = new Set(some.map(({ item }) => item)).size;
    const [first] = some;
    if (key === 'removed') return `${countText(count, 'role or link', 'roles or links')} removed`;
    if (key === 'other' || first === undefined) return `${countText(count, 'other thing')} cleaned`;
    const kind = kindOf(first);
    return `${countText(count, nounOf(kind), nounsOf(kind))} ${CLEANED[first.act ?? '']}`;
  });
}

const ENDED: readonly (readonly [keyof RunCounts, (count: number) => string])[] = [
  ['refreshTokensRevoked', (count) => `${countText(count, 'refresh token')} revoked`],
  ['deleted', (count) => `${countText(count, 'row')} deleted`],
  ['sessionsEnded', (count) => `${countText(count, 'session')} ended`],
  ['failed', (count) => `${numberText(count)} failed`],
];
