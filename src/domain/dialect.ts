import { knownEffect } from './tried-versions.ts';

/** What the management program of a controller or a platform gateway does that a REST API does not. */
interface ManagementCommands {
  /** Revokes access tokens: with `--all` refresh tokens as well, with `--user` only of one user. Null where there is no such program. */
  readonly revokeTokens: string | null;
  /** Ends sessions; takes `--user` for one user's. Null where no command ends those that have not expired. */
  readonly endSessions: string | null;
  /** Creates a token for the user whose name follows; null where there is no such program. */
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

/** The management commands beside whatever answers. */
export function managementCommands(dialect: 'controller' | 'gateway' | 'service'): ManagementCommands {
  return { controller, gateway, service }[dialect];
}

/**
 * What else turning Basic authentication off does there, in sentences; null where it does nothing else. A
 * platform gateway's web interface logs local accounts in with it (the gateway's manual).
 */
export function basicAuthCaution(dialect: 'controller' | 'gateway' | 'service'): string | null {
  if (dialect !== 'gateway') return null;
  return "The gateway's manual warns that, without it, local accounts cannot log in to its web interface.";
}

/** Whether a refresh token whose access token was deleted can still be exchanged: `assumed` where no one tried it on this version. */
export type OrphanUse = 'refused' | 'assumed';

/**
 * What a refresh token without its access token can do at a target: every controller and gateway that was tried answers such a
 * refresh with an error (500), and the service with 400. Anything else is assumed to accept it.
 */
export function orphanUse(target: {
  readonly dialect: 'controller' | 'gateway' | 'service';
  readonly version: string | null;
}): OrphanUse {
  return knownEffect('orphaned_refresh', target).outcome === 'refused' ? 'refused' : 'assumed';
}

/**
 * Which tokens a changed lifetime does not reach, and what to do about it, in sentences; null where it reaches all. The workers of a
 * controller issue application tokens with the lifetime that they read at their start (the effect `application_lifetimes`).
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
