import type { CleaningAct } from '../../domain/investigation/cleaning.ts';
import type { InvestigationItem } from '../../domain/investigation/investigation.ts';
import { interimName, nameField } from '../../domain/investigation/kinds.ts';

interface Planned {
  readonly item: Pick<InvestigationItem, 'object' | 'role'>;
  readonly act: CleaningAct;
}

/** The names of an object that gets its name back; null for any other act. */
type NamingOf<Each> = (planned: Each) => Naming | null;

/** The name that an object has now, and the one that it gets back. */
export interface Naming {
  readonly now: string;
  readonly next: string;
}

/**
 * The order of acts: ways in first, then what runs and would run. A controller refuses a name that is taken: what was made with the
 * name that another object gets back is deleted before that; of objects that swapped names, one gets another name in between.
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

/** The same acts, those that give names back in an order in which each name is free. They take their places among the others. */
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

/** Puts each after the one that has its name now; where they wait for each other, one gets another name first. */
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

/** The act that gives an object a name which no other has. */
function interimOf<Each extends Planned>(planned: Each): Each {
  const { object, path } = planned.act;
  const name = interimName(object);
  return {
    ...planned,
    act: { act: 'rename', path, object, field: nameField(object.kind), name, undoable: true },
  };
}

/**
 * Ways in first. A user who is deactivated before all: until then it can log in and make new tokens, and a controller accepts the
 * tokens of deactivated users. A user who is deleted after its roles, which go with it as its tokens do.
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
