import { TokenctlError } from '../../domain/errors.ts';
import type { AuditLog, Entry, EntryDraft } from '../ports/audit-log.ts';
import type { LogFormat, LogSink } from '../ports/log-sink.ts';

/** What has to take every intent, and how it is written for it. */
export interface RequiredSink {
  readonly sink: LogSink;
  readonly format: LogFormat;
}

/**
 * A log whose intents must also be taken by a sink: only then `append` returns, and the act may begin. An intent
 * that the sink does not take is closed in the log as refused. Outcomes and notes do not go to the sink: they are
 * exported, as the intents are, from the log itself.
 *
 * Appending an intent throws `audit_unavailable` where the sink did not take it.
 */
export function withRequiredSink(log: AuditLog, { sink, format }: RequiredSink): AuditLog {
  /** What each run began with, until its outcome is there. */
  const openings = new Map<string, Entry>();
  const rotate = log.rotate?.bind(log);
  const prune = log.prune?.bind(log);
  return {
    async append(draft) {
      const entry = await log.append(draft);
      if (entry.closes !== undefined && openings.get(entry.run)?.seq === entry.closes)
        openings.delete(entry.run);
      if (entry.kind !== 'intent') return entry;
      const opening = openings.get(entry.run) ?? entry;
      openings.set(entry.run, opening);
      try {
        await sink.send([...format.records(entry, { opening })]);
      } catch (cause) {
        const refusal = refused(sink, cause);
        if (opening === entry) openings.delete(entry.run);
        // Where this cannot be written either, the next run closes the intent.
        await log.append(closing(draft, entry, refusal)).catch(() => undefined);
        throw refusal;
      }
      return entry;
    },
    entries: (from, only) => log.entries(from, only),
    head: () => log.head(),
    verify: (observer) => log.verify(observer),
    lockRun: (run) => log.lockRun(run),
    abandonedIntents: () => log.abandonedIntents(),
    ...(rotate !== undefined && { rotate }),
    ...(prune !== undefined && { prune }),
    async close() {
      await sink.close();
      await log.close();
    },
  };
}

function closing(draft: EntryDraft, { seq }: Entry, { message }: TokenctlError): EntryDraft {
  const { step } = draft.data;
  const data = { ...(step !== undefined && { step }), result: 'refused', reason: message };
  return { ...draft, kind: 'outcome', data, closes: seq };
}

function refused({ name }: LogSink, cause: unknown): TokenctlError {
  const why = cause instanceof TokenctlError ? cause.message : `${name} failed`;
  return new TokenctlError(
    'audit_unavailable',
    `The required sink of the audit log did not accept the intent: ${why}`,
    {
      hint: 'Nothing was changed. Repair the sink, or remove auditLog.required from the configuration.',
      cause,
    },
  );
}
