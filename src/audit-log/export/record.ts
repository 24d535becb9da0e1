import { textOf } from '../../operations/journal/entry-data.ts';
import type { Entry } from '../../operations/ports/audit-log.ts';
import type { EntryContext } from '../../operations/ports/log-sink.ts';
import { canonical, hashOf } from '../chain.ts';
import { clipped } from './clipped.ts';
import { eventsOf } from './events-of.ts';
import type { LogEvent } from './log-event.ts';

/** An event with all that formats write of it. */
export interface EventRecord {
  readonly entry: Entry;
  readonly event: LogEvent;
  /** The SHA-256 (hex) of the entry's line. */
  readonly hash: string;
  /** The same for the same event each time it is exported, and of no other: receivers drop repetitions by it. */
  readonly id: string;
  readonly reason?: string;
  readonly ticket?: string;
}

/** The events of an entry, with who ordered them. */
export function* recordsOf(entry: Entry, { intent, opening }: EntryContext): Generator<EventRecord> {
  const hash = hashOf(canonical(entry));
  const account = { ...opening?.data, ...entry.data };
  const reason = entry.kind === 'outcome' ? textOf(opening?.data['reason']) : textOf(account['reason']);
  const ticket = textOf(account['ticket']);
  let number = 0;
  for (const event of eventsOf(entry, intent)) {
    number += 1;
    yield {
      entry,
      event,
      hash,
      id: `${hash.slice(0, 32)}-${number}`,
      ...(reason !== undefined && { reason: clipped(reason) }),
      ...(ticket !== undefined && { ticket: clipped(ticket) }),
    };
  }
}
