import { TokenctlError } from '../domain/errors.ts';
import { AUDIT_SCHEMA } from './postgres-schema.ts';

/**
 * The audit log in PostgreSQL cannot be used: in words for what the database says, with the log's name.
 *
 * @param doing What was tried, completing "The audit log … cannot be …": `written`, `read`.
 */
export function postgresUnavailable(name: string, doing: string, cause: unknown): TokenctlError {
  if (cause instanceof TokenctlError && cause.code !== 'database_unreachable') return cause;
  const state = sqlState(cause);
  const known = state === undefined ? undefined : reasons[state];
  const why = known?.why ?? (cause instanceof TokenctlError ? cause.message : state);
  return new TokenctlError(
    'audit_unavailable',
    `The audit log ${name} cannot be ${doing}: ${why ?? 'unknown reason'}`,
    {
      hint: known?.hint ?? 'Without a log nothing is changed. Try again when the database is back.',
      ...(state === NO_RIGHT && { details: { sql: `${AUDIT_SCHEMA.join(';\n')};` } }),
      cause,
    },
  );
}

/** Whether the log's schema or table is what is missing. */
export function isSchemaMissing(error: unknown): boolean {
  const state = sqlState(error);
  return state === '3F000' || state === '42P01';
}

/** The SQLSTATE that the database gave, if it did. */
function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('code' in error && typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code))
    return error.code;
  return sqlState(error.cause);
}

const NO_RIGHT = '42501';

const reasons: Readonly<Record<string, { why: string; hint: string }>> = {
  [NO_RIGHT]: {
    why: 'the role lacks a right',
    hint: 'Let an administrator run the SQL of docs/audit-log.md (also in error.details of --json), and GRANT this role USAGE on the schema, SELECT and INSERT on the table.',
  },
  '28000': { why: 'the role is not let in', hint: 'Check the URL of the audit log, and pg_hba.conf.' },
  '28P01': { why: 'the password is wrong', hint: 'Check the URL of the audit log.' },
  '22P05': { why: "the database's encoding cannot hold it", hint: 'Use a database in UTF8.' },
  '25006': { why: 'the database is read-only', hint: 'Give the address of the primary.' },
  '53100': { why: "the database's disk is full", hint: 'Make room.' },
  '55P03': {
    why: 'somebody else held its lock for too long',
    hint: 'Look into pg_locks for an advisory lock, and end its holder.',
  },
  '57014': { why: 'the database took too long', hint: 'Look into pg_stat_activity for what holds it up.' },
};
