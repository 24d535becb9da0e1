import type { LogFormat } from '../../operations/ports/log-sink.ts';
import { clipped } from './clipped.ts';
import type { EventStatus } from './log-event.ts';
import { type EventRecord, recordsOf } from './record.ts';
import { syslogHeader } from './syslog-header.ts';

/** From 0 to 10. */
const severities: Readonly<Record<EventStatus, number>> = {
  noted: 1,
  unchanged: 2,
  intended: 3,
  done: 3,
  not_tried: 5,
  unknown: 6,
  failed: 7,
};

/** How CEF is written. */
export interface CefOptions {
  /** The program's version. */
  readonly version: string;
  /** Whether each event is a message of syslog (RFC 5424), as for a connection, and not a line by itself. */
  readonly inSyslog: boolean;
}

/** Events of ArcSight's Common Event Format, version 0. */
export function cefFormat({ version, inSyslog }: CefOptions): LogFormat {
  return {
    *records(entry, context) {
      for (const record of recordsOf(entry, context)) {
        const event = cefEvent(record, version);
        yield inSyslog ? `${syslogHeader(record)} - ${event}` : event;
      }
    },
  };
}

function cefEvent(record: EventRecord, version: string): string {
  const { entry, event } = record;
  const name = `${entry.kind}: ${event.act.replace('_', ' ')} ${event.subject.kind}`;
  const head = ['CEF:0', 'tokenctl', 'tokenctl', version, entry.operation, name].map(header).join('|');
  return `${head}|${severities[event.status]}|${extension(record)}`;
}

function extension(record: EventRecord): string {
  const { entry, event, id, reason, ticket, hash } = record;
  const { subject } = event;
  const { actor, target } = entry;
  const fields: Readonly<Record<string, string | undefined>> = {
    rt: String(Date.parse(entry.at)),
    externalId: id,
    act: event.act,
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
    .flatMap(([key, value]) => (value === undefined ? [] : [`${key}=${escaped(clipped(value))}`]))
    .join(' ');
}

function labelled(key: string, label: string, value: string | undefined): Record<string, string> {
  return value === undefined ? {} : { [key]: value, [`${key}Label`]: label };
}

/** In the header, backslashes and bars are escaped, and lines do not break. */
function header(text: string): string {
  return text.replace(/[\\|]/g, '\\$&').replace(/[\r\n]+/g, ' ');
}

/** In a value, backslashes and equals signs are escaped, and line breaks are written out. */
function escaped(text: string): string {
  return text.replace(/[\\=]/g, '\\$&').replace(/\r/g, '\\r').replace(/\n/g, '\\n');
}
