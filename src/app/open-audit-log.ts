import { join } from 'node:path';
import type { Configuration } from '../config/configuration.ts';
import { absolutePath, type Environment, stateFolder } from '../config/paths.ts';
import type { AuditLogSettings } from '../config/schema.ts';
import { databaseConnection, databaseName, readSecret } from '../config/secrets.ts';
import { withRequiredSink } from '../operations/journal/required-sink.ts';
import type { AuditLog, Entry, LogKeys } from '../operations/ports/audit-log.ts';
import type { ExportCursor, ExportFormat, LogFormat, LogSink } from '../operations/ports/log-sink.ts';
import type { Clock } from '../operations/ports/scheduler.ts';

/** What the audit log is opened with. */
interface AuditLogOptions {
  readonly environment: Environment;
  readonly clock: Clock;
  /** How many runs may hold it at a time. */
  readonly runs: number;
}

/**
 * Opens the audit log of the configuration; nothing is made before its first use.
 *
 * @throws TokenctlError `configuration`
 */
export async function openAuditLog(
  { auditLog: { file, database } }: Configuration,
  { environment, clock, runs }: AuditLogOptions,
): Promise<AuditLog> {
  if (database === undefined) {
    const { openFileLog } = await import('../audit-log/file-log.ts');
    return openFileLog({ path: file, clock });
  }
  const url = databaseConnection(database, environment);
  const { openPostgresLog } = await import('../audit-log/postgres-log.ts');
  const { openPostgres } = await import('../db/postgres.ts');
  return openPostgresLog({
    // One to append, one to read, and one for each run that is held.
    open: () => openPostgres({ url, applicationName: 'tokenctl audit log', connections: 2 + runs }),
    name: `in the database ${databaseName(database)}`,
    clock,
  });
}

/** Where the audit log is exported to, and as what. Paths are as the user wrote them. */
export interface LogExportOptions {
  readonly format: ExportFormat;
  /** An address or a file; the caller's own output where not given. */
  readonly to?: string | undefined;
  readonly caFile?: string | undefined;
  /** A file of mode 0600 with a token for the sink. */
  readonly tokenFile?: string | undefined;
  readonly cursor?: string | undefined;
}

/** What an export of the audit log is made with. */
export interface LogExport {
  readonly format: LogFormat;
  /** Null where records go to the caller's own output. */
  readonly sink: LogSink | null;
  readonly cursor: ExportCursor | undefined;
}

/** What the parts of the audit log are built for. */
interface LogOptions {
  readonly environment: Environment;
  /** The program's version. */
  readonly version: string;
}

/**
 * Opens what exports the audit log; nothing is connected yet.
 *
 * @throws TokenctlError `configuration`, `unsupported`
 */
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

/**
 * The log, with the sink that the configuration requires to take each intent.
 *
 * @throws TokenctlError `configuration`
 */
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

/** The log's key: where the configuration says, else beside the log's file, else in the state folder. */
export async function openLogKeys(settings: AuditLogSettings, environment: Environment): Promise<LogKeys> {
  const { openKeyFiles } = await import('../audit-log/key-files.ts');
  const { database, file, key } = settings;
  const log = database === undefined ? file : join(stateFolder(environment), 'audit');
  return openKeyFiles(key ?? `${log}.key`);
}

/** The log of a dry run: it accepts entries and stores none. Use it only with a target that changes nothing. */
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
