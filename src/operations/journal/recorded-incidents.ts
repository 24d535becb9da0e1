import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type Incident, incidentOperations } from '../../domain/incident/incident.ts';
import { ControllerHolds, IncidentHistory } from '../../domain/incident/incident-history.ts';
import type { AuditLog, Entry } from '../ports/audit-log.ts';
import type { TargetDescription } from '../ports/target.ts';
import { isSameController, Journal, type JournalOptions } from './journal.ts';

/** The fields of a target that identify a controller. */
type Place = Pick<TargetDescription, 'address' | 'installUuid'>;

/** The incident histories of all targets in the audit log. */
export class IncidentHistories {
  readonly #byAddress = new Map<string, IncidentHistory>();
  readonly #byInstall = new Map<string, ControllerHolds>();
  /** The INSTALL_UUID by address, if stated. */
  readonly #installs = new Map<string, string>();

  /** The history of each target with incidents, by address. */
  get all(): ReadonlyMap<string, IncidentHistory> {
    return this.#byAddress;
  }

  /** The history of a target. What it holds is shared by all addresses of one controller. */
  at({ address, installUuid }: Place): IncidentHistory {
    const history = this.#byAddress.get(address) ?? new IncidentHistory(address);
    if (installUuid !== null) {
      const holds = this.#byInstall.get(installUuid) ?? new ControllerHolds();
      this.#byInstall.set(installUuid, holds);
      this.#installs.set(address, installUuid);
      history.join(holds);
    }
    return history;
  }

  /** The history of a target, followed by those of the controller's other addresses. */
  ofController(place: Place): readonly IncidentHistory[] {
    const own = this.at(place);
    const others = [...this.#byAddress.values()].filter(
      ({ address }) => address !== place.address && this.#installs.get(address) === place.installUuid,
    );
    return [own, ...others];
  }

  add(entry: Entry): void {
    const { installUuid = null } = entry.target;
    const elsewhere = entry.data['incidentAddress'];
    const address = typeof elsewhere === 'string' ? elsewhere : (entry.target['address'] ?? '');
    const history = this.at({ address, installUuid });
    this.#byAddress.set(address, history);
    history.add(entry);
  }
}

/** Reads the incidents from the log, their only store. Throws `log_broken`, `audit_unavailable`. */
export async function readIncidentHistories(log: Pick<AuditLog, 'entries'>): Promise<IncidentHistories> {
  const histories = new IncidentHistories();
  for await (const entry of log.entries(1, { operations: incidentOperations })) histories.add(entry);
  return histories;
}

/** Reads the incidents of one target from the audit log. Throws as {@link readIncidentHistories}. */
export async function readIncidentHistory(options: {
  log: Pick<AuditLog, 'entries'>;
  description: Place;
}): Promise<IncidentHistory> {
  return (await readIncidentHistories(options.log)).at(options.description);
}

/**
 * Sets when an open incident is lifted, null for no automatic lift; returns its whole id. Throws `not_found`,
 * `usage` for a lifted incident, `audit_unavailable`.
 */
export async function extendIncident(
  options: Omit<JournalOptions, 'operation'> & {
    readonly log: AuditLog;
    readonly incident: string;
    readonly until: Date | null;
    /** Records nothing. */
    readonly dryRun?: boolean;
  },
): Promise<string> {
  const { log, until, description, dryRun = false } = options;
  const histories = (await readIncidentHistories(log)).ofController(description);
  const { incident, history } = requireIncident(histories, options.incident);
  const { id, state } = incident;
  if (state === 'lifted') {
    throw new TokenctlError('usage', `${id} was already lifted`, {
      hint: 'Start a new lockdown if you need one.',
    });
  }
  if (dryRun) return id;
  await new Journal({ ...options, operation: 'incident.extend' }).note({
    ...incidentReference({ id, address: history.address }, description),
    until: until?.toISOString() ?? null,
  });
  return id;
}

type NoteOptions = Omit<JournalOptions, 'operation'> & { readonly incident: string };

export async function incidentOfNote(
  options: NoteOptions,
): Promise<{ readonly incident: Incident; readonly history: IncidentHistory }> {
  const histories = (await readIncidentHistories(options.log)).ofController(options.description);
  return requireIncident(histories, options.incident);
}

/** Records only a person's note about an incident. It appears in the timelines of the users in its scope. */
export async function noteOnIncident(
  options: NoteOptions,
  note: {
    readonly about: Awaited<ReturnType<typeof incidentOfNote>>;
    readonly operation: string;
    readonly selection: string;
    readonly data: Entry['data'];
  },
): Promise<void> {
  const { about, operation, selection, data } = note;
  const { id, scope } = about.incident;
  await new Journal({ ...options, operation }).note({
    ...incidentReference({ id, address: about.history.address }, options.description),
    selection,
    ...(scope.kind === 'users' ? { users: scope.names } : {}),
    ...data,
  });
}

/** The incident, by its whole id, and the controller whose notes are read. */
export interface NotesOf {
  readonly log: Pick<AuditLog, 'entries'>;
  readonly description: Place;
  readonly incident: string;
}

/**
 * Streams the notes of these operations about an incident, oldest first, with their authors.
 * @throws TokenctlError `log_broken`, `audit_unavailable`.
 */
export async function* incidentNotes(
  { log, description, incident }: NotesOf,
  operations: readonly string[],
): AsyncGenerator<Entry & { readonly by: string }, void> {
  for await (const entry of log.entries(1, { operations })) {
    const { data, target, actor } = entry;
    if (data['incident'] !== incident || !isSameController(target, description)) continue;
    yield { ...entry, by: actor['sudo_user'] ?? actor['user'] ?? 'unknown' };
  }
}

/** How an entry refers to an incident: with its address if that is another one of the controller. */
export function incidentReference(
  { id, address }: { id: string; address: string },
  description: Place,
): { readonly incident: string; readonly incidentAddress?: string } {
  return { incident: id, ...(address !== description.address && { incidentAddress: address }) };
}

/**
 * The open or lifted incident with this id or unique prefix: at the target, or else at another address of its
 * controller.
 * @param histories The target's first.
 * @throws TokenctlError `not_found`, `usage` for an empty id.
 */
export function requireIncident(
  histories: readonly IncidentHistory[],
  id: string,
): { readonly incident: Incident; readonly history: IncidentHistory } {
  if (id === '') {
    throw new TokenctlError('usage', 'The incident ID is empty', {
      hint: 'Specify an incident ID: `tokenctl incident status` lists them.',
    });
  }
  const all = histories.flatMap((history) => history.incidents.map((incident) => ({ incident, history })));
  const found = all.filter(({ incident }) => incident.id.startsWith(id));
  const exact =
    found.find(({ incident }) => incident.id === id) ?? (found.length === 1 ? found[0] : undefined);
  if (exact !== undefined) return exact;
  throw new TokenctlError(
    'not_found',
    found.length > 1 ? `Several incident IDs start with ${id}` : `No incident ${id} at this target`,
    {
      hint: 'List them with `tokenctl incident status --all`, in the context where they were locked down.',
      details: { kind: 'incident', names: [id] },
    },
  );
}
