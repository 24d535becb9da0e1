import { controllerTime } from '../../domain/clock-difference.ts';
import type { ObjectReference } from '../../domain/investigation/investigation.ts';
import type { Entry } from '../ports/audit-log.ts';
import { listOf, objectOf, objectsIn, textOf } from './journal.ts';

/** What a run of tokenctl did to one object, by the audit log. */
export interface OwnAct {
  readonly kind: string;
  readonly id: number;
  /** Of a user whom a step on users switched on or off, where the log has it. */
  readonly name?: string;
  /** As the activity stream calls it. */
  readonly operation: 'delete' | 'update';
  /** The changed fields; empty for a deletion. */
  readonly fields: readonly string[];
  /** Of a user, schedule or host: whether it was switched on or off. */
  readonly active?: boolean;
  /** From the intent to the outcome, by the clock of the controller, in milliseconds. */
  readonly from: number;
  readonly to: number;
  readonly run: string;
  readonly by: string;
}

/** The activity stream and the audit log have different clocks at hand; a later entry is not taken for this one. */
export const CLOCKS_MS = 1_000;

/** Collects what runs did to objects, from their intents and outcomes. */
export class OwnActs {
  readonly all: OwnAct[] = [];
  readonly #intents = new Map<number, Entry>();

  add(entry: Entry): void {
    const { kind, seq, closes, data, operation } = entry;
    if (kind === 'intent') this.#intents.set(seq, entry);
    const intent = kind === 'outcome' ? this.#intents.get(closes ?? -1) : undefined;
    if (intent === undefined) return;
    const { step, result } = data;
    const names = namesIn(intent);
    const common = {
      from: controllerTime(intent).getTime() - CLOCKS_MS,
      to: controllerTime(entry).getTime() + CLOCKS_MS,
      run: entry.run,
      by: entry.actor['sudo_user'] ?? entry.actor['user'] ?? 'unknown',
    };
    const push = (
      kindOfObject: string,
      ids: unknown,
      act: Pick<OwnAct, 'operation' | 'fields' | 'active'>,
    ) => {
      for (const id of listOf(ids)) {
        if (typeof id === 'number')
          this.all.push({ ...common, ...act, ...names.get(id), kind: kindOfObject, id });
      }
    };
    if (operation !== 'tokens.cleanup' && step === 'batch')
      push('o_auth2_access_token', data['revoked'], { operation: 'delete', fields: [] });
    const { active } = intent.data;
    if (step === 'users' && typeof active === 'boolean')
      push('user', data['changed'], { operation: 'update', fields: ['is_active'], active });
    if (step === 'passwords') push('user', data['reset'], { operation: 'update', fields: ['password'] });
    if (textOf(data['item']) !== undefined && result === 'done') {
      const { kind: cleanedKind, id } = objectOf(intent.data['object']) ?? {};
      const act = intent.data['act'];
      const fields = [
        ...[intent.data['field']].flatMap((field) => textOf(field) ?? []),
        ...objectsIn(intent.data['fields']).flatMap(({ field }) => textOf(field) ?? []),
      ];
      const isDeletion = act === 'delete' || act === 'unassign';
      const isSwitch = act === 'disable' || act === 'enable';
      push(textOf(cleanedKind) ?? '', [id], {
        operation: isDeletion ? 'delete' : 'update',
        fields,
        ...(isSwitch && { active: act === 'enable' }),
      });
    }
  }
}

/** The names of the users of a step on users, by their ids; empty for any other. */
function namesIn({ data }: Entry): ReadonlyMap<unknown, Pick<OwnAct, 'name'>> {
  return new Map(
    [...objectsIn(data['locks']), ...objectsIn(data['users'])].map(({ userId, name }) => [
      userId,
      typeof name === 'string' ? { name } : {},
    ]),
  );
}

/**
 * What run of tokenctl an entry without an actor is of: the same act on the same object, at that time, and no other field. Null for
 * any other entry.
 */
export function ownActOf(
  entry: {
    readonly at: string;
    readonly operation: string;
    readonly fields: readonly string[];
    readonly object: Pick<ObjectReference, 'kind' | 'id'>;
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
      act.from <= at &&
      at <= act.to &&
      (act.operation === 'delete' ||
        (entry.fields.length > 0 && entry.fields.every((field) => act.fields.includes(field)))),
  );
  return found ?? null;
}
