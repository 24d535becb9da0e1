import type { AuditLog, Entry } from '../ports/audit-log.ts';

/** Which entries are meant. Criteria that are present must all hold. */
export interface ListLogOptions {
  readonly log: Pick<AuditLog, 'entries'>;
  /** An operation, or the first words of several: `tokens` means `tokens.revoke` as well. */
  readonly operation?: string;
  readonly run?: string;
  readonly kind?: Entry['kind'];
  /** Appended at or after this instant. */
  readonly since?: Date;
  /** Only that many, the newest. */
  readonly last?: number;
}

/**
 * Streams entries of the audit log, oldest first.
 *
 * @throws TokenctlError `log_broken` at a line that is no entry, `audit_unavailable` where it cannot be read.
 */
export async function* listLog(options: ListLogOptions): AsyncIterable<Entry> {
  const { last } = options;
  const newest: Entry[] = [];
  for await (const entry of options.log.entries()) {
    if (!matches(entry, options)) continue;
    if (last === undefined) {
      yield entry;
    } else {
      newest.push(entry);
      if (newest.length > last) newest.shift();
    }
  }
  yield* newest;
}

function matches(entry: Entry, { operation, run, kind, since }: ListLogOptions): boolean {
  return (
    (operation === undefined || `${entry.operation}.`.startsWith(`${operation}.`)) &&
    (run === undefined || entry.run === run) &&
    (kind === undefined || entry.kind === kind) &&
    (since === undefined || Date.parse(entry.at) >= since.getTime())
  );
}
