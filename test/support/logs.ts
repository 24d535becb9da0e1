import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { inject } from 'vitest';
import { openFileLog } from '../../src/audit-log/file-log.ts';
import { openPostgresLog } from '../../src/audit-log/postgres-log.ts';
import type { AuditLog } from '../../src/operations/ports/audit-log.ts';
import { stillClock } from './drafts.ts';

/** A log for a test, and what happens to it beside its port. */
interface LogUnderTest extends AsyncDisposable {
  readonly log: AuditLog;
  /** What messages call it. */
  readonly name: string;
  /** Another instance on the same entries, as another process has one. */
  another(): AuditLog;
  /** The lines as they are stored. */
  lines(): Promise<string[]>;
  /** Puts a line behind the last one, past the program. */
  smuggle(line: string): Promise<void>;
}

async function fileLog(): Promise<LogUnderTest> {
  const folder = await temporaryFolder();
  const path = join(folder.path, 'state', 'audit.jsonl');
  const another = () => openFileLog({ path, clock: stillClock });
  return {
    log: another(),
    name: path,
    another,
    lines: async () => (await readFile(path, 'utf8')).trimEnd().split('\n'),
    smuggle: (line) => appendFile(path, `${line}\n`),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

async function postgresLog(): Promise<LogUnderTest> {
  const url = await createDatabase(inject('postgresUrl'));
  const database = await openOn(url);
  const opened: AuditLog[] = [];
  const another = () => {
    const log = openPostgresLog({ open: () => openOn(url), name: 'in PostgreSQL', clock: stillClock });
    opened.push(log);
    return log;
  };
  return {
    log: another(),
    name: 'in PostgreSQL',
    another,
    async lines() {
      const rows = await database.query<{ line: string }>(
        'SELECT line FROM tokenctl_audit.entry ORDER BY seq',
      );
      return rows.map(({ line }) => line);
    },
    async smuggle(line) {
      await database.execute(
        `INSERT INTO tokenctl_audit.entry
          SELECT max(seq) + 1, encode(sha256(convert_to($1, 'UTF8')), 'hex'), $1 FROM tokenctl_audit.entry`,
        [line],
      );
    },
    async [Symbol.asyncDispose]() {
      for (const log of opened) await log.close();
      await database.close();
    },
  };
}

/** Opens a new, empty log of either kind. */
export const EMPTY_LOGS = [
  ['a file', fileLog],
  ['PostgreSQL', postgresLog],
] as const;

/** The error with which a log refuses. */
export async function refusal(work: Promise<unknown>): Promise<TokenctlError> {
  const error: unknown = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof TokenctlError) return error;
  throw new Error(`Not refused as expected: ${String(error)}`);
}

/** The numbers of a log's entries. */
export async function sequence(log: AuditLog): Promise<number[]> {
  const numbers: number[] = [];
  for await (const { seq } of log.entries()) numbers.push(seq);
  return numbers;
}
