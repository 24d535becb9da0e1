import type { Dialect } from '../dialect.ts';
import { activity } from './controller-activity.ts';
import { settings } from './controller-settings.ts';
import { readUser } from './controller-users.ts';

/** A controller (24.6), by itself or behind a platform gateway. */
export const controller: Dialect = {
  name: 'controller',
  tellsLastUse: false,
  readUser,
  userReader: () => Promise.resolve(readUser),
  activity,
  settings,
};
