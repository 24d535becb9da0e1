import type { LogFormat } from '../../operations/ports/log-sink.ts';
import { type Act, type EventRecord, type EventStatus, eventFormat, truncated } from './events.ts';

export const ECS_VERSION = '9.4.0';

const outcomes: Readonly<Record<EventStatus, 'success' | 'failure' | 'unknown'>> = {
  done: 'success',
  unchanged: 'success',
  noted: 'success',
  failed: 'failure',
  not_tried: 'failure',
  intended: 'unknown',
  unknown: 'unknown',
};

const kinds: Readonly<Record<Act, { readonly category: string; readonly type: readonly string[] }>> = {
  delete: { category: 'iam', type: ['deletion'] },
  create: { category: 'iam', type: ['creation'] },
  enable: { category: 'iam', type: ['user', 'change'] },
  disable: { category: 'iam', type: ['user', 'change'] },
  update: { category: 'configuration', type: ['change'] },
  log_off: { category: 'session', type: ['end'] },
  other: { category: 'iam', type: ['info'] },
};

/** Events in the Elastic Common Schema, one JSON object per line. */
export function ecsFormat({ version }: { version: string }): LogFormat {
  return eventFormat((record) => JSON.stringify(ecsEvent(record, version)));
}

function ecsEvent(record: EventRecord, version: string): object {
  const { entry, event } = record;
  const { actor, target } = entry;
  return {
    '@timestamp': entry.at,
    ecs: { version: ECS_VERSION },
    message: truncated(event.message),
    event: eventFields(record),
    ...(event.detail !== undefined && { error: { message: truncated(event.detail) } }),
    user: userFields(record),
    related: relatedFields(record),
    ...(actor['host'] !== undefined && { host: { hostname: actor['host'] } }),
    ...(target['address'] !== undefined && { service: { address: target['address'] } }),
    observer: { product: 'tokenctl', vendor: 'tokenctl', version },
    labels: labelsOf(record),
  };
}

/** Only a completed or failed action is a deletion, creation or change. An intent has the type `info`. */
function eventFields({ entry, event, hash, id, reason }: EventRecord): object {
  const { category, type } = kinds[event.act];
  const isInfo = event.status === 'intended' || event.status === 'unchanged' || event.status === 'not_tried';
  return {
    kind: 'event',
    category: [category],
    type: isInfo ? ['info'] : type,
    outcome: outcomes[event.status],
    action: entry.operation,
    id,
    hash,
    sequence: entry.seq,
    module: 'tokenctl',
    dataset: 'tokenctl.audit',
    ...(reason !== undefined && { reason }),
  };
}

function userFields({ entry: { actor }, event: { subject } }: EventRecord): object {
  const owner = subject.kind === 'user' ? subject.name : subject.owner;
  return {
    name: actor['user'] ?? actor['as'] ?? 'unknown',
    ...(actor['as'] !== undefined && { effective: { name: actor['as'] } }),
    ...(owner !== undefined && { target: { name: owner } }),
  };
}

function relatedFields({ entry: { actor }, event: { subject }, hash }: EventRecord): object {
  const owner = subject.kind === 'user' ? subject.name : subject.owner;
  const users = [actor['user'], actor['as'], actor['sudo_user'], owner];
  return {
    user: [...new Set(users.filter((user) => user !== undefined))],
    hash: [hash],
    ...(actor['host'] !== undefined && { hosts: [actor['host']] }),
  };
}

/** Values without a field in the schema, as text. */
function labelsOf({ entry, event, ticket }: EventRecord): Readonly<Record<string, string>> {
  const { subject, status, count, before, after } = event;
  const values: Readonly<Record<string, string | undefined>> = {
    kind: entry.kind,
    status,
    run: entry.run,
    closes: entry.closes?.toString(),
    ticket,
    context: entry.target['context'],
    job: entry.actor['job'],
    sudo_user: entry.actor['sudo_user'],
    subject: subject.kind,
    subject_id: subject.id,
    subject_name: subject.name,
    fingerprint: subject.fingerprint,
    count: count?.toString(),
    before: before && JSON.stringify(before),
    after: after && JSON.stringify(after),
  };
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, truncated(value)]],
    ),
  );
}
