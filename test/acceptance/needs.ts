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
