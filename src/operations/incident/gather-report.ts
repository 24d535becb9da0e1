import type { TokenctlError } from '@tokenctl/common/errors.ts';
import { type RecordedPath, recordedPaths } from '../../domain/access.ts';
import { openCheckpoint } from '../../domain/checkpoint.ts';
import { controllerTime } from '../../domain/clock-difference.ts';
import type { Incident } from '../../domain/incident/incident.ts';
import { type Investigation, isStillThere } from '../../domain/investigation/investigation.ts';
import { parseVerifier } from '../../domain/note-key.ts';
import { listRuns, numberSince } from '../audit-log/list-log.ts';
import { requireIntact } from '../audit-log/verify-log.ts';
import { type EntrySubject, isAboutSubject } from '../journal/entry-subjects.ts';
import { isSameController, listOf, objectOf, objectsIn, textOf } from '../journal/journal.ts';
import { marksOf } from '../journal/marked-items.ts';
import { type OwnAct, OwnActs, ownActOf } from '../journal/own-acts.ts';
import {
  incidentNotes,
  type NotesOf,
  readIncidentHistories,
  requireIncident,
} from '../journal/recorded-incidents.ts';
import type { RunAccount } from '../journal/run-account.ts';
import type { AuditLog, Entry, LogVerification } from '../ports/audit-log.ts';
import type { TargetDescription } from '../ports/target.ts';
import type { KnownItems } from './case-items.ts';
import { type Found, foundBy } from './found.ts';
import { beganWith, type OwnWork, type TheftBegan, withoutOwnWork } from './own-work.ts';

/** The result that a lockdown recorded in the log when it ended. */
interface RecordedLockdown {
  readonly at: string;
  readonly result: string;
  readonly steps: readonly { readonly step: string; readonly result: string }[];
  readonly accessPaths: readonly RecordedPath[];
}

/** Identifies the audit log, so that a reader can verify it. */
export interface LogEvidence {
  readonly size: number;
  /** The SHA-256 (hex) of its last entry. */
  readonly head: string;
  /** Whether the whole log was read and its chain is intact; `problem` has the reason if not. */
  readonly intact: boolean;
  readonly problem: string | null;
  /** A signed checkpoint, if the log has a key, and the public keys that verify it. */
  readonly checkpoint: { readonly note: string; readonly verifiers: readonly string[] } | null;
}

/** What the audit log says about an incident, with the given investigations. */
export interface IncidentRecord extends KnownItems {
  readonly incident: Incident;
  readonly address: string;
  /** Runs of responders, in the order they began. */
  readonly runs: readonly RunAccount[];
  /** The last lockdown that ended; null if none has. */
  readonly lockdown: RecordedLockdown | null;
  /** What cleanings did with items of investigations, from the outcomes in the log. */
  readonly cleaned: readonly {
    readonly item: string;
    /** The planned action; null if the log does not have it. */
    readonly act: string | null;
    readonly result: string;
    readonly at: string;
  }[];
  /** Items that undoing a cleaning restored and that no cleaning ended since. */
  readonly undone: readonly { readonly item: string; readonly at: string }[];
  /** In the order they were made, without the owner's own work. Items restored since count as not checked. */
  readonly investigations: readonly Investigation[];
  /** The findings of these investigations; null if there are none. */
  readonly found: Found | null;
  /** The owner's own work among the findings. */
  readonly own: readonly OwnWork[];
  /** When the theft began: as requested, from the stolen token, or as confirmed for a cleaning; else null. */
  readonly began: TheftBegan | null;
}

export interface IncidentReport extends IncidentRecord {
  readonly madeAt: Date;
  readonly evidence: LogEvidence;
  /** The state of the users of a closed incident, if it was read for the report. */
  readonly usersNow?: UsersNow | undefined;
}

/** Whether users are active, and when that was read, by the controller's clock. */
export interface UsersNow {
  readonly at: Date;
  readonly users: readonly { readonly name: string; readonly isActive: boolean | null }[];
}

/** How long before the lockdown the log is read, in milliseconds: a token may have been revoked before it. */
const BEFORE_MS = 7 * 86_400_000;

interface RecordOptions {
  readonly log: AuditLog;
  readonly description: Pick<TargetDescription, 'address' | 'installUuid'>;
  readonly incident: string;
  readonly investigations: readonly Investigation[];
  /** When the theft began; replaces what the last cleaning says. */
  readonly since?: Date | undefined;
  /** A further source of entries without an actor, in addition to `investigations`. */
  readonly shown?: Pick<Investigation, 'unattributed'>;
  /** The verification of the log, if it runs anyway. */
  readonly verify?: AuditLog['verify'];
}

/**
 * Gathers the contents of an incident report: {@link gatherRecord}, and the log's own evidence, for which the
 * whole log is verified. Reads only, and nothing from the target.
 * @param options.checkpoint Signs the log; null without a key.
 * @throws TokenctlError `not_found` for an incident that the log does not have, `audit_unavailable`.
 */
export async function gatherReport(
  options: RecordOptions & {
    readonly now: Date;
    readonly checkpoint: () => Promise<LogEvidence['checkpoint']>;
  },
): Promise<IncidentReport> {
  let verification: Promise<LogVerification> | undefined;
  const verify = () => {
    verification ??= options.log.verify();
    return verification;
  };
  const record = await gatherRecord({ ...options, verify });
  return { ...record, madeAt: options.now, evidence: await evidenceOf(await verify(), options.checkpoint) };
}

/**
 * Gathers what the audit log says about an incident: the runs that name it, its users or applications, or its
 * ticket, and the state of the lockdown. Reads only, and nothing from the target.
 * @throws TokenctlError as {@link gatherReport}.
 */
export async function gatherRecord(options: RecordOptions): Promise<IncidentRecord> {
  const { log, description, investigations, verify = () => log.verify(), shown } = options;
  const histories = (await readIncidentHistories(log)).ofController(description);
  const { incident, history } = requireIncident(histories, options.incident);
  const since = new Date(Date.parse(incident.loggedAt) - BEFORE_MS);
  const {
    runs: related,
    lockdown,
    cleaned,
    undone,
    ownActs,
    began: confirmed,
  } = await relatedRuns(log, { incident, description, since });
  const runs: RunAccount[] = [];
  for await (const account of listRuns({ log, since })) if (related.has(account.run)) runs.push(account);
  const given = investigations
    .toSorted((one, other) => one.madeAt.localeCompare(other.madeAt))
    .map((each) => withUndone(each, undone));
  const { since: asked } = options;
  const began = asked === undefined ? beganWith(given, confirmed) : { at: asked.toISOString(), run: null };
  const notes = { log, description, incident: incident.id };
  const marks = await marksOf(notes);
  const others = withoutOwnWork(given, { marks: marks.legitimate, began });
  return {
    incident,
    address: history.address,
    runs: runs.sort((one, other) => one.first - other.first),
    lockdown,
    cleaned,
    undone,
    ownActs,
    provenActs: await provenActs({
      ...{ log, description, verify },
      investigations: shown === undefined ? investigations : [...investigations, shown],
    }),
    began,
    ...others,
    found: foundBy(others.investigations),
    marks,
    verified: await verifiedItems(notes),
  };
}

/**
 * Actions of tokenctl runs on a controller, of any incident, for which investigations have entries without an
 * actor: the same action on the same object at that time. Empty if the log's chain is broken: an attacker who
 * can write to it could add their own actions. Reads the log only if there are such entries.
 * @throws TokenctlError `log_broken` at a line that is no entry, `audit_unavailable`.
 */
export async function provenActs(options: {
  log: AuditLog;
  description: Pick<TargetDescription, 'address' | 'installUuid'>;
  investigations: readonly Pick<Investigation, 'unattributed'>[];
  verify: () => Promise<Pick<LogVerification, 'break'>>;
}): Promise<readonly OwnAct[]> {
  const { log, description, investigations, verify } = options;
  const entries = investigations.flatMap(({ unattributed }) => unattributed);
  if (entries.length === 0) return [];
  const nameOf = ({ kind, id }: { kind: string; id: number | null }) => `${kind}:${id}`;
  const objects = new Set(entries.map(({ object }) => nameOf(object)));
  const own = new OwnActs((object) => objects.has(nameOf(object)));
  const first = new Date(Math.min(...entries.map(({ at }) => Date.parse(at))));
  for await (const entry of log.entries(await numberSince(log, first))) {
    if (isSameController(entry.target, description)) own.add(entry);
  }
  const found = own.all.filter((act) => entries.some((entry) => ownActOf(entry, [act]) !== null));
  return found.length === 0 || (await verify()).break !== null ? [] : found;
}

/**
 * The items that a cleaning of an incident re-read at its end and found gone, and when (RFC 3339, by the
 * controller's clock). For items that a later cleaning or undo touched, only its verification counts.
 * @param options.incident The whole id.
 * @throws TokenctlError `log_broken`, `audit_unavailable`.
 */
async function verifiedItems(options: NotesOf): Promise<ReadonlyMap<string, string>> {
  const verified = new Map<string, string>();
  const planned = new Map<string, readonly string[]>();
  for await (const entry of incidentNotes(options, ['incident.clean', 'incident.clean-undo'])) {
    const { data, kind, operation, run } = entry;
    const item = textOf(data['item']);
    if (item !== undefined) {
      verified.delete(item);
    } else if (kind === 'intent') {
      const items = listOf(objectOf(data['planned'])?.['items']);
      planned.set(
        run,
        items.filter((each) => typeof each === 'string'),
      );
    } else if (kind === 'outcome' && operation === 'incident.clean' && Array.isArray(data['left'])) {
      const left = new Set(data['left']);
      const at = controllerTime(entry).toISOString();
      for (const id of planned.get(run) ?? []) if (!left.has(id)) verified.set(id, at);
    }
  }
  return verified;
}

/** An investigation made before an undo may have found items gone that were restored since. */
function withUndone(investigation: Investigation, undone: IncidentRecord['undone']): Investigation {
  const since = new Map(
    undone.filter(({ at }) => at >= investigation.madeAt).map(({ item, at }) => [item, at]),
  );
  const items = investigation.items.map((item): Investigation['items'][number] => {
    const at = since.get(item.id);
    if (at === undefined || isStillThere(item)) return item;
    const stateReason = `Not checked: its cleanup was undone at ${at}, after the investigation at ${investigation.madeAt}`;
    return { ...item, state: 'unknown', stateReason };
  });
  return { ...investigation, items };
}

/** The runs that belong to an incident, and the result that its last lockdown recorded. */
async function relatedRuns(
  log: AuditLog,
  of: { incident: Incident; description: Pick<TargetDescription, 'address' | 'installUuid'>; since: Date },
): Promise<
  { readonly runs: ReadonlySet<string> } & Pick<
    IncidentRecord,
    'lockdown' | 'cleaned' | 'undone' | 'ownActs' | 'began'
  >
> {
  const { incident, description } = of;
  const runs = new Set<string>();
  let lockdown: RecordedLockdown | null = null;
  let began: TheftBegan | null = null;
  const cleanings = new Cleanings();
  const own = new OwnActs();
  const subject = subjectOf(incident);
  for await (const entry of log.entries(await numberSince(log, of.since))) {
    if (!isSameController(entry.target, description)) continue;
    const { data, run, operation, kind } = entry;
    const undoes = textOf(data['undoes']);
    const isUndoing = undoes !== undefined && runs.has(undoes);
    if (!isUndoing && !runs.has(run) && !belongs(entry, { incident, subject })) continue;
    runs.add(run);
    const clearing = textOf(data['clearing']);
    if (clearing !== undefined) runs.add(clearing);
    const isClosing = kind === 'outcome' && data['step'] === 'operation';
    if (operation === 'incident.lockdown' && isClosing && data['incident'] === incident.id)
      lockdown = recordedLockdown(entry);
    cleanings.add(entry);
    own.add(entry);
    const since = operation === 'incident.clean' && kind === 'intent' ? textOf(data['since']) : undefined;
    if (since !== undefined) began = { at: since, run };
  }
  const undone = [...cleanings.undone].map(([item, at]) => ({ item, at }));
  return { runs, lockdown, cleaned: cleanings.items, undone, ownActs: own.all, began };
}

/** What cleanings did with each item: the intent has the planned action, the outcome its result. */
class Cleanings {
  items: IncidentRecord['cleaned'][number][] = [];
  /** When each item was restored. */
  readonly undone = new Map<string, string>();
  readonly #acts = new Map<number, string | undefined>();

  add(entry: Entry): void {
    const { operation, seq, closes, kind, data } = entry;
    const at = controllerTime(entry).toISOString();
    const item = textOf(data['item']);
    if (item === undefined) return;
    // An item restored since no longer counts as cleaned.
    const isDone = kind === 'outcome' && (data['result'] === 'done' || data['result'] === 'unchanged');
    if (operation === 'incident.clean-undo' && isDone) {
      this.items = this.items.filter((each) => each.item !== item);
      this.undone.set(item, at);
    }
    if (operation !== 'incident.clean') return;
    if (kind === 'intent') {
      this.#acts.set(seq, textOf(data['act']));
    } else if (kind === 'outcome') {
      const act = this.#acts.get(closes ?? -1) ?? null;
      const result = textOf(data['result']) ?? 'unknown';
      this.items.push({ item, act, result, at });
      if (isDone) this.undone.delete(item);
    }
  }
}

/** The users or applications that an incident is about; null if it names none. */
function subjectOf({ scope }: Incident): EntrySubject | null {
  if (!('names' in scope)) return null;
  const ids = scope.bound === undefined ? null : new Set(scope.bound.map(({ id }) => id));
  return { kind: scope.kind === 'users' ? 'user' : 'application', ids, names: new Set(scope.names) };
}

function belongs(
  { data }: Entry,
  { incident, subject }: { incident: Incident; subject: EntrySubject | null },
): boolean {
  if (data['incident'] === incident.id) return true;
  if (incident.ticket !== null && data['ticket'] === incident.ticket) return true;
  return subject !== null && isAboutSubject(data, subject);
}

function recordedLockdown(entry: Entry): RecordedLockdown {
  const { data } = entry;
  const text = (value: unknown) => textOf(value) ?? '';
  return {
    at: controllerTime(entry).toISOString(),
    result: text(data['result']),
    steps: objectsIn(data['steps']).map(({ step, result }) => ({ step: text(step), result: text(result) })),
    accessPaths: recordedPaths(data),
  };
}

async function evidenceOf(
  verification: LogVerification,
  checkpoint: () => Promise<LogEvidence['checkpoint']>,
): Promise<LogEvidence> {
  const { size, hash } = verification.head;
  try {
    requireIntact(verification);
  } catch (error) {
    const { message } = error as TokenctlError;
    return { size, head: hash, intact: false, problem: message, checkpoint: null };
  }
  return { size, head: hash, intact: true, problem: null, checkpoint: await checkpoint() };
}

/** The number of entries that a checkpoint covers. Throws as `openCheckpoint`. */
export function coveredBy({ note, verifiers }: NonNullable<LogEvidence['checkpoint']>): number {
  return openCheckpoint(note, verifiers.map(parseVerifier)).size;
}
