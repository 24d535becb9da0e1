import type { Secret } from '../../domain/secret.ts';
import type { Application, UserReference } from '../../domain/token.ts';

/** An application with what only one at a time is asked for. The client id is no secret (RFC 6749 §2.2). */
export interface ApplicationDetails extends Application {
  readonly description: string;
  readonly clientId: string;
  /** Null for none. */
  readonly organizationId: number | null;
  readonly redirectUris: readonly string[];
  /** Whether it gets tokens without the user's consent. */
  readonly skipAuthorization: boolean;
}

/** A role that a user holds directly, or a flag of the user that gives rights. */
export interface HeldRole {
  /**
   * The role's id; the flag in the controller's name without `is_`; or, in the newer tables of roles, `definition:`, the id of the
   * definition, and after a colon that of the object, which is empty for a role of the system.
   */
  readonly role: number | UserFlag | `definition:${string}`;
  /** As people read it: `Admin of organization Eng`. */
  readonly name: string;
}

/** The flags of a user that give rights everywhere. */
export type UserFlag = 'superuser' | 'system_auditor';

/**
 * Other ways to end access than tokens: applications, passwords and roles. Every method throws `TokenctlError` as those of a target do,
 * `unsupported` where the target cannot.
 */
export interface AccessChanges {
  /** An application; null without one of this id, or the caller may not see it. */
  application(id: number): Promise<ApplicationDetails | null>;
  /**
   * Deletes an application, and with it its access tokens, refresh tokens and authorization codes.
   *
   * @returns Whether it was there.
   */
  deleteApplication(id: number): Promise<boolean>;
  /**
   * Gives a confidential application a new client secret. Its tokens stay.
   *
   * @param controllerKey The SECRET_KEY of a controller, which encrypts client secrets in its database.
   * @throws TokenctlError `not_found`, `unsupported` for a public client, and where secrets cannot be replaced;
   * `configuration` for a wrong key.
   */
  replaceClientSecret(id: number, controllerKey?: Secret): Promise<Secret>;
  /**
   * Sets the password of a user.
   *
   * @throws TokenctlError `unsupported` where the target rejects it.
   */
  setPassword(userId: number, password: Secret): Promise<void>;
  /** Whether a request with this name and password is answered: false also where passwords are not accepted at all. */
  acceptsPassword(user: UserReference, password: Secret): Promise<boolean>;
  /** The roles that a user holds directly, the flags first. */
  roles(userId: number): Promise<readonly HeldRole[]>;
  /** Gives a user a role or flag, or takes it. */
  setRole(userId: number, role: HeldRole['role'], held: boolean): Promise<void>;
}
