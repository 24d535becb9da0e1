import { pathName } from '../cli/incident/incident-text.ts';
import type { IncidentStatus } from '../operations/incident/incident-status.ts';

/** A way in of an incident on the board, and what was read of it. */
interface WayIn {
  readonly name: string;
  readonly state: 'open' | 'as set' | 'none listed' | 'none found' | 'not checked';
  readonly evidence: string;
}

/** So many tokens that are left are named. */
const NAMED = 5;

/** The ways in of an incident that is open. What was not checked has its reason. */
export function waysIn(incident: IncidentStatus): readonly WayIn[] {
  const { scope, values, openPaths, uncheckedPaths, notSeen } = incident;
  if (notSeen !== null) return [{ name: 'All', state: 'not checked', evidence: notSeen }];
  const named = new Set([...openPaths, ...uncheckedPaths].map(({ path }) => path));
  const credentials = [
    'authorization_codes',
    'refresh_tokens',
    ...(scope.kind === 'applications' ? ([] as const) : (['sessions'] as const)),
  ] as const;
  return [
    accessTokens(incident),
    ...credentials
      .filter((path) => !named.has(path))
      .map(
        (path): WayIn => ({
          ...{ name: pathName(path), state: 'none found' },
          evidence: 'None was found that can be used.',
        }),
      ),
    ...openPaths.map(({ path, how }): WayIn => ({ name: pathName(path), state: 'open', evidence: how })),
    ...values.map(
      ({ what, name, locked, found, holds }): WayIn => ({
        name: what === 'user' ? `User ${name}` : name,
        state: holds ? 'as set' : 'open',
        evidence: `Read: ${JSON.stringify(found)}; set by the lockdown: ${JSON.stringify(locked)}.`,
      }),
    ),
    ...uncheckedPaths.map(
      ({ path, how }): WayIn => ({ name: pathName(path), state: 'not checked', evidence: how }),
    ),
  ];
}

function accessTokens({ alive, aliveCount }: IncidentStatus): WayIn {
  const name = pathName('access_tokens');
  if (aliveCount === 0) {
    return { name, state: 'none listed', evidence: 'The tokens of the selection were listed.' };
  }
  const some = alive.slice(0, NAMED).map(({ id, user }) => `${id} of ${user ?? 'a deleted user'}`);
  return { name, state: 'open', evidence: `${aliveCount} listed: ${some.join(', ')}` };
}
