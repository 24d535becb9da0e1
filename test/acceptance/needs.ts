import { findChromium } from '@tokenctl/testing/tools.ts';
import { offeredWays, type WayIn } from './access.ts';
import type { Consent } from './description.ts';
import type { Installation } from './installation.ts';
import type { Need } from './runner.ts';

const need = (lack: Need<Installation>['lack']): Need<Installation> => ({ lack });

/** A database in the description. */
export const DATABASE = need(({ database }) => (database === null ? 'needs `database`' : null));

/** A controller, whose API has what the scenario is about. */
export const CONTROLLER = need(({ isGateway }) => (isGateway ? 'is about a controller' : null));

/** A controller of which it is known that requests that fail record no use of their token. */
export const QUIET = need(({ isQuiet }) =>
  isQuiet ? null : 'is about controller 24.6.1, where a request that fails is no use of its token',
);

/**
 * The key with which a controller encrypts the secrets of applications. Others, of which the bundled service is one, store
 * hashes.
 */
export const SECRET_KEY = need(({ description, isRealController }) =>
  isRealController && description.secretKey === undefined ? 'needs `secretKey`' : null,
);

/** A controller whose answers say that it is one. */
export const REAL_CONTROLLER = need(({ isRealController }) =>
  isRealController ? null : 'is about a controller, and not about the bundled service',
);

/** A program for management commands in the description. */
export const MANAGE = need(({ description }) =>
  description.commands.manage === undefined ? 'needs `commands.manage`' : null,
);

/** A password in the description: tokens end on the way. */
export const PASSWORD = need(({ description }) =>
  description.rest.password === undefined ? 'needs `rest.password`' : null,
);

/** A platform gateway. */
export const GATEWAY = need(({ isGateway }) => (isGateway ? null : 'is about a gateway'));

/** The session cache of a gateway in the description. */
export const CACHE = need(({ description }) =>
  description.database?.cache === undefined ? 'needs `database.cache`' : null,
);

export const CHROMIUM = need(() => (findChromium() === null ? 'needs Chromium on this machine' : null));

/** That the caller agreed to this. */
export function consent(name: Consent): Need<Installation> {
  return need((it) => (it.allows(name) ? null : `needs \`destroy.${name}: true\``));
}

/** That the installation lets new users in this way, which is known once a run has begun. */
export function way(name: WayIn): Need<Installation> {
  return need((it) =>
    offeredWays(it)?.includes(name) === false ? `the way in "${name}" is closed here` : null,
  );
}
