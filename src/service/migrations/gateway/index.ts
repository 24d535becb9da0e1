import type { Migration } from '../../../db/migrate.ts';
import { migrations } from '../index.ts';
import { activity } from './activity.ts';
import { names } from './names.ts';
import { settings } from './settings.ts';
import { tables } from './tables.ts';

/** The first step's name, by which a database tells that it was made for the gateway's dialect. */
export const MARK = 'gateway';

/** How many of the controller's steps were there when the gateway's tables were made of them. */
const BEFORE = 5;

/**
 * The schema of the gateway's dialect: the controller's steps, and then its tables under the gateway's names,
 * with views under those that the statements of `store/` use. A later step of the controller's schema follows
 * under its name, in a form for these tables; steps run with `public` alone as the search path.
 */
export const gatewayMigrations: readonly Migration[] = [
  { name: MARK, sql: '' },
  ...migrations.slice(0, BEFORE),
  tables,
  settings,
  activity,
  names,
].map(({ name, sql }, index) => ({ number: index + 1, name, sql }));
