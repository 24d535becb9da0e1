import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '@tokenctl/common/db/database.ts';
import { migrate } from '@tokenctl/common/db/migrate.ts';
import { migrations } from '@tokenctl/service/service-database.ts';

/** A real controller's tables, constraints and indexes; kept beside the project, not in it. */
const CONTROLLER_TABLES = join(import.meta.dirname, '../../../shared/reference/controller-tables.sql');

/** Whose tables a database can be given: a real controller's where they are at hand, the service's always. */
export const LAYOUTS: readonly ('controller' | 'service')[] = existsSync(CONTROLLER_TABLES)
  ? ['controller', 'service']
  : ['service'];

/** Makes the tables of a layout in an empty database; without one a real controller's, where they are at hand. */
export async function makeTables(
  database: Database,
  layout: (typeof LAYOUTS)[number] = LAYOUTS[0] ?? 'service',
): Promise<void> {
  if (layout === 'controller') await database.script(readFileSync(CONTROLLER_TABLES, 'utf8'));
  else await migrate(database, migrations);
}
