import type { EventStatus } from './log-event.ts';
import type { EventRecord } from './record.ts';

/** The facility "log audit" (RFC 5424, section 6.2.1). */
const FACILITY = 13;

/** Severities: 4 warning, 5 notice, 6 informational. */
const severities: Readonly<Record<EventStatus, number>> = {
  failed: 4,
  unknown: 4,
  not_tried: 4,
  intended: 5,
  done: 5,
  unchanged: 6,
  noted: 6,
};

/**
 * The header of a syslog message (RFC 5424, section 6.2): PRI, version, time, host, program, process, and the
 * operation as the message's type. Structured data and the message follow.
 */
export function syslogHeader({ entry, event }: EventRecord): string {
  const priority = FACILITY * 8 + severities[event.status];
  const host = printUsAscii(entry.actor['host'], 255);
  return `<${priority}>1 ${entry.at} ${host} tokenctl - ${printUsAscii(entry.operation, 32)}`;
}

/** A field of the header: visible ASCII up to a length, or a dash for nothing. */
function printUsAscii(text: string | undefined, longest: number): string {
  return (text ?? '').replace(/[^\x21-\x7e]/g, '?').slice(0, longest) || '-';
}
