import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { inject } from 'vitest';
import type { JobStore } from '../../../src/operations/ports/scheduler.ts';
import { openLedgerTables } from '../../../src/scheduler/ledger/ledger.ts';

/** A place for a ledger, which several may have open. */
export interface LedgerPlace extends AsyncDisposable {
  open(): Promise<JobStore>;
}

/** Both kinds of place, each new and empty. */
export const LEDGERS = [
  ['PostgreSQL', postgresPlace],
  ['a file', filePlace],
] as const;

async function postgresPlace(): Promise<LedgerPlace> {
  const url = await createDatabase(inject('postgresUrl'));
  return place(async () => openLedgerTables({ database: await openOn(url) }));
}

/** A ledger in a temporary folder, whose tables can be changed behind its back. */
export async function filePlace(): Promise<LedgerPlace & { run(statements: string): void }> {
  const folder = await mkdtemp(join(tmpdir(), 'tokenctl-ledger-'));
  const path = join(folder, 'state', 'ticks.sqlite');
  return {
    ...place(
      () => openLedgerTables(path),
      () => rm(folder, { recursive: true, force: true }),
    ),
    run(statements) {
      const database = new DatabaseSync(path);
      database.exec(statements);
      database.close();
    },
  };
}

function place(open: () => Promise<JobStore>, remove = async () => undefined as unknown): LedgerPlace {
  const opened: JobStore[] = [];
  return {
    async open() {
      const store = await open();
      opened.push(store);
      return store;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(opened.map((store) => store.close()));
      await remove();
    },
  };
}
