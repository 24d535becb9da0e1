import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { auditLogFile, type Configuration } from '../config/configuration.ts';
import { absolutePath, type Environment, stateFolder } from '../config/paths.ts';
import type { AuditLogSettings } from '../config/schema.ts';
import { databaseConnection, databaseName, readSecret } from '../config/secrets.ts';
import type { AuditLog, Entry, EntryDraft, LogKeys } from '../operations/ports/audit-log.ts';
import type { Clock } from '../operations/ports/clock.ts';
import type { ExportCursor, ExportFormat, LogFormat, LogSink } from '../operations/ports/log-sink.ts';

interface AuditLogOptions {
  readonly environment: Environment;
  readonly clock: Clock;
  /** How many runs may hold the log at a time. */
  readonly runs: number;
}

/** Opens the configured audit log. Creates nothing before its first use. Throws `configuration`. */
export async function openAuditLog(
  { auditLog }: Configuration,
  { environment, clock, runs }: AuditLogOptions,
): Promise<AuditLog> {
  const { database } = auditLog;
  if (database === undefined) {
    const { openFileLog } = await import('../audit-log/file-log.ts');
    return openFileLog({ path: auditLogFile(auditLog), clock });
  }
  const url = databaseConnection(database, environment);
  const { openPostgresLog } = await import('../audit-log/postgres-log.ts');
  const { openPostgres } = await import('@tokenctl/common/db/postgres.ts');
  return openPostgresLog({
    // One to append, one to read, and one for each held run.
    open: () => openPostgres({ url, applicationName: 'tokenctl audit log', connections: 2 + runs }),
    name: auditLogName({ auditLog }),
    clock,
  });
}

/** The audit log's place, for messages. Throws `configuration` without a folder for it. */
export function auditLogName(configuration: Pick<Configuration, 'auditLog'>): string {
  const place = auditLogPlace(configuration);
  return configuration.auditLog.database === undefined ? place : `in ${place}`;
}

/** The audit log's file or database, for messages. Throws as {@link auditLogName}. */
export function auditLogPlace({ auditLog }: Pick<Configuration, 'auditLog'>): string {
  const { database } = auditLog;
  return database === undefined ? auditLogFile(auditLog) : `the database ${databaseName(database)}`;
}

/** The target and format of an audit log export. Paths are as the user wrote them. */
export interface LogExportOptions {
  readonly format: ExportFormat;
  /** A URL or a file; by default the caller's output. */
  readonly to?: string | undefined;
  readonly caFile?: string | undefined;
  /** A file with mode 0600 that contains a token for the sink. */
  readonly tokenFile?: string | undefined;
  readonly cursor?: string | undefined;
}

export interface LogExport {
  readonly format: LogFormat;
  /** Null if the caller's output receives the records. */
  readonly sink: LogSink | null;
  readonly cursor: ExportCursor | undefined;
}

interface LogOptions {
  readonly environment: Environment;
  readonly version: string;
}

/** Opens an export of the audit log. Connects to nothing yet. Throws `configuration`, `unsupported`. */
export async function openLogExport(
  { format, to, caFile, tokenFile, cursor }: LogExportOptions,
  { environment, version }: LogOptions,
): Promise<LogExport> {
  const { formatFor, openSink } = await import('../audit-log/export/open-sink.ts');
  const { fileCursor } = await import('../audit-log/export/file-sink.ts');
  const path = (file: string) => absolutePath(file, process.cwd(), environment);
  const token = tokenFile === undefined ? undefined : readSecret({ file: path(tokenFile) }, environment);
  return {
    format: formatFor(format, { to, version }),
    sink: to === undefined ? null : openSink({ to, format, caFile, token }),
    cursor: cursor === undefined ? undefined : fileCursor(path(cursor)),
  };
}

/** The log. If the configuration requires a sink, it must accept each intent. Throws `configuration`. */
export async function withConfiguredSink(
  log: AuditLog,
  { required }: AuditLogSettings,
  { environment, version }: LogOptions,
): Promise<AuditLog> {
  if (required === undefined) return log;
  const { to, format, caFile, token, timeout } = required;
  const { formatFor, openSink } = await import('../audit-log/export/open-sink.ts');
  const secret = token === undefined ? undefined : readSecret(token, environment);
  const sink = openSink({ to, format, caFile, token: secret, timeoutMs: timeout * 1000 });
  return withRequiredSink(log, { sink, format: formatFor(format, { to, version }) });
}

/** The log's key: in the configured place, else next to the log's file, else in the state folder. */
export async function openLogKeys(settings: AuditLogSettings, environment: Environment): Promise<LogKeys> {
  const { openKeyFiles } = await import('../audit-log/key-files.ts');
  const { database, key } = settings;
  if (key !== undefined) return openKeyFiles(key);
  const log = database === undefined ? auditLogFile(settings) : join(stateFolder(environment), 'audit');
  return openKeyFiles(`${log}.key`);
}

/** The log of a dry run, which accepts entries and stores none. Use it only with a target that changes nothing. */
export function dryRunAuditLog(clock: Clock): AuditLog {
  let size = 0;
  return {
    append(draft) {
      size += 1;
      const at = clock.now().toISOString();
      const entry: Entry = { ...draft, v: 1, seq: size, at, previous: '', open: [] };
      return Promise.resolve(entry);
    },
    async *entries() {},
    head: () => Promise.resolve({ size: 0, hash: '' }),
    verify: () => Promise.resolve({ entries: 0, head: { size: 0, hash: '' }, break: null, tornBytes: 0 }),
    lockRun: () => Promise.resolve({ [Symbol.dispose]: () => undefined }),
    abandonedIntents: () => Promise.resolve([]),
    close: () => Promise.resolve(),
  };
}

/** The sink that must accept every intent, and its format. */
interface RequiredSink {
  readonly sink: LogSink;
  readonly format: LogFormat;
}

/**
 * A log whose intents must also be accepted by a sink: only then does `append` return, and the act may start.
 * A refused intent is closed in the log as refused. Outcomes and notes do not go to the sink: like intents,
 * they are exported from the log itself.
 *
 * Appending an intent throws `audit_unavailable` if the sink did not accept it.
 */
export function withRequiredSink(log: AuditLog, { sink, format }: RequiredSink): AuditLog {
  /** The first entry of each run, until its outcome arrives. */
  const openings = new Map<string, Entry>();
  return logOver(log, {
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
        // If this cannot be written either, the next run closes the intent.
        await log.append(closing(draft, entry, refusal)).catch(() => undefined);
        throw refusal;
      }
      return entry;
    },
    async close() {
      await sink.close();
      await log.close();
    },
  });
}

/** A log with some methods replaced. All others, including optional ones, are those of `log`. */
export function logOver(log: AuditLog, own: Partial<AuditLog>): AuditLog {
  return new Proxy(log, {
    get(_, name) {
      const method = Reflect.get(own, name) ?? Reflect.get(log, name);
      return typeof method === 'function' ? method.bind(log) : method;
    },
  });
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
