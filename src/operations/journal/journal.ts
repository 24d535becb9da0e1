import { randomUUID } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Approval } from '../../domain/approval.ts';
import { recordedClock } from '../../domain/clock-difference.ts';
import type { AuditLog, Entry, EntryDraft } from '../ports/audit-log.ts';
import type { TargetDescription } from '../ports/target.ts';
import { requireMayChange, requirePrimary } from '../scope/visibility.ts';

/**
 * An approval by a second person, as the audit log stores it (`Approval` of the domain); or that the
 * four-eyes rule was bypassed, and for which plan.
 */
export type RecordedApproval = Approval | { readonly breakGlass: true; readonly plan?: string };

/** Common data of all entries of a run. */
export interface JournalOptions {
  readonly log: AuditLog;
  readonly description: TargetDescription;
  /** The requester: the operating system user and host, and the user at the target. */
  readonly actor: Readonly<Record<string, string>>;
  /** In dotted form, named after its command. */
  readonly operation: string;
  readonly reason?: string | undefined;
  readonly ticket?: string | undefined;
  /** Given if an approval was required. */
  readonly approval?: RecordedApproval | undefined;
}

/** Operations that need no further rights: on the user's own tokens, or with the value of a token. */
const WITHOUT_RIGHTS: ReadonlySet<string> = new Set([
  'tokens.create',
  'tokens.revoke',
  'tokens.find',
  'tokens.notify-owners',
]);

/** Writes the audit log entries of one run: its intents and their outcomes. */
export class Journal {
  readonly run: string = randomUUID();
  readonly #options: JournalOptions;

  constructor(options: JournalOptions) {
    this.#options = options;
  }

  /** Locks the run, so that no other process closes its intents while this process runs. */
  lock(): Promise<Disposable> {
    return this.#options.log.lockRun(this.run);
  }

  /**
   * Records an intended change. Returns when it is on stable storage.
   * @throws TokenctlError `audit_unavailable`: the change must not be made; `permission_refused` at a standby
   * of a database, and for a system auditor, except for changes to its own tokens.
   */
  async intent(data: EntryDraft['data']): Promise<Entry> {
    const { description, operation } = this.#options;
    requirePrimary(description, operation === 'tokens.notify-owners' ? 'Emailing owners' : 'A change');
    if (!WITHOUT_RIGHTS.has(operation)) requireMayChange(description);
    return await this.#options.log.append(this.#draft('intent', data));
  }

  /** The intent of the whole operation, with reason, ticket and approval if given. */
  opening(data: EntryDraft['data']): Promise<Entry> {
    return this.intent({ ...data, ...this.#account() });
  }

  /** Records an event without a change at the target, with reason and ticket. Throws `audit_unavailable`. */
  note(data: EntryDraft['data']): Promise<Entry> {
    return this.#options.log.append(this.#draft('note', { ...data, ...this.#account() }));
  }

  /** The same for several: they share disk syncs. Tries all before it throws `audit_unavailable`. */
  async notes(all: readonly EntryDraft['data'][]): Promise<void> {
    const settled = await Promise.allSettled(all.map((data) => this.note(data)));
    for (const each of settled) if (each.status === 'rejected') throw each.reason;
  }

  /** Records the outcome of an intent. Throws `outcome_unrecorded`: done, but missing in the log. */
  async outcome(intent: Entry, data: EntryDraft['data']): Promise<Entry> {
    try {
      return await this.#options.log.append({ ...this.#draft('outcome', data), closes: intent.seq });
    } catch (cause) {
      throw outcomeUnrecorded(cause, { run: this.run, intent: intent.seq });
    }
  }

  #account(): EntryDraft['data'] {
    const { reason, ticket, approval } = this.#options;
    return {
      ...(reason === undefined ? {} : { reason }),
      ...(ticket === undefined ? {} : { ticket }),
      ...(approval === undefined ? {} : { approval }),
    };
  }

  #draft(kind: EntryDraft['kind'], data: EntryDraft['data']): EntryDraft {
    const { actor, operation, description } = this.#options;
    const target = { ...entryTarget(description), ...recordedClock(description) };
    return { kind, operation, run: this.run, actor, target, data };
  }
}

export function entryTarget(
  description: Pick<TargetDescription, 'context' | 'address' | 'installUuid'>,
): Entry['target'] {
  const { context, address, installUuid } = description;
  return { context, address, ...(installUuid !== null && { installUuid }) };
}

/**
 * Whether an entry is about the controller of a description: same address, or same INSTALL_UUID at another
 * address (REST and database). Entries of tokenctl 0.1.0 have only the address.
 */
export function isSameController(
  target: Entry['target'],
  { address, installUuid }: Pick<TargetDescription, 'address' | 'installUuid'>,
): boolean {
  if (target['address'] === address) return true;
  return installUuid !== null && target['installUuid'] === installUuid;
}

/** The error for a change that was made, or may have been, but could not be recorded. */
export function outcomeUnrecorded(cause: unknown, details: Readonly<Record<string, unknown>>): TokenctlError {
  const why = cause instanceof TokenctlError ? `: ${cause.message}` : '';
  return new TokenctlError('outcome_unrecorded', `The outcome could not be recorded in the audit log${why}`, {
    hint:
      cause instanceof TokenctlError && cause.code === 'intent_closed' && cause.hint !== undefined
        ? cause.hint
        : 'Make the audit log writable, and then run the command again. It finishes the work and records the outcome.',
    details,
    cause,
  });
}

/** The integers of a list; empty for anything else. */
export function numbersIn(value: unknown): number[] {
  return listOf(value).filter((each): each is number => Number.isSafeInteger(each));
}

/** The objects of a list; empty for anything else. */
export function objectsIn(value: unknown): Readonly<Record<string, unknown>>[] {
  return listOf(value)
    .map(objectOf)
    .filter((each) => each !== undefined);
}

export function objectOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return value as Readonly<Record<string, unknown>>;
}

/** The value if it is a list; otherwise an empty list. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

/** The value if it is a non-empty text. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The ids that a batch's intent lists; empty for data of another shape. */
export function intendedIds(data: EntryDraft['data']): number[] {
  const groups = Array.isArray(data['tokens']) ? objectsIn(data['tokens']) : [data];
  return groups.flatMap(({ ids }) => numbersIn(ids));
}

/** The owners of the tokens that a batch's intent lists, as far as it contains them. */
export function ownersIn(data: EntryDraft['data']): ReadonlyMap<number, string> {
  const owners = new Map<number, string>();
  for (const { user, ids } of objectsIn(data['tokens'])) {
    const owner = textOf(user);
    if (owner !== undefined) for (const id of numbersIn(ids)) owners.set(id, owner);
  }
  return owners;
}
