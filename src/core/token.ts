/** A reference to a user: what an access token carries of its owner. */
export interface UserReference {
  readonly id: number;
  readonly username: string;
}

/** A reference to an OAuth2 application. */
export interface ApplicationReference {
  readonly id: number;
  readonly name: string;
}

/**
 * An OAuth2 access token as an administrator sees it: everything but its value.
 *
 * A token without an application is a personal access token. Times are UTC.
 */
export interface Token {
  readonly id: number;
  /** The owner; null where the owner's row is gone. */
  readonly user: UserReference | null;
  /** The application it was issued to; null for a personal access token. */
  readonly application: ApplicationReference | null;
  /** The scope as it stands in the controller: `read`, `write`, or both separated by a space. */
  readonly scope: string;
  readonly description: string;
  readonly created: Date;
  readonly expires: Date;
  /** When it last authenticated a request; null for never; undefined where the target does not tell. */
  readonly lastUsed: Date | null | undefined;
  /** Whether a refresh token hangs on it that would outlive its revocation. */
  readonly hasRefreshToken: boolean;
  /**
   * The first 12 hex digits of the SHA-256 of the token (or of its stored hash); null where the target
   * does not tell. Names a token in logs without giving it away.
   */
  readonly fingerprint: string | null;
}

/** A user as far as tokens are concerned. Undefined means that the target does not tell. */
export interface User {
  readonly id: number;
  readonly username: string;
  readonly isSuperuser: boolean;
  readonly isSystemAuditor: boolean;
  /** False for a deactivated user; undefined where the target does not tell. */
  readonly isActive: boolean | undefined;
  /** Which kind of identity provider the account comes from; null for a local account. */
  readonly externalAccount: string | null;
  readonly lastLogin: Date | null;
}

/** Whether a token's scope lets it change anything. `write` includes `read` (controller's scopes). */
export function allowsWriting(token: Pick<Token, 'scope'>): boolean {
  return token.scope.split(' ').includes('write');
}
