import type { Dialect } from '../dialect.ts';
import { activity } from './gateway-activity.ts';
import { settings } from './gateway-settings.ts';
import { readUser, userReader } from './gateway-users.ts';

/** A platform gateway (2.5 and later). */
export const gateway: Dialect = {
  name: 'gateway',
  tellsLastUse: true,
  readUser,
  userReader,
  activity,
  settings,
};
