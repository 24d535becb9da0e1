import { knownEffect } from './tried-versions.ts';

/** Commands of a controller's or gateway's management program that have no equivalent in a REST API. */
interface ManagementCommands {
  /**
   * Revokes access tokens: with `--all` refresh tokens as well, with `--user` only those of one user. Null if
   * there is no such program.
   */
  readonly revokeTokens: string | null;
  /** Ends sessions; takes `--user` for one user's. Null if no command ends unexpired sessions. */
  readonly endSessions: string | null;
  /** Creates a token for the user whose name follows; null if there is no such program. */
  readonly createToken: string | null;
}

const controller: ManagementCommands = {
  revokeTokens: 'awx-manage revoke_oauth2_tokens',
  endSessions: 'awx-manage expire_sessions',
  createToken: 'awx-manage create_oauth2_token --user',
};

const gateway: ManagementCommands = {
  revokeTokens: 'aap-gateway-manage revoke_oauth2_tokens',
  endSessions: null,
  createToken: 'aap-gateway-manage create_oauth2_token --user',
};

/** tokenctl's own service has no such program: tokenctl does the same in its database. */
const service: ManagementCommands = { revokeTokens: null, endSessions: null, createToken: null };

export function managementCommands(dialect: 'controller' | 'gateway' | 'service'): ManagementCommands {
  return { controller, gateway, service }[dialect];
}

/**
 * The side effects of turning Basic authentication off, as sentences; null if there are none. A platform
 * gateway's web interface uses it to log in local accounts (the gateway's manual).
 */
export function basicAuthCaution(dialect: 'controller' | 'gateway' | 'service'): string | null {
  if (dialect !== 'gateway') return null;
  return "The gateway's manual warns that, without it, local accounts cannot log in to its web interface.";
}

/** Whether a refresh token without its access token can be exchanged; `assumed`: untested on this version. */
export type OrphanUse = 'refused' | 'assumed';

/**
 * What a refresh token without its access token can do at a target. Every tested controller and gateway
 * rejects such a refresh with an error (500), and the service with 400. Any other target is assumed to accept
 * it.
 */
export function orphanUse(target: {
  readonly dialect: 'controller' | 'gateway' | 'service';
  readonly version: string | null;
}): OrphanUse {
  return knownEffect('orphaned_refresh', target).outcome === 'refused' ? 'refused' : 'assumed';
}

/**
 * Which tokens a changed lifetime does not affect, and what to do about it, as sentences; null if it affects
 * all. A controller's workers issue application tokens with the lifetime that they read at startup (the
 * effect `application_lifetimes`).
 */
export function lifetimeCaution(
  dialect: 'controller' | 'gateway' | 'service',
): { readonly why: string; readonly remedy: string } | null {
  if (dialect !== 'controller') return null;
  return {
    why: 'A controller applies new lifetimes only to personal tokens. Application tokens get the old lifetime until its web services restart.',
    remedy:
      "Restart the controller's web pods or services. On a classic installation, run `automation-controller-service restart`.",
  };
}
