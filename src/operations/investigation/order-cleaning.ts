import type { CleaningAct } from '../../domain/investigation/cleaning.ts';
import type { InvestigationItem } from '../../domain/investigation/investigation.ts';
import { interimName, nameField } from '../../domain/investigation/kinds.ts';

interface Planned {
  readonly item: Pick<InvestigationItem, 'object' | 'role'>;
  readonly act: CleaningAct;
}

/** The names of an object that is renamed back; null for any other action. */
type NamingOf<Each> = (planned: Each) => Naming | null;

/** The current name of an object, and the one to restore. */
export interface Naming {
  readonly now: string;
  readonly next: string;
}

/**
 * Orders actions: access paths first, then what runs or would run. A controller refuses a name that is in
 * use. An object that was created with the restored name is deleted first; if objects swapped names, one gets
 * a temporary name.
 */
export function orderCleaning<Each extends Planned>(
  clean: readonly Each[],
  namingOf: NamingOf<Each>,
): Each[] {
  const renames = renamesIn(clean, namingOf);
  const restored = new Map(renames.map(({ planned, next }) => [nameKey(planned, next), planned]));
  const place = (planned: Each): number => {
    const { act, item } = planned;
    const waiting = act.act === 'delete' ? restored.get(nameKey(planned, item.object.name ?? '')) : undefined;
    return waiting === undefined ? rank(planned) : Math.min(rank(planned), rank(waiting) - 0.5);
  };
  const sorted = clean.toSorted((a, b) => place(a) - place(b));
  return withFreeNames(sorted, namingOf);
}

/** The same actions, with those that restore names reordered so that each name is free. Others stay put. */
export function withFreeNames<Each extends Planned>(
  clean: readonly Each[],
  namingOf: NamingOf<Each>,
): Each[] {
  const renames = renamesIn(clean, namingOf);
  const isNamed = new Set(renames.map(({ planned }) => planned));
  const byKind = Map.groupBy(renamed(renames), ({ act }) => act.object.kind);
  return clean.flatMap((each) => {
    if (!isNamed.has(each)) return [each];
    const ordered = byKind.get(each.act.object.kind) ?? [];
    byKind.delete(each.act.object.kind);
    return ordered;
  });
}

function renamesIn<Each extends Planned>(clean: readonly Each[], namingOf: NamingOf<Each>): Renamed<Each>[] {
  return clean.flatMap((planned) => {
    const naming = namingOf(planned);
    return naming === null ? [] : [{ planned, ...naming }];
  });
}

function nameKey({ act }: Planned, name: string): string {
  return `${act.object.kind}:${name}`;
}

interface Renamed<Each> extends Naming {
  readonly planned: Each;
}

/** Places each rename after the one that frees its name; in a cycle, one object gets a temporary name. */
function renamed<Each extends Planned>(all: readonly Renamed<Each>[]): Each[] {
  const waiting = [...all];
  const ordered: Each[] = [];
  while (waiting.length > 0) {
    const taken = new Set(waiting.map(({ planned, now }) => nameKey(planned, now)));
    const free = waiting.findIndex(
      ({ planned, now, next }) => now === next || !taken.has(nameKey(planned, next)),
    );
    const [first] = waiting.splice(Math.max(free, 0), 1);
    if (first === undefined) break;
    if (free >= 0) {
      ordered.push(first.planned);
      continue;
    }
    const interim = interimOf(first.planned);
    ordered.push(interim);
    waiting.push({ ...first, now: interimName(first.planned.act.object) });
  }
  return ordered;
}

/** The action that gives an object an unused temporary name. */
function interimOf<Each extends Planned>(planned: Each): Each {
  const { object, path } = planned.act;
  const name = interimName(object);
  return {
    ...planned,
    act: { act: 'rename', path, object, field: nameField(object.kind), name, undoable: true },
  };
}

/**
 * Access paths first. A user to deactivate comes before everything: until then it can log in and create new
 * tokens, and a controller accepts the tokens of deactivated users. A user to delete comes after its roles,
 * which are deleted with it, as its tokens are.
 */
function rank({ item: { object, role }, act }: Planned): number {
  if (object.kind === 'user' && act.act === 'disable') return -1;
  if (object.kind === 'o_auth2_access_token') return 0;
  if (object.kind === 'o_auth2_application') return 1;
  if (role !== null || /^role_/.test(object.kind)) return 2;
  if (object.kind === 'user') return 3;
  const ofObject = object.kind === 'schedule' ? 4 : 7;
  const ranks = {
    cancel: 4,
    restore: 5,
    rename: 5,
    disassociate: 6,
    unassign: 2,
    delete: ofObject,
    disable: ofObject,
    enable: 0,
    associate: 0,
    assign: 0,
  };
  return ranks[act.act];
}
