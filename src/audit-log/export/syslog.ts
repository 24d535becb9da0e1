import type { LogFormat } from '../../operations/ports/log-sink.ts';
import { type EventRecord, type EventStatus, eventFormat, truncated } from './events.ts';

/**
 * Syslog messages (RFC 5424) without the framing of a connection: the element `origin` as structured data,
 * and the event as a JSON object. Non-ASCII characters are escaped: UTF-8 would need a byte order mark, which
 * JSON parsers reject.
 */
export function syslogFormat({ version }: { version: string }): LogFormat {
  const origin = `[origin software="tokenctl" swVersion="${parameter(version)}"]`;
  return eventFormat(
    (record) => `${messageHeader(record)} ${origin} ${ascii(JSON.stringify(message(record)))}`,
  );
}

function message({ entry, event, id, hash, reason, ticket }: EventRecord): object {
  const { before, after, message: text, detail, ...others } = event;
  const values = (each: typeof before) => each && truncated(JSON.stringify(each));
  return {
    id,
    seq: entry.seq,
    kind: entry.kind,
    operation: entry.operation,
    run: entry.run,
    ...others,
    message: truncated(text),
    detail: detail && truncated(detail),
    before: values(before),
    after: values(after),
    reason,
    ticket,
    actor: entry.actor,
    target: entry.target,
    hash,
  };
}

/** Escapes a parameter value of structured data (RFC 5424, section 6.3.3). */
function parameter(text: string): string {
  return text.replace(/["\\\]]/g, '\\$&');
}

function ascii(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The facility "log audit" (RFC 5424, section 6.2.1). */
const FACILITY = 13;

/** Severities: 4 warning, 5 notice, 6 informational. */
const syslogSeverities: Readonly<Record<EventStatus, number>> = {
  failed: 4,
  unknown: 4,
  not_tried: 4,
  intended: 5,
  done: 5,
  unchanged: 6,
  noted: 6,
};

/** The header of a syslog message (RFC 5424, section 6.2), with the operation as MSGID. */
function messageHeader({ entry, event }: EventRecord): string {
  const priority = FACILITY * 8 + syslogSeverities[event.status];
  const host = printUsAscii(entry.actor['host'], 255);
  return `<${priority}>1 ${entry.at} ${host} tokenctl - ${printUsAscii(entry.operation, 32)}`;
}

/** A header field: printable ASCII up to a maximum length, or `-` if empty. */
function printUsAscii(text: string | undefined, maxLength: number): string {
  return (text ?? '').replace(/[^\x21-\x7e]/g, '?').slice(0, maxLength) || '-';
}

const cefSeverities: Readonly<Record<EventStatus, number>> = {
  noted: 1,
  unchanged: 2,
  intended: 3,
  done: 3,
  not_tried: 5,
  unknown: 6,
  failed: 7,
};

const CRITICAL = 9;

/** Events that an operations center must see at once: the start and the end of a lockdown. */
function isCritical({ entry, event }: EventRecord): boolean {
  return entry.operation === 'incident.lockdown' && event.act === 'other';
}

interface CefOptions {
  readonly version: string;
  /** Whether each event is wrapped in a syslog message (RFC 5424), as for a connection. */
  readonly inSyslog: boolean;
}

/** Events in ArcSight's Common Event Format, version 0. */
export function cefFormat({ version, inSyslog }: CefOptions): LogFormat {
  return eventFormat((record) => {
    const event = cefEvent(record, version);
    return inSyslog ? `${messageHeader(record)} - ${event}` : event;
  });
}

function cefEvent(record: EventRecord, version: string): string {
  const { entry, event } = record;
  const name = `${entry.kind}: ${event.act.replace('_', ' ')} ${event.subject.kind}`;
  const head = ['CEF:0', 'tokenctl', 'tokenctl', version, entry.operation, name].map(headerField).join('|');
  const severity = isCritical(record) ? CRITICAL : cefSeverities[event.status];
  return `${head}|${severity}|${extension(record)}`;
}

function extension(record: EventRecord): string {
  const { entry, event, id, reason, ticket, hash } = record;
  const { subject } = event;
  const { actor, target } = entry;
  const fields: Readonly<Record<string, string | undefined>> = {
    rt: String(Date.parse(entry.at)),
    externalId: id,
    act: event.act === 'other' ? entry.operation : event.act,
    outcome: event.status,
    msg: event.detail === undefined ? event.message : `${event.message}: ${event.detail}`,
    suser: actor['user'] ?? actor['as'],
    shost: actor['host'],
    duser: subject.kind === 'user' ? subject.name : subject.owner,
    request: target['address'],
    reason,
    cnt: event.count?.toString(),
    cn1: String(entry.seq),
    cn1Label: 'sequence',
    ...labelled('cs1', 'run', entry.run),
    ...labelled('cs2', 'ticket', ticket),
    ...labelled('cs3', 'subject', [subject.kind, subject.id ?? subject.name].filter(Boolean).join(' ')),
    ...labelled('cs4', 'fingerprint', subject.fingerprint),
    ...labelled('cs5', 'context', target['context']),
    ...labelled('cs6', 'hash', hash),
    ...labelled('flexString1', 'as', actor['as']),
    ...labelled('flexString2', 'after', event.after && JSON.stringify(event.after)),
  };
  return Object.entries(fields)
    .flatMap(([key, value]) => (value === undefined ? [] : [`${key}=${extensionValue(truncated(value))}`]))
    .join(' ');
}

function labelled(key: string, label: string, value: string | undefined): Record<string, string> {
  return value === undefined ? {} : { [key]: value, [`${key}Label`]: label };
}

/** Escapes backslashes and pipes in a header field. Line breaks become spaces. */
function headerField(text: string): string {
  return withoutControls(text.replace(/[\\|]/g, '\\$&').replace(/[\r\n]+/g, ' '));
}

/** Escapes backslashes, equals signs and line breaks in an extension value. */
function extensionValue(text: string): string {
  return withoutControls(text.replace(/[\\=]/g, '\\$&').replace(/\r/g, '\\r').replace(/\n/g, '\\n'));
}

/** CEF has no escape for other control characters, which could control a reader's terminal. They become `?`. */
function withoutControls(text: string): string {
  return text.replace(/\p{Cc}/gu, '?');
}
