import type { Queryable } from '../../db/database.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { INDEXES, LEDGER_VERSION, MAKE_TABLES } from './schema.ts';

/**
 * Makes the ledger's tables where they are missing, in a transaction that nobody else has a part in.
 *
 * @param indexStatement How the database wants an index to be made.
 * @throws TokenctlError `configuration` where the ledger is newer than the program.
 */
export async function makeTables(
  queryable: Queryable,
  options: { readonly exist: boolean; readonly indexStatement: (index: (typeof INDEXES)[number]) => string },
): Promise<void> {
  if (options.exist) return refuseNewer(queryable);
  for (const statement of MAKE_TABLES) await queryable.execute(statement);
  for (const index of INDEXES) await queryable.execute(options.indexStatement(index));
  await queryable.execute('INSERT INTO tokenctl_scheduler.version (number) VALUES ($1)', [LEDGER_VERSION]);
}

async function refuseNewer(queryable: Queryable): Promise<void> {
  const [row] = await queryable.query<{ number: number }>('SELECT number FROM tokenctl_scheduler.version');
  if (row?.number === LEDGER_VERSION) return;
  throw new TokenctlError(
    'configuration',
    `The scheduler's ledger is of version ${row?.number ?? 'none'}, and this program knows version ${LEDGER_VERSION}`,
    { hint: 'Use the version of the program that wrote it, or a newer one.' },
  );
}
