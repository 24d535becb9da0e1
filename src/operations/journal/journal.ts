import { randomUUID } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Approval } from '../../domain/approval.ts';
import { recordedClock } from '../../domain/clock-difference.ts';
import type { AuditLog, Entry, EntryDraft } from '../ports/audit-log.ts';
import type { TargetDescription } from '../ports/target.ts';
import { requireMayChange, requirePrimary } from '../scope/visibility.ts';

/**
 * That a second person approved what is done, as the audit log keeps it (`Approval` of the domain); or that the rule of two
 * persons was set aside, and for which plan.
 */
export type RecordedApproval = Approval | { readonly breakGlass: true; readonly plan?: string };

/** Who does what where, and why: what all entries of one run share. */
export interface JournalOptions {
  readonly log: AuditLog;
  readonly description: TargetDescription;
  /** Who asked: the user of the operating system and the host, and the user at the target. */
  readonly actor: Readonly<Record<string, string>>;
  /** In dotted form, as its command. */
  readonly operation: string;
  readonly reason?: string | undefined;
  readonly ticket?: string | undefined;
  /** Where an approval was needed. */
  readonly approval?: RecordedApproval | undefined;
}

/** Operations that a user without further rights may carry out: for its own tokens, or with the value of a token. */
const WITHOUT_RIGHTS: ReadonlySet<string> = new Set([
  'tokens.create',
  'tokens.revoke',
  'tokens.find',
  'tokens.notify-owners',
]);

/** One run's side of the audit log: what it intends and what came of it. */
export class Journal {
  readonly run: string = randomUUID();
  readonly #options: JournalOptions;

  constructor(options: JournalOptions) {
    this.#options = options;
  }

  /** Locks the run, so that no other process closes its intents while this one lives. */
  lock(): Promise<Disposable> {
    return this.#options.log.lockRun(this.run);
  }

  /**
   * Records what is about to be done. Returns when it is on stable storage.
   * @throws TokenctlError `audit_unavailable`: it must not be done; `permission_refused` at a standby of a
   * database, and for a system auditor, except for what it may do to its own tokens.
   */
  async intent(data: EntryDraft['data']): Promise<Entry> {
    const { description, operation } = this.#options;
    requirePrimary(description, operation === 'tokens.notify-owners' ? 'Emailing owners' : 'A change');
    if (!WITHOUT_RIGHTS.has(operation)) requireMayChange(description);
    return await this.#options.log.append(this.#draft('intent', data));
  }

  /** The intent of the whole operation: with the reason, the ticket and the approval, where given. */
  opening(data: EntryDraft['data']): Promise<Entry> {
    return this.intent({ ...data, ...this.#account() });
  }

  /** Records what changes nothing at the target, with reason and ticket. Throws `audit_unavailable`. */
  note(data: EntryDraft['data']): Promise<Entry> {
    return this.#options.log.append(this.#draft('note', { ...data, ...this.#account() }));
  }

  /** The same for several: they share syncs of the disk. All are tried before `audit_unavailable`. */
  async notes(all: readonly EntryDraft['data'][]): Promise<void> {
    const settled = await Promise.allSettled(all.map((data) => this.note(data)));
    for (const each of settled) if (each.status === 'rejected') throw each.reason;
  }

  /** Records what came of an intent. Throws `outcome_unrecorded`: it was done, and the log lacks it. */
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
 * Whether an entry is about the controller of a description: it has the same address, or the same INSTALL_UUID at another
 * one (REST and database). Entries of tokenctl 0.1.0 have the address only.
 */
export function isSameController(
  target: Entry['target'],
  { address, installUuid }: Pick<TargetDescription, 'address' | 'installUuid'>,
): boolean {
  if (target['address'] === address) return true;
  return installUuid !== null && target['installUuid'] === installUuid;
}

/** Something was done (or may have been), and the audit log could not be told. */
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

/** The whole numbers of a list; none for anything else. */
export function numbersIn(value: unknown): number[] {
  return listOf(value).filter((each): each is number => Number.isSafeInteger(each));
}

/** The objects of a list; none for anything else. */
export function objectsIn(value: unknown): Readonly<Record<string, unknown>>[] {
  return listOf(value)
    .map(objectOf)
    .filter((each) => each !== undefined);
}

export function objectOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return value as Readonly<Record<string, unknown>>;
}

/** The value, where it is a list; an empty one otherwise. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

/** The value, where it is a text that says something. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The ids that the intent of a batch lists; none for data of another shape. */
export function intendedIds(data: EntryDraft['data']): number[] {
  const groups = Array.isArray(data['tokens']) ? (data['tokens'] as unknown[]) : [data];
  return groups.flatMap((group) =>
    typeof group === 'object' && group !== null && 'ids' in group && Array.isArray(group.ids)
      ? group.ids.filter((id): id is number => Number.isSafeInteger(id))
      : [],
  );
}
