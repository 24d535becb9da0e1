import type { LogFormat } from '../../operations/ports/log-sink.ts';
import { type EventRecord, type EventStatus, type EventSubject, eventFormat, truncated } from './events.ts';

const OCSF_VERSION = '1.5.0';

/** Classes of the category Identity & Access Management. */
const AUTHENTICATION = { class_uid: 3002, class_name: 'Authentication' } as const;
const ENTITY_MANAGEMENT = { class_uid: 3004, class_name: 'Entity Management' } as const;

const activities = {
  create: [1, 'Create'],
  update: [3, 'Update'],
  delete: [4, 'Delete'],
  enable: [8, 'Enable'],
  disable: [9, 'Disable'],
} as const;

const otherActivities = { intent: 'Begin', outcome: 'End', note: 'Note' } as const;

/** An intent has its own status: it must not count as a success. */
const statuses: Readonly<Record<EventStatus, readonly [number, string]>> = {
  done: [1, 'Success'],
  failed: [2, 'Failure'],
  unknown: [0, 'Unknown'],
  intended: [99, 'Intended'],
  unchanged: [99, 'Unchanged'],
  not_tried: [99, 'Not tried'],
  noted: [99, 'Noted'],
};

const INFORMATIONAL = [1, 'Informational'] as const;
const MEDIUM = [3, 'Medium'] as const;

/** OCSF events, one per line: Entity Management (3004), and Authentication (3002), Logoff, for sessions. */
export function ocsfFormat({ version }: { version: string }): LogFormat {
  return eventFormat((record) => JSON.stringify(ocsfEvent(record, version)));
}

function ocsfEvent(record: EventRecord, version: string): object {
  const { entry, event, hash, id } = record;
  const [status_id, status] = statuses[event.status];
  const isFailure = event.status === 'failed' || event.status === 'unknown';
  const [severity_id, severity] = isFailure ? MEDIUM : INFORMATIONAL;
  const { actor, target } = entry;
  return {
    category_uid: 3,
    category_name: 'Identity & Access Management',
    ...classOf(record),
    time: Date.parse(entry.at),
    timezone_offset: 0,
    severity_id,
    severity,
    status_id,
    status,
    ...(event.detail !== undefined && { status_detail: truncated(event.detail) }),
    message: truncated(event.message),
    ...(event.count !== undefined && { count: event.count }),
    actor: { user: actorUser(actor), app_name: 'tokenctl' },
    ...(actor['host'] !== undefined && { src_endpoint: { hostname: actor['host'] } }),
    metadata: {
      version: OCSF_VERSION,
      product: { name: 'tokenctl', vendor_name: 'tokenctl', version },
      uid: id,
      correlation_uid: entry.run,
      sequence: entry.seq,
      event_code: entry.operation,
      log_name: 'audit',
    },
    unmapped: {
      kind: entry.kind,
      hash,
      ...(entry.closes !== undefined && { closes: entry.closes }),
      ...(record.reason !== undefined && { reason: record.reason }),
      ...(record.ticket !== undefined && { ticket: record.ticket }),
      ...target,
      ...(actor['job'] !== undefined && { job: actor['job'] }),
      ...(actor['sudo_user'] !== undefined && { sudo_user: actor['sudo_user'] }),
      ...(event.subject.fingerprint !== undefined && { fingerprint: event.subject.fingerprint }),
    },
  };
}

function classOf({ entry, event, reason }: EventRecord): object {
  const { act, subject, before, after } = event;
  if (act === 'log_off') {
    return {
      ...AUTHENTICATION,
      ...activity(AUTHENTICATION, 2, 'Logoff'),
      user: { name: subject.owner ?? 'unknown' },
      ...(subject.id !== undefined && { session: { uid: subject.id } }),
      service: { name: entry.target['address'] ?? 'unknown' },
    };
  }
  const [id, name] = act === 'other' ? ([99, 'Other'] as const) : activities[act];
  return {
    ...ENTITY_MANAGEMENT,
    ...activity(ENTITY_MANAGEMENT, id, name),
    ...(act === 'other' && { activity_name: otherActivities[entry.kind] }),
    entity: { ...entityOf(subject), ...(before !== undefined && { data: before }) },
    ...(after !== undefined && { entity_result: { ...entityOf(subject), data: after } }),
    ...(reason !== undefined && { comment: reason }),
  };
}

function activity(
  { class_uid, class_name }: { class_uid: number; class_name: string },
  id: number,
  name: string,
): object {
  const type = { type_uid: class_uid * 100 + id, type_name: `${class_name}: ${name}` };
  return { activity_id: id, activity_name: name, ...type };
}

/** The framework has no type for tokens. They are `Other` (99) with the kind as the name. */
function entityOf({ kind, id, name, owner }: EventSubject): object {
  const user = kind === 'user' ? name : owner;
  return {
    ...(kind === 'user' ? { type_id: 2, type: 'User' } : { type_id: 99, type: kind }),
    ...(id !== undefined && { uid: id }),
    ...(name !== undefined && { name: truncated(name) }),
    ...(user !== undefined && { user: { name: user } }),
  };
}

/** The operating system's user, and the account in the controller. */
function actorUser({ user, as }: EventRecord['entry']['actor']): object {
  return { name: user ?? as ?? 'unknown', ...(as !== undefined && { account: { name: as } }) };
}
