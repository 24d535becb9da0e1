import type { LogFormat } from '../../operations/ports/log-sink.ts';
import { clipped } from './clipped.ts';
import { type EventRecord, recordsOf } from './record.ts';
import { syslogHeader } from './syslog-header.ts';

/**
 * Messages of syslog (RFC 5424), without the frame that a connection puts around each: the registered element
 * `origin` as structured data, and the event as a JSON object. Its characters beyond ASCII are escaped, so that
 * the message needs no byte order mark, which parsers of JSON refuse.
 *
 * @param options.version The program's version.
 */
export function syslogFormat({ version }: { readonly version: string }): LogFormat {
  const origin = `[origin software="tokenctl" swVersion="${parameter(version)}"]`;
  return {
    *records(entry, context) {
      for (const record of recordsOf(entry, context)) {
        yield `${syslogHeader(record)} ${origin} ${ascii(JSON.stringify(message(record)))}`;
      }
    },
  };
}

function message({ entry, event, id, hash, reason, ticket }: EventRecord): object {
  const { before, after, message: text, detail, ...others } = event;
  const values = (each: typeof before) => each && clipped(JSON.stringify(each));
  return {
    id,
    seq: entry.seq,
    kind: entry.kind,
    operation: entry.operation,
    run: entry.run,
    ...others,
    message: clipped(text),
    detail: detail && clipped(detail),
    before: values(before),
    after: values(after),
    reason,
    ticket,
    actor: entry.actor,
    target: entry.target,
    hash,
  };
}

/** The value of a parameter of structured data (section 6.3.3). */
function parameter(text: string): string {
  return text.replace(/["\\\]]/g, '\\$&');
}

function ascii(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
