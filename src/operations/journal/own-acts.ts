import { controllerTime } from '../../domain/clock-difference.ts';
import type { ObjectReference } from '../../domain/investigation/investigation.ts';
import type { Entry } from '../ports/audit-log.ts';
import { listOf, objectOf, objectsIn, textOf } from './journal.ts';

/** What a run of tokenctl did to one object, from the audit log. */
export interface OwnAct {
  readonly kind: string;
  readonly id: number;
  /** The name of a user who was activated or deactivated, if the log has it. */
  readonly name?: string;
  /** In the terms of the activity stream. */
  readonly operation: 'create' | 'delete' | 'update' | 'associate' | 'disassociate';
  /** The other object of a link; what a role is about. */
  readonly other?: Pick<ObjectReference, 'kind' | 'id'>;
  /** The changed fields; only for an update. */
  readonly fields: readonly string[];
  /** Whether a user, schedule or host was switched on or off. */
  readonly active?: boolean;
  /** From the intent to the outcome, by the controller's clock, in milliseconds. */
  readonly from: number;
  readonly to: number;
  readonly run: string;
  /** The operation of the run: `tokens.revoke`. */
  readonly command: string;
  readonly by: string;
}

/** The tolerance between the clocks of the activity stream and the audit log, in milliseconds. */
export const CLOCKS_MS = 1_000;

/** Collects what runs did to objects, from their intents and outcomes. */
export class OwnActs {
  readonly all: OwnAct[] = [];
  readonly #intents = new Map<number, Entry>();
  readonly #isWanted: (object: Pick<OwnAct, 'kind' | 'id'>) => boolean;

  /** @param isWanted Selects the objects; default: all. */
  constructor(isWanted: (object: Pick<OwnAct, 'kind' | 'id'>) => boolean = () => true) {
    this.#isWanted = isWanted;
  }

  add(entry: Entry): void {
    const { kind, seq, closes } = entry;
    if (kind === 'intent') this.#intents.set(seq, entry);
    const intent = kind === 'outcome' ? this.#intents.get(closes ?? -1) : undefined;
    if (intent === undefined) return;
    this.#intents.delete(intent.seq);
    const names = namesIn(intent);
    const common = {
      from: controllerTime(intent).getTime() - CLOCKS_MS,
      to: controllerTime(entry).getTime() + CLOCKS_MS,
      run: entry.run,
      command: entry.operation,
      by: entry.actor['sudo_user'] ?? entry.actor['user'] ?? 'unknown',
    };
    for (const { ids, ...act } of [...tokenActs(entry), ...objectActs(entry, intent)]) {
      for (const id of listOf(ids)) {
        if (typeof id === 'number' && this.#isWanted({ kind: act.kind, id }))
          this.all.push({ ...common, ...act, ...names.get(id), id });
      }
    }
  }
}

/** One action on objects of a kind. */
interface Done extends Pick<OwnAct, 'kind' | 'operation' | 'other' | 'fields' | 'active'> {
  readonly ids: unknown;
}

/** The actions on tokens and applications in an outcome. */
function tokenActs({ operation, data }: Entry): readonly Done[] {
  const { step, result } = data;
  const token = { kind: 'o_auth2_access_token', fields: [] };
  const application = { kind: 'o_auth2_application', ids: [objectOf(data['application'])?.['id']] };
  if (operation === 'tokens.create')
    return result === 'done' ? [{ ...token, ids: [data['token']], operation: 'create' }] : [];
  if (operation === 'applications.rotate-secret')
    return result === 'done' ? [{ ...application, operation: 'update', fields: ['client_secret'] }] : [];
  if (step === 'application')
    return data['deleted'] === true ? [{ ...application, operation: 'delete', fields: [] }] : [];
  if (operation === 'tokens.cleanup' || step !== 'batch') return [];
  return [{ ...token, ids: data['revoked'], operation: 'delete' }];
}

/** The actions on users, and on the item of a cleaning, in an outcome. */
function objectActs({ data }: Entry, intent: Entry): readonly Done[] {
  const { active } = intent.data;
  const user = { kind: 'user', operation: 'update' } as const;
  const done: Done[] = [];
  if (data['step'] === 'users' && typeof active === 'boolean')
    done.push({ ...user, ids: data['changed'], fields: ['is_active'], active });
  if (data['step'] === 'passwords') done.push({ ...user, ids: data['reset'], fields: ['password'] });
  if (textOf(data['item']) === undefined || data['result'] !== 'done') return done;
  const { kind, id } = objectOf(intent.data['object']) ?? {};
  const act = intent.data['act'];
  if (act === 'associate' || act === 'disassociate') return [...done, ...linkActs(intent.data['about'], act)];
  const fields = [
    ...[intent.data['field']].flatMap((field) => textOf(field) ?? []),
    ...objectsIn(intent.data['fields']).flatMap(({ field }) => textOf(field) ?? []),
  ];
  const isDeletion = act === 'delete' || act === 'unassign';
  const isSwitch = act === 'disable' || act === 'enable';
  return [
    ...done,
    {
      ...{ kind: textOf(kind) ?? '', ids: [id], operation: isDeletion ? 'delete' : 'update', fields },
      ...(isSwitch && { active: act === 'enable' }),
    },
  ];
}

/** Removing or restoring a role, or a link between two objects, from both ends. */
function linkActs(about: unknown, operation: 'associate' | 'disassociate'): readonly Done[] {
  const [object, other] = [objectOf(objectOf(about)?.['object']), objectOf(objectOf(about)?.['other'])];
  const [kind, otherKind, otherId] = [textOf(object?.['kind']), textOf(other?.['kind']), other?.['id']];
  if (kind === undefined || otherKind === undefined || typeof otherId !== 'number') return [];
  return [{ kind, ids: [object?.['id']], operation, other: { kind: otherKind, id: otherId }, fields: [] }];
}

/** The names of the users of a step on users, by id; empty for any other step. */
function namesIn({ data }: Entry): ReadonlyMap<unknown, Pick<OwnAct, 'name'>> {
  return new Map(
    [...objectsIn(data['locks']), ...objectsIn(data['users'])].map(({ userId, name }) => [
      userId,
      typeof name === 'string' ? { name } : {},
    ]),
  );
}

/** The tokenctl action of an entry without an actor: same action, object, fields and time; else null. */
export function ownActOf(
  entry: {
    readonly at: string;
    readonly operation: string;
    readonly fields: readonly string[];
    readonly object: Pick<ObjectReference, 'kind' | 'id'>;
    readonly other?: Pick<ObjectReference, 'kind' | 'id'> | null;
  },
  acts: readonly OwnAct[],
): OwnAct | null {
  const at = Date.parse(entry.at);
  const { kind, id } = entry.object;
  const found = acts.find(
    (act) =>
      act.kind === kind &&
      act.id === id &&
      act.operation === entry.operation &&
      act.other?.kind === entry.other?.kind &&
      act.other?.id === entry.other?.id &&
      act.from <= at &&
      at <= act.to &&
      (act.operation !== 'update' ||
        (entry.fields.length > 0 && entry.fields.every((field) => act.fields.includes(field)))),
  );
  return found ?? null;
}
