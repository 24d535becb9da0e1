import type { Database } from '../db/database.ts';

/**
 * What an audit log in PostgreSQL consists of, as `docs/audit-log.md` shows it. An administrator may run
 * it beforehand, so that the role that appends owns nothing and can undo nothing.
 */
export const AUDIT_SCHEMA: readonly string[] = [
  'CREATE SCHEMA tokenctl_audit',
  `CREATE TABLE tokenctl_audit.entry (
  seq bigint PRIMARY KEY CHECK (seq > 0),
  hash text NOT NULL,
  line text NOT NULL,
  CHECK (hash = encode(sha256(convert_to(line, 'UTF8')), 'hex'))
)`,
  `CREATE FUNCTION tokenctl_audit.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'entries of the audit log are neither changed nor removed'
    USING ERRCODE = 'insufficient_privilege';
END $$`,
  `CREATE TRIGGER refuse BEFORE UPDATE OR DELETE OR TRUNCATE ON tokenctl_audit.entry
  FOR EACH STATEMENT EXECUTE FUNCTION tokenctl_audit.refuse()`,
  'ALTER TABLE tokenctl_audit.entry ENABLE ALWAYS TRIGGER refuse',
];

/** Any number, other than the lock of the appends: whoever makes the schema takes it. */
const MAKING = 7_305_114_202;

/**
 * Makes the log's schema where it is missing.
 *
 * @throws The database's error, such as that the role may not.
 */
export function makeAuditSchema(database: Database): Promise<void> {
  return database.transaction(async (transaction) => {
    await transaction.execute('SELECT pg_advisory_xact_lock($1)', [MAKING]);
    const [found] = await transaction.query<{ schema: boolean; table: boolean }>(
      `SELECT to_regnamespace('tokenctl_audit') IS NOT NULL AS schema,
        to_regclass('tokenctl_audit.entry') IS NOT NULL AS table`,
    );
    if (found?.table === true) return;
    for (const statement of AUDIT_SCHEMA.slice(found?.schema === true ? 1 : 0)) {
      await transaction.execute(statement);
    }
  });
}
