import type { Incident, LockdownScope } from '../../domain/incident/incident.ts';
import type { IncidentStatus } from '../../operations/incident/incident-status.ts';

/**
 * The request that continues a lockdown: the same scope and measures, so that it is the same incident. Null
 * if nothing is known to be left: the lockdown is in effect, was lifted, or could not be compared with the
 * controller.
 */
export function finishingOf(
  incident: Pick<IncidentStatus, 'state' | 'holds' | 'scope' | 'measures'>,
): Readonly<Record<string, unknown>> | null {
  const { state, holds } = incident;
  const isUnsure = holds === null && (state === 'partly' || state === 'unfinished');
  if (state === 'lifted' || state === 'lifting' || !(holds === false || isUnsure)) return null;
  return { kind: 'incident lockdown', ...selectionOf(incident.scope), ...measuresOf(incident) };
}

function selectionOf(scope: LockdownScope): object {
  switch (scope.kind) {
    case 'users':
      return { user: scope.names };
    case 'applications':
      return { application: scope.names };
    case 'identity_provider':
      return { identityProvider: scope.provider };
    case 'all':
      return { all: true };
  }
}

/** Switches with a default are always given: the default may have changed since. */
function measuresOf({ measures }: Pick<Incident, 'measures'>): object {
  const { deactivate, keepActive, resetPasswords, stripRoles, endApplications } = measures;
  return {
    basicAuthOff: measures.basicAuthentication,
    externalTokensOff: measures.externalTokens,
    shortenLifetimes: measures.lifetimes,
    ...(deactivate && { deactivate: true }),
    ...(keepActive.length > 0 && { keepActive }),
    ...(resetPasswords === true && { resetPassword: true }),
    ...(stripRoles === true && { stripRoles: true }),
    ...(endApplications === true && { endApplications: true }),
  };
}
