import { someOf } from '@tokenctl/common/text.ts';
import { type ItemDraft, objectText } from '../../domain/investigation/collect-items.ts';
import { isInherited } from '../../domain/investigation/deed.ts';
import {
  type FieldChange,
  type InvestigationItem,
  type ItemFinding,
  isLeft,
  isStillThere,
} from '../../domain/investigation/investigation.ts';
import { referenceId } from '../../domain/investigation/recorded-values.ts';
import type { Evidence, RoleHolder } from '../ports/evidence.ts';

/** Container objects whose roles apply to what they contain, by the field that names the container. */
const PLACES: Readonly<Record<string, string>> = {
  ...{ organization: 'organization', inventory: 'inventory', project: 'project', team: 'team' },
  ...{ source_project: 'project', workflow_job_template: 'workflow_job_template' },
};

/** The maximum number of users that a finding names. */
const MAX_NAMED = 10;

type ReadHolders = (kind: string, id: number) => Promise<readonly RoleHolder[] | null>;

/**
 * Adds to each moved item the users who gained access by the move: those with a role on its new container, or
 * on that container's organization, who had no such role before. Superusers have access before and after.
 * @param seesAll Whether the account sees all users: otherwise it is unknown who gained access.
 */
export async function withMoves(
  evidence: Evidence,
  { items, seesAll }: { items: readonly InvestigationItem[]; seesAll: boolean },
): Promise<InvestigationItem[]> {
  const read = new Map<string, ReturnType<ReadHolders>>();
  const holders: ReadHolders = (kind, id) => {
    const key = `${kind}:${id}`;
    const found = read.get(key) ?? (seesAll ? holdersIn(evidence, kind, id) : Promise.resolve(null));
    read.set(key, found);
    return found;
  };
  const all: InvestigationItem[] = [];
  for (const item of items) {
    const changes = item.act === 'changed' && isStillThere(item) ? item.changes : [];
    const moves = changes.filter((change) => Object.hasOwn(PLACES, change.field) && isLeft(change));
    const found: ItemFinding[] = [];
    for (const each of moves)
      found.push({ rule: 'moved', severity: 'high', message: await moveText(each, holders) });
    const isCritical = item.risk === 'critical';
    const findings = isCritical ? [...item.findings, ...found] : [...found, ...item.findings];
    all.push(found.length === 0 ? item : { ...item, findings, risk: isCritical ? 'critical' : 'high' });
  }
  return all;
}

/**
 * Removes the consequences of a move: the controller removes the roles that holders of roles at the former
 * place had on everything in the moved object, such as the templates of a project, each with an entry [seen
 * in the source of 24.6.1].
 */
export function withoutConsequences(drafts: readonly ItemDraft[]): readonly ItemDraft[] {
  const moved = new Set<string>();
  const places = new Set<string>();
  for (const { act, object, changes } of drafts) {
    for (const { field, before, edits } of act === 'changed' ? changes.values() : []) {
      if (!Object.hasOwn(PLACES, field)) continue;
      moved.add(`${object.kind}:${object.id}`);
      for (const each of [before, ...(edits ?? []).map((edit) => edit.before)])
        places.add(`${PLACES[field]}:${referenceId(each)}`);
    }
  }
  return drafts.filter(({ act, role, object, other }) => {
    // A team had the role because others gave it, or by its place.
    const isOfPlace = isInherited({ role, object }) || moved.has(`${object.kind}:${object.id}`);
    return act !== 'removed' || role === null || !isOfPlace || !places.has(`${other?.kind}:${other?.id}`);
  });
}

/** The users with a role on an object, or on its organization. */
async function holdersIn(evidence: Evidence, kind: string, id: number): ReturnType<ReadHolders> {
  const own = await evidence.roleHolders({ kind, id });
  if (own === null || kind === 'organization') return own;
  const fields = (await evidence.objects(kind, [id]))?.get(id)?.fields;
  const organization = referenceId(fields?.['organization']);
  if (organization === null) return fields === undefined ? null : own;
  const above = await evidence.roleHolders({ kind: 'organization', id: organization });
  return above === null ? null : [...own, ...above];
}

async function moveText({ field, before, after }: FieldChange, holders: ReadHolders): Promise<string> {
  const kind = PLACES[field] ?? field;
  const [from, to] = [referenceId(before), referenceId(after)];
  if (to === null && after === null) return `It now belongs to no ${kind}.`;
  const name = typeof after === 'string' ? after.replace(/-\d+$/, '') : null;
  const moved = `It was moved to the ${objectText({ kind, id: to, name })}.`;
  const now = to === null ? null : await holders(kind, to);
  if (now === null) return `${moved} Not checked: who gained access.`;
  const had = from === null ? [] : ((await holders(kind, from)) ?? []);
  const keys = new Set(had.map(keyOf));
  const gained = [...new Set(now.filter((each) => !keys.has(keyOf(each))).map(keyOf))];
  if (gained.length === 0) return `${moved} Users who gained a role there: none.`;
  // Administrators first.
  gained.sort(
    (a, b) => Number(b.includes('admin_role')) - Number(a.includes('admin_role')) || (a < b ? -1 : 1),
  );
  return `${moved} Users who gained a role there: ${someOf(gained, MAX_NAMED)}.`;
}

function keyOf({ holder, role }: RoleHolder): string {
  return `${holder} (${role})`;
}
